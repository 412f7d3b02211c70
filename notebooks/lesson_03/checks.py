"""The exercises of lesson 03, data types and batch size."""

from __future__ import annotations

import math
from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Exercise, Wrong
from course_utils.tables import RIGHT, YOURS, table
from course_utils.tables import value as shown_value
from lesson_03.check_accumulate import examine_accumulate, show_accumulate
from lesson_03.check_bytes import examine_bytes, examine_model_bytes, show_bytes, show_model_bytes
from lesson_03.check_halve import examine_halve, show_halve
from lesson_03.check_knee import examine_knee, show_knee
from lesson_03.check_lost import examine_lost, show_lost
from lesson_03.check_scaled_step import examine_scaled_step, show_scaled_step
from lesson_03.float_formats import FORMATS
from shared.dictionary_answers import filled_in

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
            "float16 ends at 65504. What comes after the end?", "float16 最大只到 65504。超過的數會變成什麼？"
        ),
    ),
    "bfloat16: 70000": (
        70144.0,
        Bilingual(
            "It fits, but between 65536 and 131072 the spacing is 512, and 70000 is no multiple of it: take the nearest.",
            "存得下，但 65536 到 131072 之間的間隔是 512，而 70000 不是 512 的倍數，所以要取最接近的倍數。",
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


def show_rounding(answer: Any) -> Block:
    """Return for each line between which two numbers of the format the true one lies, and what was filled in."""
    rows = []
    for key in _ROUNDED:
        name, what = key.split(": ")
        kind, true = FORMATS[name], float(sum(map(int, what.split("+"))))
        place = kind.pattern(true)
        if kind.number(place) > true:
            place -= 1
        low, high = kind.number(place), kind.number(place + 1)
        if not math.isfinite(low):
            low, high = kind.largest, math.inf
        given = answer.get(key, ...)
        rows.append((f"`{key}`", f"{low:,.0f} … {high:,.0f}", "…" if given is ... else shown_value(given)))
    between = Bilingual("lies between, or on", "介於這兩個數之間（或等於其中一個）")
    return table((Bilingual("number", "數字"), between, YOURS), rows)


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
            "`relu` 不在任何一份清單上，收到什麼型別，就輸出什麼型別。",
        ),
    ),
    "layer(x) + x": (
        torch.float32,
        Bilingual(
            "bfloat16 plus float32: as always, the wider type wins.",
            "bfloat16 加 float32 的結果和平常一樣，是比較寬的型別。",
        ),
    ),
    "x * 2": (
        torch.float32,
        Bilingual(
            "Autocast does not touch `x`: an ordinary operation on float32 stays float32.",
            "autocast 不會動 `x`，而一般運算收到 float32，結果還是 float32。",
        ),
    ),
    "x @ x.T": (
        torch.bfloat16,
        Bilingual(
            "It needs no layer: every matrix product is cast, `@` included.",
            "不一定要有層。所有矩陣乘法都會轉換型別，`@` 也算。",
        ),
    ),
    "cross_entropy(layer(x), labels)": (
        torch.float32,
        Bilingual(
            "A loss adds up many small numbers and takes logarithms: it is on the list of what runs in float32.",
            "損失要加總許多很小的數，還要取對數，所以列在用 float32 計算的那份清單上。",
        ),
    ),
    "layer.weight.grad": (
        torch.float32,
        Bilingual(
            "The weight stays float32, autocast only makes a copy of it; and by default a gradient has the type of its parameter.",
            "權重一直是 float32，autocast 只是另外轉一份複本來用；而梯度的型別，預設和參數相同。",
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


def show_autocast(answer: Any) -> Block:
    """Return which of the lines agree with what PyTorch does."""
    rows = []
    for key, (right, _) in _UNDER_AUTOCAST.items():
        given = answer.get(key, ...)
        text = "…" if given is ... else str(given).removeprefix("torch.")
        rows.append((f"`{key}`", f"`{text}`", RIGHT[text == str(right).removeprefix("torch.")]))
    return table((Bilingual("line", "這一行"), YOURS, Bilingual("PyTorch agrees", "和 PyTorch 一致")), rows)


EXERCISES = (
    Exercise(
        "bytes",
        Bilingual("how many bytes?", "占幾個位元組？"),
        examine_bytes,
        (
            Bilingual("How many numbers does `x` hold? `x.numel()`.", "`x` 有幾個數？用 `x.numel()`。"),
            Bilingual(
                "How many bytes does each take? `dtype.itemsize`.",
                "每個數占幾個位元組？用 `dtype.itemsize`。",
            ),
            Bilingual("Multiply the two, and `return`.", "兩者相乘，再 `return`。"),
        ),
        level="easy",
        show=show_bytes,
    ),
    Exercise(
        "rounding",
        Bilingual("what is stored?", "存進去的是多少？"),
        examine_rounding,
        (
            Bilingual(
                "Find the power of two below the number, and divide it by 2 to the number of fraction bits: that is the spacing.",
                "在不超過這個數的 2 的次方裡，找出最大的一個，再除以 2 的 p 次方（p 是尾數的位元數），就得到間隔。",
            ),
            Bilingual(
                "Fraction bits: float16 10, bfloat16 7, float32 23.",
                "尾數的位元數：float16 是 10，bfloat16 是 7，float32 是 23。",
            ),
            Bilingual(
                "What lies between two neighbours goes to the nearer one; in the middle, to the one whose last bit is 0.",
                "落在兩個相鄰的數之間時，取比較近的那一個；剛好在正中間時，取最後一個位元是 0 的那一個。",
            ),
        ),
        level="medium",
        show=show_rounding,
    ),
    Exercise(
        "autocast",
        Bilingual("which type under autocast?", "用了 autocast 是什麼型別？"),
        examine_autocast,
        (
            Bilingual(
                "Three kinds of operations: matrix products (half), losses (float32), most others (what they get).",
                "運算分成三類：矩陣乘法用半精度，損失用 float32，其他大多收到什麼型別，就用什麼型別。",
            ),
            Bilingual("Autocast never changes a parameter.", "autocast 絕對不會更動參數。"),
            Bilingual("Mixed types: the wider one wins.", "型別混用時，結果是比較寬的那一種。"),
        ),
        level="easy",
        show=show_autocast,
    ),
    Exercise(
        "lost",
        Bilingual("what gets lost?", "有幾個數變成 0？"),
        examine_lost,
        (
            Bilingual(
                "`x.to(dtype) == 0` is true where the stored number is zero.",
                "`x.to(dtype) == 0` 在存進去之後變成 0 的地方為真。",
            ),
            Bilingual(
                "Where was it not zero before? `x != 0`. Both together: `&`.",
                "哪些數原本不是 0？用 `x != 0` 判斷。要兩個條件同時成立，就用 `&`。",
            ),
            Bilingual("Count with `.sum().item()`.", "用 `.sum().item()` 數出個數。"),
        ),
        level="easy",
        show=show_lost,
    ),
    Exercise(
        "scaled_step",
        Bilingual("one step with a scaler", "用梯度縮放器訓練一步"),
        examine_scaled_step,
        (
            Bilingual(
                "Five lines: scale and backward, unscale, clip, step, update.",
                "一共五行：放大損失並反向傳播、還原梯度、裁剪、更新權重、更新倍數。",
            ),
            Bilingual(
                "`scaler.unscale_` divides the gradients by the factor, in place. Clip after it.",
                "`scaler.unscale_` 會直接把梯度除回原本的大小，裁剪要放在它後面。",
            ),
            Bilingual(
                "`scaler.step` notices that they are unscaled already, and does not divide again.",
                "`scaler.step` 知道梯度已經還原，不會再除一次。",
            ),
        ),
        level="medium",
        show=show_scaled_step,
    ),
    Exercise(
        "knee",
        Bilingual("where is the knee?", "轉折點在哪裡？"),
        examine_knee,
        (
            Bilingual(
                "First the throughput of each batch: size divided by seconds.",
                "先算每種批次的吞吐量：批次大小除以秒數。",
            ),
            Bilingual("Which of them reach 0.8 times the highest?", "哪些批次的吞吐量達到最高值的 0.8 倍？"),
            Bilingual(
                "Of those, the smallest batch: `min(…)` over them.", "再用 `min(…)` 從中取出最小的批次。"
            ),
        ),
        level="easy",
        show=show_knee,
    ),
    Exercise(
        "model_bytes",
        Bilingual("bytes of weights and gradients", "權重與梯度占多少？"),
        examine_model_bytes,
        (
            Bilingual(
                "`model.parameters()` goes through all of them.", "`model.parameters()` 會逐一取出所有參數。"
            ),
            Bilingual("A tensor knows its size: `p.nbytes`.", "張量占多少位元組，看 `p.nbytes` 就知道。"),
            Bilingual(
                "Its gradient is a tensor, too: `p.grad`. Add up both with `sum(…)`.",
                "參數的梯度 `p.grad` 也是張量。用 `sum(…)` 把兩者都加起來。",
            ),
        ),
        level="easy",
        show=show_model_bytes,
    ),
    Exercise(
        "accumulate",
        Bilingual("a large batch in pieces", "把大批次拆開來算"),
        examine_accumulate,
        (
            Bilingual(
                "`backward()` adds to what is in `.grad`. Where must it be cleared?",
                "`backward()` 會把梯度加到 `.grad` 原有的值上。應該在哪裡清空？",
            ),
            Bilingual(
                "The loss of the whole batch is the mean over all examples, not over the pieces.",
                "整個批次的損失，是所有樣本的平均，不是各份的平均。",
            ),
            Bilingual(
                "Multiply each loss by `len(x) / total` before `backward()`.",
                "每一份的損失都先乘上 `len(x) / total`，再呼叫 `backward()`。",
            ),
        ),
        level="medium",
        show=show_accumulate,
    ),
    Exercise(
        "halve",
        Bilingual("halve until it fits", "減半，直到放得下"),
        examine_halve,
        (
            Bilingual(
                "`while True:`, and in it `try: step(batch)` and return if it succeeds.",
                "用 `while True:` 迴圈，在裡面寫 `try: step(batch)`，成功就傳回 `batch`。",
            ),
            Bilingual(
                "Catch `torch.OutOfMemoryError` and nothing else.",
                "只捕捉 `torch.OutOfMemoryError`，其他錯誤都不要捕捉。",
            ),
            Bilingual(
                "At a batch of 1 there is nothing left to halve: `raise`.",
                "批次減到 1 就不能再減了，這時要 `raise`。",
            ),
        ),
        level="hard",
        show=show_halve,
    ),
)
