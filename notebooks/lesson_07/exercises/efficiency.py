"""Exercise ``efficiency(one, together, ranks) -> number``: read an efficiency out of published rates."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import close, number
from course_utils.tables import table
from shared.published_curves import published

CASES = ((120.0, 180.0, 2), (50.0, 300.0, 8), (80.0, 80.0, 1))
PUBLISHED = {  # which curve, and at how many GPUs
    "ViT, 4 x A100": ("vit", 4),
    "ViT, 64 x A100": ("vit", 64),
    "ResNet-50, 8 x V100": ("resnet", 8),
    "LLM, 4 x A100": ("llm", 4),
}


def judge(answer: Any) -> Mistakes:
    """Look for typical wrong formulas in each case."""
    for one, together, ranks in CASES:
        got, right = number(answer(one, together, ranks)), together / (ranks * one)
        seen = {"one": one, "together": together, "ranks": ranks, "got": got}
        if not close(got, right):
            yield close(got, 100 * right), "percent", seen
            yield close(got, together / one), "speed_up", seen
            yield close(got, 1 / right), "upside_down", seen
            yield close(got, one / together / ranks), "reached_below", seen
            yield close(got, together / ranks), "rate_of_one", seen
            yield True, "other", seen


def show(answer: Any) -> Block:
    """Return what the answer makes of published rates."""
    rows = []
    for name, (curve, gpus) in PUBLISHED.items():
        rates = dict(published(curve).points)
        rows.append((name, f"{float(answer(rates[1], rates[gpus], gpus)):.2f}"))
    return table(("", Bilingual("published rates, your function", "公開數據，用你的函式計算")), rows)
