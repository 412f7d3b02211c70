"""Exercise ``knee(sizes, seconds)``: the smallest batch with 80% of the highest throughput."""

from typing import Any

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.tables import value

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
# Made up: a fixed price of 0.5 ms, and 20 µs per image; at 256 the data no longer fit into a cache.
SECONDS = [0.0005 + 20e-6 * size for size in SIZES[:-1]] + [0.0082]
_CURVES = ((SIZES, SECONDS, 64), ([8, 16, 32, 64], [1.0, 1.0, 1.0, 4.0], 32), ([2, 4], [1.0, 2.0], 2))


def judge(answer: Any) -> Mistakes:
    """Compare with the knees of three curves."""
    for sizes, seconds, right in _CURVES:
        got = answer(list(sizes), list(seconds))
        yield got is None, "returned_none"
        if got == right:
            continue
        rates = [size / time for size, time in zip(sizes, seconds, strict=True)]
        yield got == sizes.index(right), "place"
        yield got == rates[sizes.index(right)], "throughput"
        yield got in (sizes[-1], sizes[rates.index(max(rates))]), "fastest"
        yield got == sizes[0], "smallest"
        yield True, "other", {"sizes": sizes, "seconds": seconds, "right": right, "got": value(got)}


def show(answer: Any) -> figures.Picture:
    """Return the throughput of the made-up machine, with 80% of its maximum and the answer's knee."""
    rates = [size / time for size, time in zip(SIZES, SECONDS, strict=True)]
    found = answer(list(SIZES), list(SECONDS))
    figure, axes = figures.new(height=3.4)
    axes.plot(SIZES, rates, "o-", color=figures.YOURS)
    axes.axhline(0.8 * max(rates), color=figures.THIRD, linestyle=":", label="80%")
    if isinstance(found, (int, float)) and 0 < found < 1e6:
        knee = f"{Bilingual('knee', '轉折點')} {found:g}"
        axes.axvline(found, color=figures.RECORDED, linestyle="--", label=knee)
    figures.logarithmic(axes.xaxis)
    axes.set_xlabel(Bilingual("batch size", "批次大小"))
    axes.set_ylabel(Bilingual("images per second", "每秒影像張數"))
    axes.legend(loc="lower right", fontsize=9)
    said = texts(__file__)
    return figures.Picture(figure, said["caption"].format(found=value(found)), said["alternative"])
