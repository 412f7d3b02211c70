"""The easy exercise "knee" of lesson 03: the smallest batch that is nearly as fast as the fastest."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import NO_RETURN, Wrong
from course_utils.tables import value

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
# Made up: a fixed price of 0.5 ms, and 20 µs per image; at 256 the data no longer fit into a cache.
SECONDS = [0.0005 + 20e-6 * size for size in SIZES[:-1]] + [0.0082]
_CURVES = ((SIZES, SECONDS, 64), ([8, 16, 32, 64], [1.0, 1.0, 1.0, 4.0], 32), ([2, 4], [1.0, 2.0], 2))


def examine_knee(answer: Any) -> None:
    """Examine ``knee(sizes, seconds)``, the smallest batch with 80% of the highest throughput.

    Raises:
        Wrong: With a hint about the mistake.
    """
    for sizes, seconds, right in _CURVES:
        found = answer(list(sizes), list(seconds))
        if found is None:
            raise Wrong(**NO_RETURN)
        if found == right:
            continue
        rates = [size / time for size, time in zip(sizes, seconds, strict=True)]
        if found == sizes.index(right):
            raise Wrong(
                en="That is the place in the list. Return the batch size.",
                zh="這是轉折點在 list 裡的位置。請傳回批次大小。",
            )
        if found == rates[sizes.index(right)]:
            raise Wrong(
                en="That is the throughput at the knee. Return the batch size.",
                zh="這是轉折點的吞吐量。請傳回批次大小。",
            )
        if found in (sizes[-1], sizes[rates.index(max(rates))]):
            raise Wrong(
                en="That is the largest batch or the fastest one. A smaller one reaches 80% of the highest throughput as well.",
                zh="這是最大的批次，或最快的批次。其實還有更小的批次，吞吐量也達到最高值的 80%。",
            )
        if found == sizes[0]:
            raise Wrong(
                en="That is the smallest batch. Compare images per second, not the time of a step.",
                zh="這是最小的批次。要比較的是每秒處理幾張影像，不是一步的時間。",
            )
        raise Wrong(
            en=f"With sizes {sizes} and seconds {seconds} the knee is {right}, but your function returns `{value(found)}`.",
            zh=f"批次大小是 {sizes}、時間是 {seconds} 時，轉折點是 {right}，你的函式卻傳回 `{value(found)}`。",
        )


def show_knee(answer: Any) -> figures.Picture:
    """Return the throughput of the made-up machine, with 80% of its maximum and the answer's knee."""
    rates = [size / time for size, time in zip(SIZES, SECONDS, strict=True)]
    found = answer(list(SIZES), list(SECONDS))
    figure, axes = figures.new(height=2.8)
    axes.plot(SIZES, rates, "o-", color=figures.YOURS)
    axes.axhline(0.8 * max(rates), color=figures.THIRD, linestyle=":", label="80%")
    if isinstance(found, (int, float)) and 0 < found < 1e6:
        axes.axvline(
            found, color=figures.RECORDED, linestyle="--", label=f"{Bilingual('knee', '轉折點')} {found:g}"
        )
    figures.logarithmic(axes.xaxis)
    axes.set_xlabel(Bilingual("batch size", "批次大小"))
    axes.set_ylabel(Bilingual("images per second", "每秒影像張數"))
    axes.legend(loc="lower right", fontsize=9)
    caption = Bilingual(
        f"A made-up machine. Your function says that its knee is {value(found)}.",
        f"這是一台虛構的機器，你的函式算出的轉折點是 {value(found)}。",
    )
    alternative = Bilingual(
        "Images per second against batch size, with a line at 80% of the highest value and one at the answer's knee.",
        "每秒影像張數隨批次大小的變化，並標出最高值的 80%，以及你答案裡的轉折點。",
    )
    return figures.Picture(figure, caption, alternative)
