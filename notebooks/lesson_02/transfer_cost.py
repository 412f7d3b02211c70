"""What does a transfer cost, cut into pieces? Two numbers explain most of it.

Model: seconds = pieces · call_seconds + bytes / bytes_per_second. The first term is the fixed cost of the calls, the
second the time for the bytes. Both numbers are measured on the learner's machine. Left out: caches, and copies that
overlap with each other.
"""

from dataclasses import dataclass

import numpy as np

from bilingual import measured, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer

_TEXTS = texts(__file__)


@dataclass(frozen=True)
class TransferCost:
    """What a transfer costs.

    Attributes:
        size: Total bytes.
        pieces: Number of calls.
        call_seconds_total: Seconds spent on the fixed cost of all calls.
        transfer_seconds: Seconds for the bytes themselves.
    """

    size: int
    pieces: int
    call_seconds_total: float
    transfer_seconds: float

    @property
    def seconds(self) -> float:
        """Seconds in all."""
        return self.call_seconds_total + self.transfer_seconds

    @property
    def share(self) -> float:
        """Share of the time that is spent on calls, 0 to 1."""
        return self.call_seconds_total / self.seconds


def compute(call_seconds: float, bytes_per_second: float, *, size: int, pieces: int) -> TransferCost:
    """Return what moving `size` bytes in `pieces` calls costs.

    Args:
        call_seconds: Fixed cost of one call, in seconds.
        bytes_per_second: Speed of the transfer.
        size: Total bytes.
        pieces: Number of calls.
    """
    return TransferCost(size, pieces, pieces * call_seconds, size / bytes_per_second)


def render(result: TransferCost) -> figures.Picture:
    """Return the picture of `result`: time over the number of pieces, the chosen number marked."""
    figure, axes = figures.new(height=3.0)
    every = np.geomspace(1, 10_000, 60)
    one = result.call_seconds_total / result.pieces
    axes.plot(every, every * one + result.transfer_seconds, color=figures.YOURS)
    axes.axhline(result.transfer_seconds, color=figures.THIRD, linestyle="--", label=_TEXTS["trip"])
    chosen = {"color": figures.RECORDED, "markersize": 11, "label": _TEXTS["cut"]}
    axes.plot([result.pieces], [result.seconds], "o", **chosen)
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, "s")
    axes.set_xlabel(_TEXTS["axis"])
    axes.set_ylabel(_TEXTS["time"])
    axes.legend()
    caption = _TEXTS["caption"].format(
        size=figures.amount(result.size),
        pieces=result.pieces,
        total=measured(figures.duration(result.seconds)),
        share=measured(f"{result.share:.0%}"),
    )
    return figures.Picture(figure, caption, _TEXTS["alternative"])


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"call_seconds": 2e-6, "bytes_per_second": 5e9}


def explorer(call_seconds: float, bytes_per_second: float) -> Explorer:
    """Return the explorer for the two measured numbers (see :func:`compute`)."""
    sizes = [(figures.amount(b), b) for b in (4_000, 40_000, 400_000, 4_000_000, 40_000_000, 400_000_000)]
    pieces = [(str(n), n) for n in (1, 3, 10, 30, 100, 300, 1000, 3000)]
    return Explorer(
        title=_TEXTS["title"],
        controls=(
            Control("size", _TEXTS["size"], sizes, "4 MB"),
            Control("pieces", _TEXTS["pieces"], pieces, "1000"),
        ),
        compute=lambda **choices: compute(call_seconds, bytes_per_second, **choices),
        render=render,
    )
