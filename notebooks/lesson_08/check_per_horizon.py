"""Exercise: the mean squared error of a forecast for each step ahead."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Exercise, Wrong
from shared.given_tensor import tensor

ERRORS = Bilingual("a tensor with one error for each step ahead", "一個張量，每個預測距離一個誤差")


def made(windows: int = 50, ahead: int = 24, columns: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a last-value forecast of random walks, and the truth."""
    steps = torch.randn(windows, ahead, columns, generator=torch.Generator().manual_seed(8))
    return torch.zeros(windows, ahead, columns), steps.cumsum(1)


def examine(answer: Any) -> None:
    """Examine ``per_horizon(forecast, truth)``."""
    for shape in ((50, 24, 3), (7, 5, 11)):
        _judge(answer(*made(*shape)), *made(*shape))


def _judge(got: Any, forecast: torch.Tensor, truth: torch.Tensor) -> None:
    """Raise the hint for wrong errors."""
    windows, ahead, columns = truth.shape
    if isinstance(got, list | tuple) and len(got) == ahead and all(isinstance(one, float) for one in got):
        got = torch.tensor(got)
    got = tensor(got, ERRORS)
    if got.dim() == 0:
        raise Wrong(
            en="That is one number, the mean over everything. Leave out the dimension of the steps ahead.",
            zh="這只有一個數字，是全部的平均。預測距離那個維度要留著。",
        )
    if got.shape != (ahead,):
        raise Wrong(
            en=f"Your result has the shape {tuple(got.shape)}. Average over windows and columns: dimensions 0 and 2 of `(windows, ahead, columns)`.",
            zh=f"你的結果形狀是 {tuple(got.shape)}。要對視窗和欄取平均，也就是 `(windows, ahead, columns)` 的第 0 和第 2 維。",
        )
    difference = forecast - truth
    right = difference.square().mean((0, 2))
    if torch.allclose(got.float(), right, rtol=1e-3):
        return
    if torch.allclose(got.float(), difference.abs().mean((0, 2)), rtol=1e-3):
        raise Wrong(
            en="That is the mean absolute error. Square the differences.",
            zh="這是平均絕對誤差。這裡要的是差值的平方。",
        )
    if torch.allclose(got.float(), right.sqrt(), rtol=1e-3):
        raise Wrong(
            en="That is the root of the wanted error. Leave the squares as they are.",
            zh="你多開了根號，差值平方之後取平均就好。",
        )
    if torch.allclose(got.float(), difference.mean((0, 2)).square(), rtol=1e-3) or torch.allclose(
        got.float(), difference.mean((0, 2)), rtol=1e-3
    ):
        raise Wrong(
            en="Errors of different signs cancel each other. Square first, then average.",
            zh="正負誤差互相抵消了。要先平方，再平均。",
        )
    raise Wrong(
        en="The shape is right, but the values are not the means of the squared differences.",
        zh="形狀對了，但數值不是「差值平方之後的平均」。",
    )


def shown(answer: Any) -> Block:
    """Return the errors of the last value for random walks."""
    found = answer(*made(400))
    label = "per_horizon(...)[{}]"
    return facts(rows={label.format(step - 1): f"{float(found[step - 1]):.2f}" for step in (1, 6, 12, 24)})


EXERCISE = Exercise(
    "per_horizon",
    Bilingual("the error at each horizon", "各預測距離的誤差"),
    examine,
    (
        Bilingual("First the squared differences, all at once.", "先一次算出所有差值的平方。"),
        Bilingual(
            "`mean` takes several dimensions: `x.mean((0, 2))` leaves dimension 1.",
            "`mean` 可以一次給好幾個維度：`x.mean((0, 2))` 會留下第 1 維。",
        ),
    ),
    level="easy",
    show=shown,
)
WRONG = [
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).square().mean()", "one number", "只有一個數字"),
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).square().mean(0)", "windows and columns", "視窗和欄"),
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).square().mean((1, 2))", "dimensions 0 and 2", "第 0 和第 2 維"),
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).abs().mean((0, 2))", "absolute error", "絕對誤差"),
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).square().mean((0, 2)).sqrt()", "the root", "根號"),
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).mean((0, 2)).square()", "cancel", "抵消"),
    ("def per_horizon(forecast, truth):\n    (forecast - truth).square().mean((0, 2))", "is there a `return`", "有寫 `return` 嗎"),
    ("def per_horizon(forecast, truth):\n    return {'mse': 0.0}", "one error for each step", "每個預測距離一個誤差"),
    ("def per_horizon(forecast, truth):\n    return (forecast - truth).square().sum((0, 2))", "not the means", "差值平方之後的平均"),
]  # fmt: skip
