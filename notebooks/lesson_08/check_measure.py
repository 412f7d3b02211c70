"""Exercise: the measure of ProbSparse attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Exercise, Wrong
from shared.given_tensor import tensor

EACH = Bilingual("a tensor with one M for each head and query", "張量，每個頭、每個查詢各一個 M")


def scores() -> Tensor:
    """Return made-up scores of 2 heads, 6 queries and 4 keys; query 0 looks at all keys alike."""
    made = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    made[:, 0] = 0.7
    made[:, 4, 1] += 4
    return made


def right(given: Tensor) -> Tensor:
    """Return M of each query."""
    return given.amax(-1) - given.mean(-1)


def examine(answer: Any) -> None:
    """Examine ``measure(scores) -> tensor``."""
    given = scores()
    got = tensor(answer(given.clone()), EACH)
    expected = right(given)
    if got.shape != expected.shape:
        _explain_shape(got, given)
    if not torch.allclose(got.double(), expected):
        _explain(got.double(), given)


def _explain_shape(got: Tensor, given: Tensor) -> None:
    """Raise the hint for a wrong shape."""
    if got.shape == (2, 4):
        raise Wrong(
            en="Your M belongs to the keys: the largest over the queries. Go along the last dimension, the keys of one query.",
            zh="你的 M 變成每個鍵一個，因為最大值是在所有查詢之間取的。應該沿著最後一個維度取，也就是同一個查詢的各個鍵。",
        )
    raise Wrong(
        en=f"Scores of shape {tuple(given.shape)} should give M of shape {tuple(given.shape[:2])}; yours is {tuple(got.shape)}.",
        zh=f"分數的形狀是 {tuple(given.shape)}，M 的形狀應該是 {tuple(given.shape[:2])}，你的是 {tuple(got.shape)}。",
    )


def _explain(got: Tensor, given: Tensor) -> None:
    """Raise the hint for wrong numbers."""
    if torch.allclose(got, given.amax(-1)):
        raise Wrong(
            en="That is the largest score alone. Query 0 gives every key 0.7: it prefers none, so its M must be 0.",
            zh="這只是最大的分數。查詢 0 對每個鍵的分數都是 0.7，沒有偏好，M 應該是 0。",
        )
    if torch.allclose(got, given.softmax(-1).amax(-1)):
        raise Wrong(
            en="That is the largest weight, after a softmax. M needs the scores only.",
            zh="這是經過 softmax 之後的最大權重。算 M 只需要分數。",
        )
    if torch.allclose(got, given.amax(-1) - given.sum(-1)):
        raise Wrong(
            en="You subtract the sum of the scores. Subtract their mean.",
            zh="你減去的是分數的總和，應該減去的是平均。",
        )
    if torch.allclose(got, -right(given)):
        raise Wrong(
            en="The sign is the other way round: the largest score minus the mean.",
            zh="正負號相反了：應該是最大值減平均。",
        )
    raise Wrong(
        en=f"Head 0, query 1 has the scores {_list(given[0, 1])}. Your M is {got[0, 1]:.2f}; the largest minus the mean is {right(given)[0, 1]:.2f}.",
        zh=f"第 0 個頭、查詢 1 的分數是 {_list(given[0, 1])}。你算出的 M 是 {got[0, 1]:.2f}，最大值減平均則是 {right(given)[0, 1]:.2f}。",
    )


def _list(row: Tensor) -> str:
    return ", ".join(f"{x:.2f}" for x in row.tolist())


def pictured(answer: Any) -> figures.Picture:
    """Draw the answer's M for the queries of one head."""
    got = answer(scores())[0].double().flatten().tolist()
    figure, axes = figures.new(height=2.2)
    top = sorted(range(len(got)), key=lambda n: -got[n])[:2]
    axes.bar(
        range(len(got)), got, color=[figures.YOURS if n in top else figures.PALE for n in range(len(got))]
    )
    axes.set_xlabel(Bilingual("query", "查詢"))
    axes.set_ylabel("M")
    return figures.Picture(
        figure,
        Bilingual(
            "Your M for the queries of head 0. With u = 2, the blue ones would be active.",
            "你算出的 M（第 0 個頭）。如果 u = 2，也就是選兩個，藍色的就是入選的查詢。",
        ),
        Bilingual(
            "Bars, one for each query; the two largest are blue.", "每個查詢一條長條，最大的兩條是藍色。"
        ),
    )


EXERCISE = Exercise(
    "measure",
    Bilingual("which queries are active?", "哪些查詢入選？"),
    examine,
    (
        Bilingual(
            "Both the largest and the mean are over the keys: the last dimension.",
            "最大值和平均都是沿著鍵，也就是最後一個維度。",
        ),
        Bilingual("`scores.amax(-1)` is the largest.", "最大值是 `scores.amax(-1)`。"),
    ),
    level="easy",
    show=pictured,
)

WRONG = [
    ("def measure(scores):\n    return scores.amax(-1)", "largest score alone", "只是最大的分數"),
    (
        "def measure(scores):\n    return scores.amax(-2) - scores.mean(-2)",
        "belongs to the keys",
        "每個鍵一個",
    ),
    (
        "def measure(scores):\n    return scores.amax(-1) - scores.sum(-1)",
        "the sum of the scores",
        "分數的總和",
    ),
    ("def measure(scores):\n    return scores.softmax(-1).amax(-1)", "after a softmax", "經過 softmax"),
    ("def measure(scores):\n    return scores.mean(-1) - scores.amax(-1)", "other way round", "正負號相反"),
    (
        "def measure(scores):\n    return scores.amax(-1) + scores.mean(-1)",
        "largest minus the mean is",
        "最大值減平均則是",
    ),
    ("def measure(scores):\n    return scores.max() - scores.mean()", "should give M of shape", "形狀應該是"),
]
