"""Check the exercise ``splits``: the sizes of the pieces of a batch."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import NO_RETURN, Wrong
from lesson_05 import batch_split

SPLITS = ((10, 3), (30, 3), (10, 8), (6, 4), (7, 2), (1, 4), (8, 8), (64, 1), (100, 7))


def examine_splits(answer: Any) -> None:
    """Examine ``split_sizes(batch, devices) -> list[int]``."""
    for batch, devices in SPLITS:
        _check_split(answer(batch, devices), batch, devices)


def _check_split(got: Any, batch: int, devices: int) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    right = [len(piece) for piece in torch.arange(batch).chunk(devices)]
    case_en, case_zh = f"{batch} examples over {devices}", f"{batch} 筆分給 {devices} 個裝置"
    if not isinstance(got, (list, tuple)):
        raise Wrong(
            en=f"Return a list with one number for each piece, such as `[4, 4, 2]`; yours is a `{type(got).__name__}`.",
            zh=f"請傳回 list，每一份一個數字，例如 `[4, 4, 2]`；你傳回的是 `{type(got).__name__}`。",
        )
    if any(isinstance(size, (torch.Tensor, list, tuple, range)) for size in got):
        raise Wrong(
            en="You return the pieces themselves. Asked for is how many examples each of them holds.",
            zh="你傳回的是切好的每一份，題目要的是每一份有幾筆。",
        )
    if any(isinstance(size, bool) or not isinstance(size, int) for size in got):
        raise Wrong(
            en=f"For {case_en} you return {_shown(got)}. An example cannot be cut in two: the sizes are whole numbers (`int`).",
            zh=f"{case_zh}，你傳回 {_shown(got)}。一筆資料不能切成兩半：每一份的筆數都是整數（`int`）。",
        )
    got = list(got)
    if got == right:
        return
    if 0 in got and [size for size in got if size] == right:
        raise Wrong(
            en=f"For {case_en} you return {_shown(got)}. A device without work gets no piece at all: leave the zeros out.",
            zh=f"{case_zh}，你傳回 {_shown(got)}。分不到資料的裝置，連空的一份也沒有，所以 0 不用列。",
        )
    if sum(got) != batch:
        raise Wrong(
            en=f"For {case_en} your pieces {_shown(got)} hold {sum(got)} examples together. None may be lost, and none may be invented.",
            zh=f"{case_zh}，你切出 {_shown(got)}，加起來是 {sum(got)} 筆。一筆都不能少，也不能多。",
        )
    if len(got) > devices:
        raise Wrong(
            en=f"For {case_en} you return {len(got)} pieces, more than there are devices. If the division leaves a rest, round the size of a piece **up**.",
            zh=f"{case_zh}，你切成 {len(got)} 份，比裝置還多。除不盡的話，每一份的大小要無條件進位。",
        )
    if max(got) - min(got) <= 1 and got[0] >= got[-1]:
        raise Wrong(
            en=f"For {case_en} you return {_shown(got)}: as even as possible, but that is another rule (`tensor_split`). `chunk` makes every piece as large as the first, until nothing is left.",
            zh=f"{case_zh}，你傳回 {_shown(got)}：分得最平均，但那是另一種規則（`tensor_split`）。`chunk` 的每一份都和第一份一樣大，分完為止。",
        )
    raise Wrong(
        en=f"For {case_en} you return {_shown(got)}. The first device gets the batch divided by the devices, rounded up, and so does every other one while examples are left; the last piece is the remainder.",
        zh=f"{case_zh}，你傳回 {_shown(got)}。第一個裝置分到「批次除以裝置數，無條件進位」那麼多筆，後面的裝置也一樣，直到不夠分；最後一份就是剩下的。",
    )


def show_splits(answer: Any) -> figures.Picture:
    """Draw how the answer splits 10 examples over 3 devices."""
    sizes = tuple(map(int, answer(10, 3)))
    picture = batch_split.render(batch_split.Split(10, 3, sizes))
    caption = Bilingual(
        f"Your split of 10 examples over 3 devices: {'+'.join(map(str, sizes))}.",
        f"照你的切法，10 筆分給 3 個裝置是 {'+'.join(map(str, sizes))}。",
    )
    return figures.Picture(picture.figure, caption, batch_split.ALTERNATIVE)


def _shown(sizes: Any) -> str:
    text = repr(list(sizes))
    return f"`{text if len(text) <= 60 else text[:60] + ' …'}`"
