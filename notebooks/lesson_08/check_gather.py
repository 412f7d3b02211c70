"""Exercise: take many windows out of a series at once, where it lies."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.given_tensor import tensor
from shared.trap import Trap

LENGTH = 5


def _given() -> tuple[Tensor, Tensor]:
    """Return a series of 40 rows and 2 columns, and the first rows of three windows."""
    return torch.arange(80.0).view(40, 2), torch.tensor([30, 2, 17])


def _expected(values: Tensor, first: Tensor) -> Tensor:
    return torch.stack([values[row : row + LENGTH] for row in first.tolist()])


def _shape_hint(got: Tensor, expected: Tensor) -> Wrong:
    """Return what to say about a result of another shape."""
    if got.dim() == 3 and got.shape == expected.transpose(0, 1).shape:
        return Wrong(
            en="The first dimension should be the windows, the second the steps; yours are the other way round. Which of the two gets "
            "`[:, None]`?",
            zh="第一個維度應該是視窗，第二個才是時間步；你的剛好相反。`[:, None]` 該加在哪一個後面？",
        )
    return Wrong(
        en=f"For 3 windows of {LENGTH} rows from a series with 2 columns, the shape should be {tuple(expected.shape)}; yours is "
        f"{tuple(got.shape)}.",
        zh=f"從兩欄的序列取出 3 個長度為 {LENGTH} 的視窗，形狀應該是 {tuple(expected.shape)}，你的是 {tuple(got.shape)}。",
    )


def examine_gather(answer: Any) -> None:
    """Examine ``gather(values, first, length) -> (windows, length, columns)``, on any device, without a loop."""
    values, first = _given()
    expected = _expected(values, first)
    try:
        with Trap() as trap:
            got = answer(values, first, LENGTH)
    except (RuntimeError, IndexError) as error:
        if "match" not in str(error) and "broadcast" not in str(error):
            raise
        raise Wrong(
            en=f"3 first rows and {LENGTH} steps cannot be added one by one: PyTorch says {str(error)[:90]!r}. Each first row is to meet each "
            "step: `first[:, None]` makes a column of the first rows.",
            zh=f"3 個起點和 {LENGTH} 個時間步沒辦法逐一相加，PyTorch 的訊息是 {str(error)[:90]!r}。每個起點都要配上每個時間步：`first[:, None]` 會把起點變成一欄。",
        ) from None
    tensor(got)
    if got.shape != expected.shape:
        raise _shape_hint(got, expected)
    if not torch.equal(got, expected):
        raise Wrong(
            en=f"The shape is right, the rows are not: the window that begins at row {first[0]} should hold the rows {first[0]} to "
            f"{first[0] + LENGTH - 1}; yours begins with {got[0, 0].tolist()} instead of {expected[0, 0].tolist()}.",
            zh=f"形狀對了，但內容不對：從第 {first[0]} 列開始的視窗，應該是第 {first[0]} 到 {first[0] + LENGTH - 1} 列；你的開頭是 "
            f"{got[0, 0].tolist()}，應該是 {expected[0, 0].tolist()}。",
        )
    if waits := sum(trap.lines.values()):
        raise Wrong(
            en=f"Right, but Python takes the windows one by one: for 3 windows the host asks for {waits} values. Build a tensor of all row "
            "numbers, and index once.",
            zh=f"結果對了，但視窗是一個一個取出來的：只有 3 個視窗，主機就取了 {waits} 次值。請先建立含有所有列號的張量，再用它索引一次。",
        )
    _on_another_device(answer, values, first)


def _on_another_device(answer: Any, values: Tensor, first: Tensor) -> None:
    """Try the answer on the device "meta", which every machine has and which computes shapes only."""
    try:
        got = answer(values.to("meta"), first.to("meta"), LENGTH)
        fits = got.device.type == "meta"
    except (RuntimeError, NotImplementedError):
        fits = False
    if not fits:
        raise Wrong(
            en="Right on the CPU. On another device it fails: what you add to `first` has to be made there as well, with "
            "`device=values.device`.",
            zh="在 CPU 上是對的，換個裝置就不行了：和 `first` 相加的張量也要建立在同一個裝置上，請加上 `device=values.device`。",
        )


def show_gather(answer: Any) -> Block:
    """Return which rows the learner's windows hold."""
    values, first = _given()
    got = answer(values, first, LENGTH)
    name = Bilingual("rows of the window that begins at row {}", "從第 {} 列開始的視窗，取到的列")
    found = {
        Bilingual(name.en.format(row), name.zh.format(row)): ", ".join(
            f"{x / 2:g}" for x in window[:, 0].tolist()
        )
        for row, window in zip(first.tolist(), got, strict=True)
    }
    return facts(fixed=found)
