"""Exercise ``batch_loss(sums, batch) -> Tensor``: the mean loss of a batch, from the sums that the copies return."""

from typing import Any

import torch

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.returned import tensor

_SIZES = ((4, 4, 2), (5, 5), (1, 1, 1, 1), (7,))


def _losses(sizes: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the losses of all examples, and their sums per device as a gathered vector; both know their history."""
    make = torch.Generator().manual_seed(len(sizes))
    every = torch.rand(sum(sizes), generator=make, dtype=torch.float64).add(0.5).requires_grad_()
    return every, torch.stack([piece.sum() for piece in every.split(list(sizes))])


def judge(answer: Any) -> Mistakes:
    """Look for a loss without history, then for other numbers than the mean."""
    for sizes in _SIZES:
        every, sums = _losses(sizes)
        got, case = tensor(answer(sums, sum(sizes))), {"case": "+".join(map(str, sizes))}
        yield got.dim(), "shape", {"shape": tuple(got.shape)}
        yield not got.requires_grad, "no_history"
        if torch.allclose(got, every.mean()):
            continue
        yield torch.allclose(got, sums.mean()), "by_devices", case
        yield torch.allclose(got, sums.sum()), "sum"
        yield True, "other", case


def show(answer: Any) -> Block:
    """Return the answer's loss beside the sums that it was given."""
    found = {}
    for sizes in _SIZES[:2]:
        every, sums = _losses(sizes)
        found[f"batch_loss({[round(s, 2) for s in sums.tolist()]}, {sum(sizes)})"] = (
            f"{torch.as_tensor(answer(sums, sum(sizes))).item():.4f} ({every.mean().item():.4f})"
        )
    return facts(fixed=found)
