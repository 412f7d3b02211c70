"""Exercise ``split_sizes(batch, devices) -> list[int]``: the sizes of the pieces of a batch."""

from typing import Any

import torch

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistakes
from lesson_05 import batch_split

SPLITS = ((10, 3), (30, 3), (10, 8), (6, 4), (7, 2), (1, 4), (8, 8), (64, 1), (100, 7))


def judge(answer: Any) -> Mistakes:
    """Compare with what ``chunk`` does, and look for typical other rules."""
    for batch, devices in SPLITS:
        got = answer(batch, devices)
        yield got is None, "returned_none"
        yield not isinstance(got, (list, tuple)), "no_list", {"kind": type(got).__name__}
        yield any(isinstance(size, (torch.Tensor, list, tuple, range)) for size in got), "pieces"
        text = repr(got := list(got))
        case = {"batch": batch, "devices": devices, "got": text if len(text) <= 60 else f"{text[:60]} …"}
        yield any(isinstance(n, bool) or not isinstance(n, int) for n in got), "not_whole", case
        right = [len(piece) for piece in torch.arange(batch).chunk(devices)]
        if got == right:
            continue
        yield 0 in got and [size for size in got if size] == right, "zeros", case
        yield sum(got) != batch, "other_sum", case | {"sum": sum(got)}
        yield len(got) > devices, "too_many", case | {"count": len(got)}
        yield max(got) - min(got) <= 1 and got[0] >= got[-1], "even", case
        yield True, "other", case


def show(answer: Any) -> figures.Picture:
    """Draw how the answer splits 10 examples over 3 devices."""
    sizes = tuple(map(int, answer(10, 3)))
    picture = batch_split.render(batch_split.Split(10, 3, sizes))
    caption = Bilingual(
        "Your split of 10 examples over 3 devices: {sizes}.", "照你的切法，10 筆分給 3 個裝置是 {sizes}。"
    ).format(sizes="+".join(map(str, sizes)))
    return figures.Picture(picture.figure, caption, batch_split.ALTERNATIVE)
