"""Exercise: scale a series with what is known at the end of its training part."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Exercise, Wrong


def made(rows: int = 300) -> torch.Tensor:
    """Return three columns of different size that drift."""
    noise = torch.randn(rows, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    way = torch.linspace(0, 4, rows, dtype=torch.float64)[:, None]
    return (noise + way) * torch.tensor([1.0, 30.0, 0.2], dtype=torch.float64) + torch.tensor(
        [5.0, -200.0, 0.0]
    )


def near(found: torch.Tensor, right: torch.Tensor) -> bool:
    """Return whether two results are the same but for rounding and for n or n − 1 in the deviation."""
    return torch.allclose(found.double(), right, rtol=0.01, atol=0.01)


def examine(answer: Any) -> None:
    """Examine ``scale(values, train)``."""
    for rows, train in ((300, 210), (400, 100)):
        values = made(rows)
        given = values.clone()
        got = answer(given, train)
        if not torch.equal(given, values):
            raise Wrong(
                en="Your function changes `values` itself (`-=` and `/=` do). The caller still needs the measurements.",
                zh="你的函式改到了 `values` 本身（`-=` 和 `/=` 會這樣）。呼叫端還要用原來的測量值。",
            )
        _judge(got, values, train)


def _judge(got: Any, values: torch.Tensor, train: int) -> None:
    """Raise the hint for a wrong scaling."""
    if got is None:
        raise Wrong(**NO_RETURN)
    seen = values[:train]
    if not isinstance(got, torch.Tensor) or got.shape != values.shape:
        if isinstance(got, torch.Tensor) and got.shape == seen.shape:
            raise Wrong(
                en="You return the training rows only. All rows are scaled, with what the training rows tell.",
                zh="你只傳回了訓練用的列。每一列都要標準化，只是平均和標準差用訓練的列計算。",
            )
        raise Wrong(
            en="Return a tensor with as many rows and columns as `values`.",
            zh="請傳回張量，列數、欄數都和 `values` 相同。",
        )
    if near(got, (values - seen.mean(0)) / seen.std(0)):
        return
    if near(got, (values - values.mean(0)) / values.std(0)):
        raise Wrong(
            en="Mean and deviation are of all rows: they tell the model about a future that it is tested on.",
            zh="平均和標準差用了所有的列，等於把測試要用的未來告訴了模型。",
        )
    if near(got, (values - seen.mean()) / seen.std()):
        raise Wrong(
            en="One mean for all columns: degrees and megawatts are mixed. Each column has its own: `mean(0)`.",
            zh="所有的欄共用一個平均，氣溫（°C）和電力（MW）混在一起了。每一欄要有自己的平均：`mean(0)`。",
        )
    if near(got, values - seen.mean(0)):
        raise Wrong(
            en="The means are right, but the columns still differ in size. Divide by the standard deviation.",
            zh="平均減對了，但各欄的大小還是不同，請再除以標準差。",
        )
    if near(got, (values - seen.mean(0)) / seen.var(0)):
        raise Wrong(
            en="You divide by the variance, the square of the standard deviation.",
            zh="你除以的是變異數，也就是標準差的平方。",
        )
    raise Wrong(
        en="In the first `train` rows, each column should have mean 0 and standard deviation 1. Yours do not, or later rows are scaled in another way.",
        zh="前 `train` 列裡，每一欄的平均應該是 0，標準差應該是 1。你的結果不是這樣，或是後面的列用了另一種做法。",
    )


def shown(answer: Any) -> Block:
    """Return mean and deviation of the rows before and after the end of the training part."""
    got = answer(made(), 210)
    rows = {}
    for name, part in (("[:210]", got[:210]), ("[210:]", got[210:])):
        rows[f"scaled{name}.mean(0)"] = ", ".join(f"{value:.2f}" for value in part.mean(0).tolist())
        if len(part) < 2:  # of one row there is no deviation
            continue
        rows[f"scaled{name}.std(0)"] = ", ".join(f"{value:.2f}" for value in part.std(0).tolist())
    return facts(rows=rows)


EXERCISE = Exercise(
    "scale",
    Bilingual("scale without the future", "標準化時不看未來"),
    examine,
    (
        Bilingual("`values[:train]` are the rows that may be looked at.", "`values[:train]` 是可以看的列。"),
        Bilingual(
            "`.mean(0)` and `.std(0)` go over the rows: one number for each column.",
            "`.mean(0)` 和 `.std(0)` 沿著列計算，每一欄得到一個數字。",
        ),
    ),
    level="easy",
    show=shown,
)
WRONG = [
    ("def scale(values, train):\n    return (values - values.mean(0)) / values.std(0)", "a future that it is tested on", "測試要用的未來"),
    ("def scale(values, train):\n    seen = values[:train]\n    return (values - seen.mean()) / seen.std()", "Each column has its own", "每一欄要有自己的"),
    ("def scale(values, train):\n    seen = values[:train]\n    return (seen - seen.mean(0)) / seen.std(0)", "All rows are scaled", "每一列都要標準化"),
    ("def scale(values, train):\n    return values - values[:train].mean(0)", "still differ in size", "大小還是不同"),
    ("def scale(values, train):\n    seen = values[:train]\n    return (values - seen.mean(0)) / seen.var(0)", "the variance", "變異數"),
    ("def scale(values, train):\n    values -= values[:train].mean(0)\n    values /= values[:train].std(0)\n    return values", "changes `values` itself", "改到了"),
    (
        "def scale(values, train):\n    parts = values[:train], values[train:]\n"
        "    return torch.cat([(part - part.mean(0)) / part.std(0) for part in parts])",
        "in another way",
        "另一種做法",
    ),
    ("def scale(values, train):\n    (values - values[:train].mean(0)) / values[:train].std(0)", "is there a `return`", "有寫 `return` 嗎"),
    ("def scale(values, train):\n    return values[:train].mean(0), values[:train].std(0)", "as many rows and columns", "列數、欄數"),
]  # fmt: skip
