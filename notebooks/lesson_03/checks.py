"""The exercises of lesson 03, data types and batch size."""

from __future__ import annotations

import math
from typing import Any

import torch

from course_utils.exercises import Exercise, Wrong
from lesson_03.check_accumulate import examine_accumulate
from lesson_03.check_halve import examine_halve
from shared.dictionary_answers import filled_in
from torch_doctor.bilingual import Bilingual

_ROUNDED: dict[str, tuple[float, Bilingual]] = {
    "float16: 4096 + 1": (
        4096.0,
        Bilingual(
            "Between 4096 and 8192, float16 knows only every fourth number.",
            "在 4096 到 8192 之間，float16 每隔 4 才有一個數。",
        ),
    ),
    "float16: 4096 + 3": (
        4100.0,
        Bilingual(
            "The spacing is 4 there, so 4099 lies between 4096 and 4100. Which one is nearer?",
            "這裡的間隔是 4，所以 4099 落在 4096 和 4100 之間。離哪一個近？",
        ),
    ),
    "bfloat16: 1001": (
        1000.0,
        Bilingual(
            "bfloat16 has 7 fraction bits: between 512 and 1024 the spacing is 512 / 128.",
            "bfloat16 的尾數有 7 個位元：512 到 1024 之間的間隔是 512 / 128。",
        ),
    ),
    "float16: 70000": (
        math.inf,
        Bilingual(
            "float16 ends at 65504. What comes after the end?", "float16 最大只到 65504。超過之後會變成什麼？"
        ),
    ),
    "bfloat16: 70000": (
        70144.0,
        Bilingual(
            "It fits, but between 65536 and 131072 the spacing is 512, and 70000 is no multiple of it: take the nearest.",
            "放得下，但 65536 到 131072 之間的間隔是 512，而 70000 不是 512 的倍數：取最接近的。",
        ),
    ),
    "float32: 16777216 + 1": (
        16777216.0,
        Bilingual(
            "16777216 is 2 to the 24th. float32 has 23 fraction bits: from there on, the spacing is 2.",
            "16777216 是 2 的 24 次方。float32 的尾數有 23 個位元，從這裡開始，間隔就是 2。",
        ),
    ),
}


def examine_rounding(answer: Any) -> None:
    """Examine a dictionary such as ``{"float16: 4096 + 1": 4096.0, …}``: format and number → what is stored."""
    for key, value in filled_in(answer, _ROUNDED).items():
        right, why = _ROUNDED[key]
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if isinstance(value, str) and value.strip().lower().lstrip("+") in ("inf", "infinity", "∞"):
            value = math.inf
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Wrong(
                en=f"The answer to `{key}` is a number (`float('inf')` is one, too).",
                zh=f"`{key}` 的答案是數字（`float('inf')` 也算）。",
            )
        if value != right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


_UNDER_AUTOCAST: dict[str, tuple[torch.dtype, Bilingual]] = {
    "layer(x)": (
        torch.bfloat16,
        Bilingual(
            "A linear layer is a matrix product: exactly what autocast is for.",
            "線性層就是矩陣乘法，autocast 要加速的正是它。",
        ),
    ),
    "torch.relu(layer(x))": (
        torch.bfloat16,
        Bilingual(
            "`relu` is on neither list: it takes the type of what it gets.",
            "`relu` 不在任何一份清單上：收到什麼型別，就輸出什麼型別。",
        ),
    ),
    "layer(x) + x": (
        torch.float32,
        Bilingual(
            "bfloat16 plus float32: as always, the wider type wins.",
            "bfloat16 加 float32，和平常一樣，結果取比較寬的型別。",
        ),
    ),
    "x * 2": (
        torch.float32,
        Bilingual(
            "Autocast does not touch `x`: an ordinary operation on float32 stays float32.",
            "autocast 不會動 `x`：一般運算遇到 float32，結果還是 float32。",
        ),
    ),
    "x @ x.T": (
        torch.bfloat16,
        Bilingual(
            "It needs no layer: every matrix product is cast, `@` included.",
            "不一定要有層：所有矩陣乘法都會轉換型別，`@` 也算。",
        ),
    ),
    "cross_entropy(layer(x), labels)": (
        torch.float32,
        Bilingual(
            "A loss adds up many small numbers and takes logarithms: it is on the list of what runs in float32.",
            "損失要加總許多很小的數，還要取對數，所以在用 float32 計算的那份清單上。",
        ),
    ),
    "layer.weight.grad": (
        torch.float32,
        Bilingual(
            "The weight stays float32, autocast only makes a copy of it; and a gradient has the type of its parameter.",
            "權重一直是 float32，autocast 只是另外轉一份來用；梯度的型別跟著參數。",
        ),
    ),
}


