"""Exercise ``visible(active, keys) -> boolean tensor``: what a mask lets the active queries see."""

from typing import Any

import torch

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.returned import tensor
from lesson_08.words import WORDS

CASES = (([4, 1, 5], 6), ([0, 7], 8), ([2], 3))


def judge(answer: Any) -> Mistakes:
    """Compare with the mask, and with typical wrong ones."""
    for queries, keys in CASES:
        active, places = torch.tensor(queries), torch.arange(keys)
        got, right = tensor(answer(active.clone(), keys)), active[:, None] >= places
        shapes = {"wanted": tuple(right.shape), "got": tuple(got.shape)}
        yield got.shape != right.shape, "shape", {"count": len(queries), "keys": keys} | shapes
        yield got.dtype != torch.bool, "no_booleans", {"got": got.dtype}
        if torch.equal(got, right):
            continue
        by_row = torch.ones(len(active), keys, dtype=torch.bool).tril()
        yield torch.equal(got, by_row), "rows", {"query": queries[0]}
        yield torch.equal(got, active[:, None] > places), "not_itself"
        yield torch.equal(got, ~right), "swapped"
        yield torch.equal(got, active[:, None] <= places), "future"
        row, key = (got != right).nonzero()[0].tolist()
        seen = {"active": queries, "query": queries[row], "key": key, "got": bool(got[row, key])}
        yield True, "other", seen


def show(answer: Any) -> figures.Picture:
    """Draw the mask of the answer."""
    queries, keys = CASES[0]
    got = answer(torch.tensor(queries), keys)
    figure, axes = figures.new(width=5, height=2.2)
    for row in range(len(queries)):
        for key in range(keys):
            colour = figures.YOURS if bool(got[row, key]) else figures.PALE
            axes.add_patch(figures.rectangle(key - 0.45, row - 0.45, 0.9, 0.9, colour))
    axes.set(xlim=(-0.6, keys - 0.4), ylim=(len(queries) - 0.4, -0.6))
    axes.set_yticks(range(len(queries)), [str(n) for n in queries])
    axes.set_xlabel(Bilingual("key", "鍵"))
    axes.set_ylabel(Bilingual("query", "查詢"))
    axes.grid(visible=False)
    return figures.Picture(figure, **WORDS["visible"])
