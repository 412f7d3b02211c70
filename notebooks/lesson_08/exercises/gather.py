"""Exercise ``gather(values, first, length) -> tensor``: many windows at once, on any device, without a loop."""

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistake, Mistakes
from course_utils.lesson_gpus import ready
from course_utils.returned import tensor
from shared.waiting import Waits

LENGTH = 5


def given() -> tuple[Tensor, Tensor]:
    """Return a series of 40 rows and 2 columns, and the first rows of three windows."""
    return torch.arange(80.0).view(40, 2), torch.tensor([30, 2, 17])


def on_a_gpu(answer: Any) -> tuple[bool, int]:
    """Return whether the answer's windows lie on a GPU when the series does, and how often the host waited there."""
    (device,) = ready()
    values, first = (x.to(device) for x in given())
    with Waits() as waited:
        try:
            there = answer(values, first, LENGTH).device == device
        except RuntimeError:
            there = False
    return there, sum(waited.lines.values())


def judge(answer: Any) -> Mistakes:
    """Compare the windows on the CPU; then try a GPU, and count what the host asks for there."""
    values, first = given()
    right = torch.stack([values[row : row + LENGTH] for row in first.tolist()])
    try:
        got = answer(values, first, LENGTH)
    except (RuntimeError, IndexError) as error:
        if "match" not in str(error) and "broadcast" not in str(error):
            raise
        raise Mistake("not_a_column", length=LENGTH, error=str(error)[:90]) from None
    tensor(got)
    yield got.shape == right.transpose(0, 1).shape, "transposed"
    shapes = {"wanted": tuple(right.shape), "got": tuple(got.shape)}
    yield got.shape != right.shape, "shape", {"length": LENGTH} | shapes
    row = {"row": 30, "last": 30 + LENGTH - 1, "got": got[0, 0].tolist(), "wanted": right[0, 0].tolist()}
    yield not torch.equal(got, right), "rows", row
    there, waits = on_a_gpu(answer)
    yield not there, "device"
    yield waits, "one_by_one", {"waits": waits}


def show(answer: Any) -> Block:
    """Return which rows the learner's windows hold."""
    values, first = given()
    name = Bilingual("rows of the window that begins at row {row}", "從第 {row} 列開始的視窗，取到的列")
    found = {}
    for row, window in zip(first.tolist(), answer(values, first, LENGTH), strict=True):
        found[name.format(row=row)] = ", ".join(f"{x / 2:g}" for x in window[:, 0].tolist())
    return facts(fixed=found)
