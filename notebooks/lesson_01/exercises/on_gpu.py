"""Exercise ``on_gpu(tensor) -> bool``: whether the tensor is on a CUDA GPU."""

from types import SimpleNamespace
from typing import Any

import torch

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.tables import YOURS, table, value
from lesson_01.asked import RIGHT, asked


def _on(index: int) -> Any:
    """Return what stands in for a tensor on a CUDA GPU, which many machines do not have."""
    return SimpleNamespace(
        device=torch.device("cuda", index), is_cuda=True, is_cpu=False, get_device=lambda: index
    )


FIRST, SECOND = _on(0), _on(1)


def _said(answer: Any, tensor: Any) -> Any:
    try:
        return answer(tensor)
    except (AttributeError, TypeError):
        return True  # the answer uses an attribute that only a real tensor has: that is not a mistake


def judge(answer: Any) -> Mistakes:
    """Ask for tensors on the CPU, on two GPUs and on ``meta``."""
    host, card = answer(torch.zeros(2)), _said(answer, FIRST)
    yield host is None or card is None, "returned_none"
    for said in (card, host):
        yield not isinstance(said, bool), "no_bool", {"kind": type(said).__name__}
    yield host and card, "yes_to_cpu"
    yield host == card, "no_to_first"
    yield host, "reversed"
    yield not _said(answer, SECOND), "no_to_second"
    yield answer(torch.empty(2, device="meta")), "yes_to_meta"


def show(answer: Any) -> Block:
    """Return what the answer says about tensors on four devices."""
    tensors = (torch.zeros(2), FIRST, SECOND, torch.empty(2, device="meta"))
    rows = [(f"`{t.device}`", value(asked(answer, t)), value(t.device.type == "cuda")) for t in tensors]
    return table(("`tensor.device`", YOURS, RIGHT), rows)
