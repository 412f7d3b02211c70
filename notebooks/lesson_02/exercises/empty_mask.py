"""Exercise ``empty_mask(scores) -> Tensor``: zeros of type bool, created where `scores` is."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.returned import tensor
from lesson_02.places import GPU, below, or_error, places, traffic_table
from shared.pretended_gpus import CPU, Traffic, place_of, pretended_gpus


def _asked(answer: Any, device: torch.device) -> tuple[Any, torch.Tensor, Traffic]:
    with pretended_gpus() as traffic:
        scores = torch.randn(4, 10, device=device)
        return answer(scores), scores, traffic


def judge(answer: Any) -> Mistakes:
    """Ask for the mask of scores on a GPU, then of scores on the CPU."""
    got, scores, traffic = _asked(answer, GPU)
    mask = tensor(got)
    shapes = {"right": tuple(scores.shape), "got": tuple(mask.shape)}
    yield mask.shape != scores.shape, "shape", shapes
    yield place_of(mask) != GPU, "device"
    yield mask.dtype != torch.bool, "dtype", {"dtype": mask.dtype}
    yield torch.Tensor.any(mask), "not_empty"
    yield traffic.transfers, "detour"
    yield place_of(tensor(_asked(answer, CPU)[0])) != CPU, "name_written"


@or_error
def show(answer: Any) -> Block:
    """Return where the tensor and the learner's mask are, and what was moved."""
    mask, scores, traffic = _asked(answer, GPU)
    return below(places(scores=scores, mask=mask), traffic_table(traffic))


_HEAD = "def empty_mask(scores):\n    return "
WRONG = {
    "returned_none": "def empty_mask(scores):\n    torch.zeros_like(scores)",
    "no_tensor": f"{_HEAD}scores.shape",
    "shape": f"{_HEAD}torch.zeros(len(scores), dtype=torch.bool, device=scores.device)",
    "device": f"{_HEAD}torch.zeros(scores.shape, dtype=torch.bool)",
    "dtype": f"{_HEAD}torch.zeros_like(scores)",
    "not_empty": (f"{_HEAD}torch.ones_like(scores, dtype=torch.bool)", f"{_HEAD}scores < 0"),
    "detour": f"{_HEAD}torch.zeros(scores.shape, dtype=torch.bool).to(scores.device)",
    "name_written": f"{_HEAD}torch.zeros(scores.shape, dtype=torch.bool, device='cuda')",
}
