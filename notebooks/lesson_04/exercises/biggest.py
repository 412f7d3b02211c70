"""Exercise ``biggest(losses) -> tensor``: the largest of many losses without a wait for each."""

from typing import Any

import torch

from bilingual import Block
from course_utils.exercises import Mistakes, NotYet
from course_utils.lesson_gpus import ready
from course_utils.returned import tensor
from lesson_04.exercises import unchanged
from shared.waiting import Waits

NUMBERS = (0.5, 2.5, 1.0, 0.25, 1.5, 2.0)


def _losses(sign: float = 1.0) -> list[torch.Tensor]:
    return [torch.tensor(sign * number, device=ready()[0]) for number in NUMBERS]


def _given(losses: Any) -> Any:
    # The lesson's stub, to be compared byte by byte: a docstring would be one more constant.
    worst = losses[0]
    for loss in losses[1:]:
        worst = max(worst, loss)
    return worst


def _waits(answer: Any, losses: list[torch.Tensor]) -> tuple[Any, int]:
    """Return what `answer` returns, and how often the host waited."""
    with Waits() as waits:
        return answer(losses), waits.lines.total()


def judge(answer: Any) -> Mistakes:
    """Compare with the largest number, and count the waits: there may be none."""
    for sign in (1.0, -1.0):
        got, waits = _waits(answer, _losses(sign))
        yield isinstance(got, torch.return_types.max), "pair"
        numbers = [sign * number for number in NUMBERS]
        right, found = max(numbers), tensor(got).tolist()
        yield (
            got.numel() != 1 or got.item() != right,
            "other",
            {"numbers": numbers, "right": right, "got": found},
        )
        if waits and unchanged(answer, _given):
            raise NotYet("as_before", count=len(NUMBERS), waits=waits)
        more = waits and _waits(answer, _losses(sign) * 2)[1]
        yield more >= waits + len(NUMBERS), "one_by_one", {"waits": waits}
        yield waits, "some_waits", {"waits": waits}


def show(answer: Any) -> Block:
    """Return a table of the lines in which the host waited for six losses."""
    losses = _losses()
    with Waits() as waits:
        answer(losses)
    return waits.table()
