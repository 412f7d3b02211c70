"""Exercise: read an efficiency out of published rates."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.given_number import close, number
from shared.published_curves import published

CASES = ((120.0, 180.0, 2), (50.0, 300.0, 8), (80.0, 80.0, 1))
PUBLISHED = {  # which curve, and at how many GPUs
    "ViT, 4 x A100": ("vit", 4),
    "ViT, 64 x A100": ("vit", 64),
    "ResNet-50, 8 x V100": ("resnet", 8),
    "LLM, 4 x A100": ("llm", 4),
}


def examine(answer: Any) -> None:
    """Examine ``efficiency(one, together, ranks) -> number``."""
    for one, together, ranks in CASES:
        got, right = number(answer(one, together, ranks)), together / (ranks * one)
        if not close(got, right):
            _explain(got, one, together, ranks)


def _explain(got: float, one: float, together: float, ranks: int) -> None:
    """Raise the hint for a wrong efficiency."""
    right = together / (ranks * one)
    if close(got, 100 * right):
        raise Wrong(
            en="That is the percentage; return a share between 0 and 1.",
            zh="這是百分比，請傳回 0 到 1 之間的比例。",
        )
    if close(got, together / one):
        raise Wrong(
            en=f"{got:g} is the speed-up. How much of it would {ranks} ideal ranks reach?",
            zh=f"{got:g} 是加速比。理想情況下，{ranks} 個 rank 應該快幾倍？",
        )
    if close(got, 1 / right):
        raise Wrong(
            en="Upside down: what was reached, divided by what would be ideal.",
            zh="分子和分母相反了：應該是實際的速率除以理想的速率。",
        )
    if close(got, one / together / ranks):
        raise Wrong(
            en="Divide by what would be ideal, `ranks` times the rate of one; what was reached stands above.",
            zh="要除以理想值，也就是單獨一個 rank 的速率乘上 `ranks`；實際的速率放在分子。",
        )
    if close(got, together / ranks):
        raise Wrong(
            en="That is the rate of one rank among the others. Compare it with the rate of one alone.",
            zh="這是一起訓練時每個 rank 的速率，還要和單獨一個 rank 的速率比較。",
        )
    raise Wrong(
        en=f"One reaches {one:g} images/s, {ranks} together {together:g}: your function says {got:g}.",
        zh=f"一個 rank 每秒 {one:g} 張，{ranks} 個一起每秒 {together:g} 張，你的函式算出 {got:g}。",
    )


def pictured(answer: Any) -> Block:
    """Return what the answer makes of published rates."""
    head = Bilingual("published rates, your function", "公開數據，用你的函式計算")
    rows = {}
    for name, (curve, gpus) in PUBLISHED.items():
        rates = dict(published(curve).points)
        rows[Bilingual(name, name)] = f"{float(answer(rates[1], rates[gpus], gpus)):.2f}"
    return facts(fixed={head: "", **rows})
