"""Exercise ``to_device(rows, device) -> list``: many rows, moved in one transfer."""

from typing import Any

import torch

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.lesson_gpus import ready
from lesson_02.places import or_error, traffic_table
from lesson_02.traffic import Traffic


def _moved(answer: Any) -> tuple[Any, list[torch.Tensor], Traffic]:
    rows = [torch.full((250,), float(number)) for number in range(20)]
    with Traffic() as traffic:
        return answer(rows, *ready()), rows, traffic


def judge(answer: Any) -> Mistakes:
    """Look at the rows that come back, then at the number of transfers."""
    got, rows, traffic = _moved(answer)
    yield got is None, "returned_none"
    yield not isinstance(got, (list, tuple)), "no_list", {"kind": type(got).__name__}
    shapes = [row.shape if isinstance(row, torch.Tensor) else None for row in got]
    yield shapes != [(250,)] * 20, "other_rows"
    yield any(row.device != ready()[0] for row in got), "not_moved"
    same = all(torch.equal(row.cpu(), given) for row, given in zip(got, rows, strict=True))
    yield not same, "other_numbers"
    yield len(traffic.transfers) != 1, "many_transfers", {"count": len(traffic.transfers)}


@or_error
def show(answer: Any) -> Block:
    """Return how many transfers the learner's function needs."""
    return traffic_table(_moved(answer)[2])
