"""Exercise ``all_reduce(tensors)``: write the sum into each of the tensors, on its own GPU."""

import re
from typing import Any

import torch

from bilingual import Block, enumerated
from course_utils import facts
from course_utils.exercises import Mistake, Mistakes
from course_utils.lesson_gpus import ready

Tensors = list[torch.Tensor]


def _run(answer: Any, before: Tensors) -> tuple[Any, Tensors, Tensors]:
    """Run `answer` with copies of `before`, each on a GPU of its own.

    Returns:
        What it returned, the tensors that it was given, and the list that it was given, perhaps with others in it now.

    Raises:
        Mistake: It computes with tensors of several devices.
        RuntimeError: Another one of the answer.
    """
    with torch.no_grad():
        given = [tensor.to(device) for tensor, device in zip(before, ready(2), strict=False)]
        argument = list(given)
        try:
            return answer(argument), given, argument
        except RuntimeError as error:
            devices = sorted(set(re.findall(r"(?:cuda|practice):\d|cpu", str(error))))
            if "device" in str(error) and devices:
                raise Mistake("several_devices", devices=enumerated(devices)) from None
            raise


def judge(answer: Any) -> Mistakes:
    """Look at what the tensors hold afterwards."""
    for count in (2, 1):
        before = [torch.arange(6, dtype=torch.float64).view(2, 3) * 10**k + k for k in range(count)]
        total = torch.stack(before).sum(0)
        got, given, argument = _run(answer, before)
        after = [tensor.cpu() for tensor in given]
        yield any(tensor.shape != total.shape for tensor in after), "shape"
        kept = [torch.equal(a, b) for a, b in zip(after, before, strict=True)]
        if count > 1 and all(kept):
            yield list(map(id, argument)) != list(map(id, given)), "new_tensors"
            yield got is not None, "returned"
            yield True, "unchanged"
        yield len({tensor.data_ptr() for tensor in given}) < count, "shared_memory"
        if all(torch.equal(tensor, total) for tensor in after):
            continue
        yield all(torch.allclose(tensor, total / count) for tensor in after), "average"
        yield torch.equal(after[0], total) and all(kept[1:]), "first_half"
        yield any(torch.allclose(a, total + b) for a, b in zip(after, before, strict=True)), "counted_twice"
        yield True, "other"


def show(answer: Any) -> Block:
    """Return what two tensors hold before the answer and after it."""
    before = [torch.tensor([10.0**k, k]) for k in range(2)]
    _, given, _ = _run(answer, before)
    pairs = enumerate(zip(before, given, strict=True))
    return facts(fixed={f"tensors[{k}]": f"{b.tolist()} → {t.tolist()}" for k, (b, t) in pairs})
