"""Exercise: what a mask lets the active queries see."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Exercise, Wrong
from shared.given_tensor import tensor

CASES = (([4, 1, 5], 6), ([0, 7], 8), ([2], 3))
MASK = Bilingual("a tensor of True and False", "由 True 與 False 組成的張量")


def right(active: Tensor, keys: int) -> Tensor:
    """Return True where an active query may look at a key."""
    return active[:, None] >= torch.arange(keys)


def examine(answer: Any) -> None:
    """Examine ``visible(active, keys) -> boolean tensor``."""
    for numbers, keys in CASES:
        active = torch.tensor(numbers)
        got = tensor(answer(active.clone(), keys), MASK)
        expected = right(active, keys)
        if got.shape != expected.shape:
            raise Wrong(
                en=f"{len(numbers)} active queries and {keys} keys: the mask should be {tuple(expected.shape)}; yours is {tuple(got.shape)}.",
                zh=f"{len(numbers)} 個入選的查詢、{keys} 個鍵，遮罩的形狀應該是 {tuple(expected.shape)}，你的是 {tuple(got.shape)}。",
            )
        if got.dtype != torch.bool:
            raise Wrong(
                en=f"The values should be True and False (`torch.bool`); yours are `{got.dtype}`.",
                zh=f"值應該是 True 與 False（`torch.bool`），你的是 `{got.dtype}`。",
            )
        if not torch.equal(got, expected):
            _explain(got, active, keys)


def _explain(got: Tensor, active: Tensor, keys: int) -> None:
    """Raise the hint for a wrong mask."""
    expected, places = right(active, keys), torch.arange(keys)
    if torch.equal(got, torch.ones(len(active), keys, dtype=torch.bool).tril()):
        raise Wrong(
            en=f"You count rows: 0, 1, 2 … But row 0 belongs to query {int(active[0])}, so it may look at the keys 0 to {int(active[0])}.",
            zh=f"你是照列號 0、1、2……來算的。但第 0 列其實是查詢 {int(active[0])}，可以看鍵 0 到 {int(active[0])}。",
        )
    if torch.equal(got, active[:, None] > places):
        raise Wrong(
            en="A query must not see itself in yours. Then query 0 sees nothing, and its softmax is 0/0. Its own step is known: allow it.",
            zh="你的遮罩不讓查詢看自己那一步。這樣查詢 0 什麼都看不到，softmax 會變成 0/0。自己那一步是已知的，可以看。",
        )
    if torch.equal(got, ~expected):
        raise Wrong(
            en="True and False are swapped: in `scaled_dot_product_attention`, True means that it may be looked at.",
            zh="True 與 False 相反了：在 `scaled_dot_product_attention` 裡，True 表示可以看。",
        )
    if torch.equal(got, active[:, None] <= places):
        raise Wrong(
            en="Yours looks at the future: later keys are allowed, and earlier ones forbidden.",
            zh="你的遮罩看的是未來，後面的鍵可以看，前面的反而不能看。",
        )
    row, key = (got != expected).nonzero()[0].tolist()
    raise Wrong(
        en=f"Active queries {active.tolist()}: may query {int(active[row])} look at key {key}? Your mask says {bool(got[row, key])}.",
        zh=f"入選的查詢是 {active.tolist()}：查詢 {int(active[row])} 可以看鍵 {key} 嗎？你的遮罩說 {bool(got[row, key])}。",
    )


def pictured(answer: Any) -> figures.Picture:
    """Draw the mask of the answer."""
    numbers, keys = CASES[0]
    got = answer(torch.tensor(numbers), keys)
    figure, axes = figures.new(width=5, height=2.2)
    for row in range(len(numbers)):
        for key in range(keys):
            colour = figures.YOURS if bool(got[row, key]) else figures.PALE
            axes.add_patch(figures.rectangle(key - 0.45, row - 0.45, 0.9, 0.9, colour))
    axes.set(xlim=(-0.6, keys - 0.4), ylim=(len(numbers) - 0.4, -0.6))
    axes.set_yticks(range(len(numbers)), [str(n) for n in numbers])
    axes.set_xlabel(Bilingual("key", "鍵"))
    axes.set_ylabel(Bilingual("query", "查詢"))
    axes.grid(visible=False)
    return figures.Picture(
        figure,
        Bilingual(
            "Your mask for the active queries 4, 1, 5: blue may be looked at.",
            "入選的查詢是 4、1、5 時，你做出的遮罩。藍色表示可以看。",
        ),
        Bilingual("A grid of 3 queries and 6 keys.", "3 個查詢、6 個鍵的方格圖。"),
    )


EXERCISE = Exercise(
    "visible",
    Bilingual("what the mask must forbid", "遮罩要禁止什麼"),
    examine,
    (
        Bilingual(
            "Compare each query's number with the number of each key.",
            "把每個查詢的編號和每個鍵的編號比大小。",
        ),
        Bilingual(
            "`active[:, None]` is a column, `torch.arange(keys)` a row.",
            "`active[:, None]` 是一欄，`torch.arange(keys)` 是一列。",
        ),
    ),
    level="medium",
    show=pictured,
)

_HEAD = "def visible(active, keys):\n    return "
WRONG = [
    (_HEAD + "torch.ones(len(active), keys, dtype=torch.bool).tril()", "You count rows", "照列號"),
    (_HEAD + "active[:, None] > torch.arange(keys)", "must not see itself", "不讓查詢看自己"),
    (_HEAD + "active[:, None] < torch.arange(keys)", "are swapped", "相反了"),
    (_HEAD + "active[:, None] <= torch.arange(keys)", "looks at the future", "看的是未來"),
    (_HEAD + "active[:, None] + 1 >= torch.arange(keys)", "look at key", "可以看鍵"),
    (_HEAD + "torch.ones(keys, keys, dtype=torch.bool).tril()", "the mask should be", "遮罩的形狀應該是"),
    (
        _HEAD + "(active[:, None] >= torch.arange(keys)).float()",
        "should be True and False",
        "應該是 True 與 False",
    ),
]
