"""Exercise: what the decoder of an Informer gets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Exercise, Wrong
from shared.given_tensor import tensor

CASES = ((8, 3, 4), (8, 8, 2), (96, 48, 24))


def windows(length: int) -> Tensor:
    """Return 2 windows of 3 columns, filled with 1, 2, 3 and so on."""
    return torch.arange(1.0, 2 * length * 3 + 1).view(2, length, 3)


def right(past: Tensor, start: int, ahead: int) -> Tensor:
    """Return the last known steps, then zeros."""
    return torch.cat([past[:, -start:], past.new_zeros(len(past), ahead, past.shape[-1])], 1)


def examine(answer: Any) -> None:
    """Examine ``decoder_input(past, start, ahead) -> tensor``."""
    for length, start, ahead in CASES:
        past = windows(length)
        got = tensor(answer(past.clone(), start, ahead))
        expected = right(past, start, ahead)
        if got.shape != expected.shape:
            _explain_shape(got, past, start, ahead)
        if not torch.equal(got.to(expected.dtype), expected):
            _explain(got.to(expected.dtype), past, start, ahead)
    past = windows(8).double()
    if answer(past, 3, 4).dtype != torch.float64:
        raise Wrong(
            en="Windows in float64 come back as something else. `past.new_zeros(…)` makes zeros like `past`: its data type, its device.",
            zh="視窗是 float64，結果卻不是。`past.new_zeros(…)` 產生的零和 `past` 的資料型別、裝置都一樣。",
        )


def _explain_shape(got: Tensor, past: Tensor, start: int, ahead: int) -> None:
    """Raise the hint for a wrong shape."""
    if got.shape == (len(past), past.shape[1] + ahead, past.shape[2]):
        raise Wrong(
            en=f"All {past.shape[1]} steps are in it. The decoder gets the last {start} only; the encoder has seen them all.",
            zh=f"你把 {past.shape[1]} 步全部放進去了。解碼器只拿最後 {start} 步，因為編碼器已經看過全部。",
        )
    if got.shape == (len(past), start, past.shape[2]):
        raise Wrong(
            en="The places of the forecast are missing: append a zero for each step ahead and column.",
            zh="少了要預測的位置：後面要接上零，每一步、每一欄都要有。",
        )
    want = (len(past), start + ahead, past.shape[2])
    raise Wrong(
        en=f"Windows of shape {tuple(past.shape)}, start {start}, ahead {ahead}: the shape should be {want}; yours is {tuple(got.shape)}.",
        zh=f"視窗的形狀是 {tuple(past.shape)}，start 是 {start}，ahead 是 {ahead}：結果的形狀應該是 {want}，你的是 {tuple(got.shape)}。",
    )


def _explain(got: Tensor, past: Tensor, start: int, ahead: int) -> None:
    """Raise the hint for wrong numbers."""
    if torch.equal(got[:, :start], past[:, :start]) and start < past.shape[1]:
        raise Wrong(
            en="These are the first steps of the window. The forecast goes on from its last ones.",
            zh="這是視窗開頭的幾步。預測要從最後幾步接下去。",
        )
    if torch.equal(got[:, ahead:], past[:, -start:]):
        raise Wrong(
            en="Zeros come first in yours. Time goes on: known steps, then those to fill.",
            zh="你把零放在前面。要照時間順序，先放已知的，再放待填的。",
        )
    if torch.equal(got[:, :start], past[:, -start:]):
        raise Wrong(
            en="The known steps are right. What stands for the forecast must be 0: nothing about the future.",
            zh="已知的部分對了。要預測的位置必須是 0，不能透露未來。",
        )
    raise Wrong(
        en="The values are not the last ones of each window, followed by zeros.",
        zh="開頭不是每個視窗最後幾步的值。要先放那幾步，後面再接上零。",
    )


def pictured(answer: Any) -> figures.Picture:
    """Draw what the decoder gets in column 0 of a window."""
    past = windows(8) / 10
    got = answer(past, 3, 4)[0, :, 0].double().tolist()
    figure, axes = figures.new(height=2.2)
    axes.plot(range(8), past[0, :, 0].tolist(), "o-", color=figures.PALE)
    axes.plot(range(5, 5 + len(got)), got, "o-", color=figures.YOURS)
    axes.set_xlabel(Bilingual("step", "時間步"))
    return figures.Picture(
        figure,
        Bilingual(
            "Grey: a window of 8 steps. Blue: what you give the decoder, with start = 3 and ahead = 4, beginning at step 5.",
            "灰色是 8 步的視窗；藍色是你交給解碼器的輸入（start = 3、ahead = 4），從第 5 步開始。",
        ),
        Bilingual(
            f"A rising line of 8 points and your {len(got)} points from step 5 on.",
            f"一條上升的 8 點折線，以及從第 5 步開始、你的 {len(got)} 個點。",
        ),
    )


EXERCISE = Exercise(
    "decoder_input",
    Bilingual("what the decoder gets", "解碼器拿到什麼"),
    examine,
    (
        Bilingual("The last `start` steps are `past[:, -start:]`.", "最後 `start` 步是 `past[:, -start:]`。"),
        Bilingual(
            "`torch.cat([…, …], 1)` joins along time; `past.new_zeros(…)` makes the zeros.",
            "沿著時間相接用 `torch.cat([…, …], 1)`，零用 `past.new_zeros(…)` 產生。",
        ),
    ),
    level="easy",
    show=pictured,
)

_HEAD = "def decoder_input(past, start, ahead):\n    zeros = past.new_zeros(len(past), ahead, past.shape[-1])\n    return "
WRONG = [
    (_HEAD + "torch.cat([past, zeros], 1)", "steps are in it", "全部放進去"),
    (_HEAD + "torch.cat([past[:, :start], zeros], 1)", "first steps of the window", "開頭的幾步"),
    (_HEAD + "torch.cat([zeros, past[:, -start:]], 1)", "Zeros come first", "零放在前面"),
    (_HEAD + "past[:, -start:]", "places of the forecast are missing", "少了要預測的位置"),
    (_HEAD + "torch.cat([past[:, -start:], past[:, -1:].expand_as(zeros)], 1)", "must be 0", "必須是 0"),
    (
        _HEAD + "torch.cat([past[:, -start:], zeros[:, :1]], 1)",
        "start 3, ahead 4: the shape",
        "start 是 3，ahead 是 4",
    ),
    (
        _HEAD + "torch.cat([past[:, -start:] - past[:, -1:], zeros], 1)",
        "not the last ones",
        "不是每個視窗最後",
    ),
    (
        _HEAD + "torch.cat([past[:, -start:].float(), zeros.float()], 1)",
        "come back as something else",
        "結果卻不是",
    ),
]
