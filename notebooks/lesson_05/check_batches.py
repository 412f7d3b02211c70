"""Check the exercises ``splits`` and ``scaled``: sizes of the pieces of a batch, and batch size and learning rate of n GPUs."""

from __future__ import annotations

import math
from typing import Any

import torch

from course_utils.exercises import NO_RETURN, Wrong

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
            zh=f"{case_zh}，你傳回 {_shown(got)}。分不到的裝置，連空的一份都沒有：0 不用列。",
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
        en=f"For {case_en} you return {_shown(got)}. The first device gets the batch divided by the devices, rounded up, and so does every other one while examples are left; the last piece is the rest.",
        zh=f"{case_zh}，你傳回 {_shown(got)}。第一個裝置分到「批次除以裝置數，無條件進位」那麼多筆，後面的裝置也一樣，直到不夠分；最後一份就是剩下的。",
    )


def _shown(sizes: Any) -> str:
    text = repr(list(sizes))
    return f"`{text if len(text) <= 60 else text[:60] + ' …'}`"


_CASES = ((32, 0.05, 4, 1437), (64, 0.1, 1, 640), (16, 0.02, 8, 1000), (32, 0.1, 3, 96))


def examine_scaled(answer: Any) -> None:
    """Examine ``scaled(batch, lr, devices, images) -> (batch_size, lr, steps)``."""
    for case in _CASES:
        _check_scaled(answer(*case), *case)


def _close(a: Any, b: float) -> bool:
    return isinstance(a, (int, float)) and not isinstance(a, bool) and math.isclose(a, b, rel_tol=1e-9)


def _check_scaled(got: Any, batch: int, lr: float, devices: int, images: int) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, tuple) or len(got) != 3:
        raise Wrong(
            en="Return three things: `batch_size, lr, steps`.",
            zh="請傳回三樣東西：`batch_size, lr, steps`。",
        )
    whole, rate, steps = got
    case_en = f"{batch} images for each of {devices}"
    case_zh = f"{devices} 個裝置，每個 {batch} 張"
    if not _close(whole, batch * devices):
        raise Wrong(
            en=f"{case_en}: the loader of DataParallel feeds **all** devices, in one process. Which `batch_size` does it need?",
            zh=f"{case_zh}：DataParallel 只有一個行程，載入器要餵飽**所有**裝置。`batch_size` 該是多少？",
        )
    if not _close(rate, lr * devices):
        if devices > 1 and _close(rate, lr):
            raise Wrong(
                en="The batch grew and the learning rate did not. By the linear rule both grow by the same factor.",
                zh="批次變大了，學習率卻沒變。按照線性規則，兩者要放大同樣的倍數。",
            )
        if devices > 1 and _close(rate, lr / devices):
            raise Wrong(
                en="You divide the learning rate. There are fewer steps now, and each averages over more images: each may go further.",
                zh="你把學習率變小了。現在步數變少，每一步又是更多影像的平均，所以每一步可以跨大一點。",
            )
        raise Wrong(
            en=f"{case_en}: with {lr:g} for one device, the linear rule gives {lr * devices:g}, but you return {_number(rate)}.",
            zh=f"{case_zh}：單一裝置用 {lr:g}，按照線性規則應該是 {lr * devices:g}，你傳回的是 {_number(rate)}。",
        )
    right = math.ceil(images / (batch * devices))
    if _close(steps, right) and isinstance(steps, int):
        return
    if _close(steps, math.ceil(images / batch)):
        raise Wrong(
            en="That is the number of steps with one device. Now a step takes the images of all devices.",
            zh="這是單一裝置的步數。現在一步就用掉所有裝置的影像。",
        )
    if _close(steps, images // (batch * devices)):
        raise Wrong(
            en=f"{images} images in steps of {batch * devices}: what is left over at the end is one more step, a smaller one.",
            zh=f"{images} 張影像，一步用 {batch * devices} 張：最後剩下的也算一步，只是比較小。",
        )
    raise Wrong(
        en=f"{images} images in steps of {batch * devices} are {right} steps (a whole number, `int`), but you return {_number(steps)}.",
        zh=f"{images} 張影像，一步用 {batch * devices} 張，總共是 {right} 步（整數，`int`），你傳回的是 {_number(steps)}。",
    )


def _number(value: Any) -> str:
    """Return a number as text, of anything else only its type."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"`{type(value).__name__}`"
    return f"{value:g}" if abs(value) < 1e300 else f"`{type(value).__name__}`"
