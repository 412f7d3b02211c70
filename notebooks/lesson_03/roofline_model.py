"""Is an operation bound by memory or by arithmetic? A roofline for a chosen operation and machine.

Model (Williams, Waterman, Patterson 2009, "Roofline: An Insightful Visual Performance Model"): an operation that does
I = FLOP / byte cannot run faster than min(peak, I · bandwidth). Each operand is counted once, as if caches were
perfect; the cost of a launch is left out. So the model gives a bound, not a forecast.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual, all_of, measured_both, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from course_utils.units import number
from shared.gpu_ratings import ratings

_TEXTS = texts(__file__)
MEASURED = _TEXTS["measured"].en
BATCHES = tuple(2**k for k in range(14))
BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class Operation:
    """How much an operation on a batch computes and moves; the batch has B rows of w numbers.

    Attributes:
        flops: (B, w) → additions, multiplications and the like.
        elements: (B, w) → numbers read plus written.
    """

    flops: Callable[[int, int], int]
    elements: Callable[[int, int], int]


OPERATIONS = {
    "x + y": Operation(lambda b, w: b * w, lambda b, w: 3 * b * w),
    # x / 2 · (1 + erf(x / √2)): five steps per number, of which erf is one.
    "gelu(x)": Operation(lambda b, w: 5 * b * w, lambda b, w: 2 * b * w),
    "x @ w": Operation(lambda b, w: 2 * b * w * w, lambda b, w: w * w + 2 * b * w),
}


@dataclass(frozen=True)
class Roofline:
    """Position of an operation under the roofline of a machine.

    Attributes:
        machine: ``(measured)`` or the name of a GPU.
        operation: A key of :data:`OPERATIONS`.
        batch: Rows.
        width: Numbers per row.
        dtype: Their type.
        peak: The machine's FLOP/s.
        assumed: Whether `peak` was measured for float32 and is only assumed to hold for `dtype`.
        bandwidth: The machine's bytes per second, read plus written.
    """

    machine: str
    operation: str
    batch: int
    width: int
    dtype: str
    peak: float
    assumed: bool
    bandwidth: float

    def work(self, rows: int) -> tuple[int, int]:
        """Return floating-point operations and bytes (read plus written, each operand once) for a batch of `rows`."""
        kind = OPERATIONS[self.operation]
        return kind.flops(rows, self.width), BYTES[self.dtype] * kind.elements(rows, self.width)

    @property
    def flops(self) -> int:
        """Floating-point operations."""
        return self.work(self.batch)[0]

    @property
    def bytes(self) -> int:
        """Bytes read plus written, each operand once."""
        return self.work(self.batch)[1]

    @property
    def intensity(self) -> float:
        """FLOP per byte moved."""
        return self.flops / self.bytes

    @property
    def ridge(self) -> float:
        """FLOP per byte from which on arithmetic is the limit."""
        return self.peak / self.bandwidth

    @property
    def attainable(self) -> float:
        """FLOP/s that the roofline allows."""
        return min(self.peak, self.intensity * self.bandwidth)

    @property
    def sweep(self) -> tuple[tuple[float, float], ...]:
        """(FLOP/byte, attainable FLOP/s) for every batch in :data:`BATCHES`."""
        intensities = [flops / size for flops, size in map(self.work, BATCHES)]
        return tuple((x, min(self.peak, x * self.bandwidth)) for x in intensities)

    @property
    def compute_bound_from(self) -> int | None:
        """Smallest batch that reaches the peak, or None if no batch does.

        For ``x @ w``, 2·B·w² / (s·(w² + 2·B·w)) ≥ ridge is solved for the batch B; s is the bytes per number. For large
        batches the left side approaches w / s. The intensity of the other operations does not depend on the batch.
        """
        if self.operation != "x @ w":
            return 1 if self.intensity >= self.ridge else None
        size = BYTES[self.dtype]
        room = 2 * (self.width - size * self.ridge)
        return math.ceil(size * self.ridge * self.width / room) if room > 0 else None

    @property
    def share(self) -> float:
        """Share of the peak, 0 to 1."""
        return self.attainable / self.peak

    @property
    def bound(self) -> str:
        """``"memory"`` or ``"compute"``."""
        return "memory" if self.intensity < self.ridge else "compute"

    @property
    def seconds(self) -> float:
        """Seconds that the operation takes at least."""
        return self.flops / self.attainable


def compute(
    flops: float,
    bandwidth: float,
    *,
    machine: str,
    operation: str,
    batch: int,
    width: int,
    dtype: str,
    half: float | None = None,
) -> Roofline:
    """Return the position of an operation under the roofline of a machine.

    Args:
        flops: This machine's measured float32 operations per second.
        bandwidth: This machine's measured bytes per second, read plus written.
        machine: :data:`MEASURED`, or a GPU of ``gpu_ratings.toml``, which stands for its published figures (for
            bfloat16 those of half precision, which is float16 on cards without bfloat16).
        operation: A key of :data:`OPERATIONS`.
        batch: Rows of the batch, B.
        width: Numbers per row, w; a linear layer has w · w weights.
        dtype: ``"float32"`` or ``"bfloat16"``.
        half: This machine's measured half-precision operations per second; None: assumed to be as many as in float32.
    """
    single, assumed = dtype == "float32", False
    if machine != MEASURED:
        rated = ratings()[machine]
        peak, bandwidth = rated["single" if single else "half"], rated["bandwidth"]
    elif single or half is None:
        peak, assumed = flops, not single
    else:
        peak = half
    return Roofline(machine, operation, batch, width, dtype, peak, assumed, bandwidth)


def _draw(axes: Any, result: Roofline) -> None:
    """Draw the roofline, the points of all batch sizes, and the chosen one."""
    low, high = 1 / 32, 8192.0
    peak = result.peak
    corner = min(max(result.ridge, low), high)
    xs = [low, corner, high]  # the corners; straight lines on log-log axes
    roof = [min(peak, x * result.bandwidth) for x in xs]
    source = (
        Bilingual("measured", "實測") if result.machine == MEASURED else Bilingual("published", "公開規格")
    )
    axes.plot(xs, roof, color=figures.YOURS, label=f"{Bilingual('roof', '上限')} ({source})")
    axes.plot(
        *zip(*result.sweep, strict=True),
        "o",
        color=figures.PALE,
        markeredgecolor="#445",
        markeredgewidth=0.6,
        markersize=5,
        label=f"{Bilingual('batch size', '批次大小')} {BATCHES[0]} … {BATCHES[-1]}",
    )
    axes.plot(
        [result.intensity],
        [result.attainable],
        "o",
        color=figures.RECORDED,
        markersize=11,
        label=f"{Bilingual('batch size', '批次大小')} {result.batch}",
    )
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, "FLOP/s")
    axes.set_xlim(low, high)
    axes.set_ylim(roof[0] / 1.5, roof[-1] * 8)
    note = {"fontsize": 10, "color": figures.YOURS, "va": "bottom"}
    axes.text(low * 1.2, roof[0] * 9, f"{number(result.bandwidth / 1e9)} GB/s", ha="left", **note)
    axes.text(high / 1.2, peak * 1.3, figures.quantity(peak, "FLOP/s"), ha="right", **note)
    axes.axvline(result.ridge, color="#445", linestyle=":", linewidth=1.2)
    ridge = f" {Bilingual('ridge', '交會點')} {result.ridge:.3g} FLOP/B "
    side = "right" if result.ridge > 8 else "left"  # where there is room for it
    axes.text(result.ridge, peak * 2.4, ridge, ha=side, **note | {"color": "#445"})
    axes.set_xlabel(f"{Bilingual('operations per byte', '每位元組的運算量')} (FLOP/B)")
    axes.set_ylabel(Bilingual("at best", "最高速度"))
    axes.legend(loc="lower right", fontsize=10)


def _verdict(result: Roofline) -> Bilingual:
    """Return which limit applies to the chosen point, and how fast it can be."""
    first = result.compute_bound_from
    return _TEXTS[result.bound].format(
        rate=figures.quantity(result.attainable, "FLOP/s"),
        time=figures.duration(result.seconds),
        share=f"{result.share:.1%}",
        first=first,
        never=_TEXTS["never"] if first is None else _TEXTS["later"].format(first=first),
    )


def render(result: Roofline) -> figures.Picture:
    """Return the picture of `result`: the roofline with the chosen operation."""
    figure, axes = figures.new(height=3.7)
    _draw(axes, result)
    work = f"{figures.quantity(result.flops, 'FLOP')} / {figures.amount(result.bytes)} = {result.intensity:.3g} FLOP/B"
    chosen = {name: getattr(result, name) for name in ("operation", "batch", "width", "dtype")}
    first, verdict = _TEXTS["caption"].format(work=work, **chosen), _verdict(result)
    if result.machine != MEASURED:
        verdict = all_of(verdict, _TEXTS["ratings"].format(machine=result.machine))
    else:  # numbers and verdict depend on this machine, and so does whether half precision was measured
        verdict = measured_both(all_of(verdict, *[_TEXTS["assumed"]] * result.assumed))
    return figures.Picture(figure, all_of(first, verdict), _TEXTS["alternative"])


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"flops": 70e9, "bandwidth": 10e9}


def explorer(flops: float, bandwidth: float, half: float | None = None) -> Explorer:
    """Return the explorer for this machine's measured speeds (see :func:`compute`)."""
    machines = [(_TEXTS["measured"], MEASURED), *((name, name) for name in ratings())]
    return Explorer(
        title=_TEXTS["title"],
        controls=(
            Control("operation", _TEXTS["operation"], [(o, o) for o in OPERATIONS], "x @ w", slider=False),
            Control("batch", _TEXTS["batch"], [(str(b), b) for b in BATCHES], "16"),
            Control("width", _TEXTS["width"], [(str(w), w) for w in (256, 1024, 4096)], "1024"),
            Control("dtype", _TEXTS["dtype"], [(name, name) for name in BYTES], "float32", slider=False),
            Control("machine", _TEXTS["machine"], machines, MEASURED, slider=False),
        ),
        compute=lambda **choices: compute(flops, bandwidth, half=half, **choices),
        render=render,
    )
