"""What does a transfer cost, cut into pieces? Two numbers explain most of it.

Model: seconds = pieces · call + bytes / speed. The first term is what every call costs, however little it moves; the
second is the time the bytes need for the trip. Both numbers are measured on the learner's machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course_utils import figures
from course_utils.explorers import Control, Explorer
from course_utils.language import Bilingual, measured


@dataclass(frozen=True)
class TransferCost:
    """Seconds spent on calls and on the trip, for the chosen cut and for every other one."""

    size: int
    pieces: int
    calls: float
    way: float
    all_pieces: np.ndarray
    all_seconds: np.ndarray

    @property
    def share(self) -> float:
        """Share of the time that goes into calls, 0 to 1."""
        return self.calls / (self.calls + self.way)


def compute(call_seconds: float, bytes_per_second: float, *, size: int, pieces: int) -> TransferCost:
    """Return what moving `size` bytes in `pieces` calls costs.

    Args:
        call_seconds: Price of one call, in seconds.
        bytes_per_second: Speed of the trip.
        size: Total bytes.
        pieces: Number of calls.

    Raises:
        ValueError: A price, speed, size or number of pieces is not positive.
    """
    if min(call_seconds, bytes_per_second, size, pieces) <= 0:
        raise ValueError(
            f"transfer cost needs positive numbers, but got call_seconds={call_seconds}, "
            f"bytes_per_second={bytes_per_second}, size={size}, pieces={pieces}."
        )
    every = np.unique(np.geomspace(1, 10_000, 60).astype(int))
    way = size / bytes_per_second
    return TransferCost(size, pieces, pieces * call_seconds, way, every, every * call_seconds + way)


def render(result: TransferCost) -> str:
    """Return the picture of `result`."""
    figure, axes = figures.new(height=3.0)
    axes.plot(result.all_pieces, result.all_seconds, color=figures.YOURS)
    axes.axhline(result.way, color=figures.THIRD, linestyle="--", label="the trip alone · 只算傳輸")
    axes.plot(
        [result.pieces],
        [result.calls + result.way],
        "o",
        color=figures.RECORDED,
        markersize=11,
        label="your cut · 你的切法",
    )
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, "s")
    axes.set_xlabel("pieces · 份數")
    axes.set_ylabel("time · 時間")
    axes.legend()
    total = measured(figures.duration(result.calls + result.way))
    share = measured(f"{result.share:.0%}")
    size = figures.amount(result.size)
    caption = Bilingual(
        f"{size} in {result.pieces} calls: {total}. {share} of it is the price of the calls.",
        f"{size} 分 {result.pieces} 次搬，要 {total}，其中 {share} 花在呼叫本身。",
    )
    alternative = Bilingual(
        "Time of a transfer over the number of pieces: flat at first, then proportional to the number of calls.",
        "搬移時間對份數的曲線：一開始持平，之後與呼叫次數成正比。",
    )
    return figures.Picture(figure, caption, alternative).html()


def explorer(call_seconds: float, bytes_per_second: float) -> Explorer:
    """Return the explorer for the two measured numbers (see :func:`compute`)."""
    return Explorer(
        title=Bilingual("What does this transfer cost?", "這趟搬移要花多少時間？"),
        controls=(
            Control(
                "size",
                Bilingual("total bytes", "總位元組數"),
                [
                    (figures.amount(b), b)
                    for b in (4_000, 40_000, 400_000, 4_000_000, 40_000_000, 400_000_000)
                ],
                "4 MB",
            ),
            Control(
                "pieces",
                Bilingual("cut into pieces", "切成幾份"),
                [(str(n), n) for n in (1, 3, 10, 30, 100, 300, 1000, 3000)],
                "1000",
            ),
        ),
        compute=lambda **choices: compute(call_seconds, bytes_per_second, **choices),
        render=render,
    )
