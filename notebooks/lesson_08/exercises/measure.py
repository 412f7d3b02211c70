"""Exercise ``measure(scores) -> tensor``: the measure of ProbSparse attention."""

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.returned import tensor
from lesson_08.words import WORDS


def scores() -> Tensor:
    """Return made-up scores of 2 heads, 6 queries and 4 keys; query 0 looks at all keys alike."""
    made = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    made[:, 0] = 0.7
    made[:, 4, 1] += 4
    return made


def judge(answer: Any) -> Mistakes:
    """Compare with M, and with what is mistaken for it."""
    given = scores()
    got, right = tensor(answer(given.clone())), given.amax(-1) - given.mean(-1)
    yield got.shape == (2, 4), "of_keys"
    shapes = {"given": tuple(given.shape), "wanted": tuple(right.shape), "got": tuple(got.shape)}
    yield got.shape != right.shape, "shape", shapes
    got = got.double()
    if torch.allclose(got, right):
        return
    yield torch.allclose(got, given.amax(-1)), "largest"
    yield torch.allclose(got, given.softmax(-1).amax(-1)), "softmax"
    yield torch.allclose(got, given.amax(-1) - given.sum(-1)), "sum"
    yield torch.allclose(got, -right), "sign"
    row = ", ".join(f"{x:.2f}" for x in given[0, 1].tolist())
    yield True, "other", {"scores": row, "got": got[0, 1], "wanted": right[0, 1]}


def show(answer: Any) -> figures.Picture:
    """Draw the answer's M for the queries of one head."""
    got = answer(scores())[0].double().flatten().tolist()
    figure, axes = figures.new(height=2.2)
    top = sorted(range(len(got)), key=lambda n: -got[n])[:2]
    colours = [figures.YOURS if n in top else figures.PALE for n in range(len(got))]
    axes.bar(range(len(got)), got, color=colours)
    axes.set_xlabel(Bilingual("query", "查詢"))
    axes.set_ylabel("M")
    return figures.Picture(figure, **WORDS["measure"])
