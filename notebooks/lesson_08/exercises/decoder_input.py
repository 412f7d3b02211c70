"""Exercise ``decoder_input(past, start, ahead) -> tensor``: what the decoder of an Informer gets."""

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.returned import tensor
from lesson_08.words import WORDS


def windows(length: int) -> Tensor:
    """Return 2 windows of 3 columns, filled with 1, 2, 3 and so on."""
    return torch.arange(1.0, 2 * length * 3 + 1).view(2, length, 3)


def judge(answer: Any) -> Mistakes:
    """Look at the shape, then at the known steps and the zeros, then at the data type."""
    for length, start, ahead in ((8, 3, 4), (8, 8, 2), (96, 48, 24)):
        past = windows(length)
        got, known = tensor(answer(past.clone(), start, ahead)), past[:, -start:]
        right = torch.cat([known, torch.zeros(2, ahead, 3)], 1)
        case = {"steps": length, "start": start, "ahead": ahead, "given": tuple(past.shape)}
        if got.shape != right.shape:
            yield got.shape == (2, length + ahead, 3), "all_steps", case
            yield got.shape == known.shape, "no_forecast"
            yield True, "shape", case | {"wanted": tuple(right.shape), "got": tuple(got.shape)}
        got = got.to(right.dtype)
        if torch.equal(got, right):
            continue
        yield start < length and torch.equal(got[:, :start], past[:, :start]), "first_steps"
        yield torch.equal(got[:, ahead:], known), "zeros_first"
        yield torch.equal(got[:, :start], known), "no_zeros"
        yield True, "other"
    yield answer(windows(8).double(), 3, 4).dtype != torch.float64, "data_type"


def show(answer: Any) -> figures.Picture:
    """Draw what the decoder gets in column 0 of a window."""
    past = windows(8) / 10
    got = answer(past, 3, 4)[0, :, 0].double().tolist()
    figure, axes = figures.new(height=2.2)
    axes.plot(range(8), past[0, :, 0].tolist(), "o-", color=figures.PALE)
    axes.plot(range(5, 5 + len(got)), got, "o-", color=figures.YOURS)
    axes.set_xlabel(Bilingual("step", "時間步"))
    texts = WORDS["decoder_input"]
    return figures.Picture(figure, texts["caption"], texts["alternative"].format(count=len(got)))