def examine_autocast(answer: Any) -> None:
    """Examine a dictionary such as ``{"x * 2": torch.float32, …}``: expression → its data type under autocast."""
    names = {"torch.bfloat16": torch.bfloat16, "torch.float32": torch.float32}
    names |= {name.removeprefix("torch."): dtype for name, dtype in names.items()}
    for key, value in filled_in(answer, _UNDER_AUTOCAST).items():
        right, why = _UNDER_AUTOCAST[key]
        given = names.get(value.strip(), value) if isinstance(value, str) else value
        if given not in (torch.bfloat16, torch.float32):
            raise Wrong(
                en=f"The answer to `{key}` is `torch.float32` or `torch.bfloat16`.",
                zh=f"`{key}` 的答案是 `torch.float32` 或 `torch.bfloat16`。",
            )
        if given is not right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


EXERCISES = (
    Exercise(
        "rounding",
        Bilingual("what is stored?", "存進去的是多少？"),
        examine_rounding,
        (
            Bilingual(
                "Find the power of two below the number, and divide it by 2 to the number of fraction bits: that is the spacing.",
                "先找出不超過這個數、最大的 2 的次方，再依尾數的位元數，有幾個就除以 2 幾次，結果就是間隔。",
            ),
            Bilingual(
                "Fraction bits: float16 10, bfloat16 7, float32 23.",
                "尾數的位元數：float16 是 10，bfloat16 是 7，float32 是 23。",
            ),
            Bilingual(
                "What lies between two neighbours goes to the nearer one; in the middle, to the one whose last bit is 0.",
                "落在兩個相鄰數之間的，會變成比較近的那一個；剛好在正中間，就取最後一個位元是 0 的那個。",
            ),
        ),
    ),
    Exercise(
        "autocast",
        Bilingual("which type under autocast?", "autocast 底下是什麼型別？"),
        examine_autocast,
        (
            Bilingual(
                "Three kinds of operations: matrix products (half), losses (float32), most others (what they get).",
                "運算分三類：矩陣乘法（半精度）、損失（float32）、其他（大多收到什麼就用什麼）。",
            ),
            Bilingual("Autocast never changes a parameter.", "autocast 絕不會更改參數。"),
            Bilingual("Mixed types: the wider one wins.", "型別混用時，取比較寬的。"),
        ),
    ),
    Exercise(
        "accumulate",
        Bilingual("a large batch in pieces", "把大批次拆開來算"),
        examine_accumulate,
        (
            Bilingual(
                "`backward()` adds to what is in `.grad`. Who clears it, and when?",
                "`backward()` 會加到 `.grad` 原有的值上。誰來清空？什麼時候？",
            ),
            Bilingual(
                "The loss of the whole batch is the mean over all examples, not over the pieces.",
                "整個批次的損失，是所有樣本的平均，不是各份的平均。",
            ),
            Bilingual(
                "Multiply each loss by `len(x) / total` before `backward()`.",
                "每個損失先乘上 `len(x) / total`，再 `backward()`。",
            ),
        ),
    ),
    Exercise(
        "halve",
        Bilingual("halve until it fits", "減半，直到放得下"),
        examine_halve,
        (
            Bilingual(
                "`while True:`, and in it `try: step(batch)` and return if it succeeds.",
                "用 `while True:`，裡面 `try: step(batch)`，成功就傳回。",
            ),
            Bilingual(
                "Catch `torch.OutOfMemoryError` and nothing else.",
                "只攔 `torch.OutOfMemoryError`，別的都不攔。",
            ),
            Bilingual(
                "At a batch of 1 there is nothing left to halve: `raise`.", "批次到 1 就沒得減了：`raise`。"
            ),
        ),
    ),
)
