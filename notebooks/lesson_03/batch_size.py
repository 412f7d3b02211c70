"""Which batch size? Throughput, latency and memory from measured points, and what a choice means for an epoch.

Model: seconds per step are interpolated linearly in log-log space; beyond the last measured batch they are proportional
to the batch, below the first one constant. bytes = fixed + per_example · batch, fitted to the measured points. Gradient
accumulation over k batches takes as long as k batches, and as much memory as one. Left out: the time of the update
itself, loading data, and what the batch size does to the training result.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilingual import Bilingual, all_of, measured_both, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from course_utils.units import number
from shared.measured_curve import loglog_interpolate

Points = tuple[Sequence[float], Sequence[float]]
_TEXTS = texts(__file__)

BATCHES = tuple(2**k for k in range(13))
KNEE = 0.8  # share of the best measured throughput


@dataclass(frozen=True)
class Memory:
    """The line bytes = fixed + per_example · batch, compared with a budget.

    Attributes:
        points: The measured batch sizes and bytes.
        fixed: Bytes that do not depend on the batch: weights, gradients, the optimizer's state.
        per_example: Bytes per example, mostly activations.
        used: Bytes at the chosen batch size.
        budget: Bytes that are available.
        largest: Largest power of two that fits, None if not even 1 does, inf if the batch costs nothing.
    """

    points: tuple[np.ndarray, np.ndarray]
    fixed: float
    per_example: float
    used: float
    budget: float
    largest: float | None

    @property
    def fits(self) -> bool:
        """Whether the chosen batch size stays within the budget."""
        return self.used <= self.budget


@dataclass(frozen=True)
class Batch:
    """What a batch size means for speed, updates and memory.

    Attributes:
        batch: Examples per step.
        accumulate: Steps whose gradients are added up before one update.
        examples: Examples per epoch.
        points: The measured batch sizes and seconds per step.
        sizes: The powers of two of the curves, :data:`BATCHES`.
        throughputs: Examples per second for each of them.
        seconds: Seconds per step at `batch`.
        knee: Smallest measured batch size that reaches 80% of the best measured throughput.
        memory: None where it was not measured.
    """

    batch: int
    accumulate: int
    examples: int
    points: tuple[np.ndarray, np.ndarray]
    sizes: np.ndarray
    throughputs: np.ndarray
    seconds: float
    knee: int
    memory: Memory | None

    @property
    def throughput(self) -> float:
        """Examples per second."""
        return self.batch / self.seconds

    @property
    def effective(self) -> int:
        """Examples per update of the weights."""
        return self.batch * self.accumulate

    @property
    def updates(self) -> int:
        """Updates of the weights per epoch; the last one may be on fewer examples."""
        return math.ceil(self.examples / self.effective)

    @property
    def epoch_seconds(self) -> float:
        """Seconds per epoch; an incomplete last batch counts as a full one."""
        return math.ceil(self.examples / self.batch) * self.seconds


def _points(points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Return `points` as arrays.

    Raises:
        ValueError: Fewer than two points, sizes that do not ascend, or a number that is not positive.
    """
    xs, ys = (np.asarray(part, float) for part in points)
    if len(xs) != len(ys) or len(xs) < 2 or xs[0] <= 0 or np.any(np.diff(xs) <= 0) or np.any(ys <= 0):
        raise ValueError(
            "batch_size needs at least two batch sizes in ascending order, and a positive number for each, "
            f"but got {list(points[0])} and {list(points[1])}."
        )
    return xs, ys


def _memory(points: tuple[np.ndarray, np.ndarray], batch: int, budget: float) -> Memory:
    """Fit the line to the measured points, and compare it with the budget (bytes)."""
    per_example, fixed = np.polyfit(*points, 1)
    # Noise can make a term of the fitted line negative, or an example cheaper than a byte.
    if per_example < 1:
        per_example, fixed = 0.0, float(points[1].mean())
    elif fixed < 0:
        per_example, fixed = float((points[0] @ points[1]) / (points[0] @ points[0])), 0.0
    room = budget - fixed
    largest: float | None = None
    if per_example == 0 and room >= 0:
        largest = math.inf
    elif per_example > 0 and room >= per_example:
        largest = 2 ** math.floor(math.log2(room / per_example))
    used = fixed + per_example * batch
    return Memory(points, float(fixed), float(per_example), float(used), budget, largest)


def compute(
    points: Points,
    bytes_points: Points | None = None,
    *,
    batch: int,
    accumulate: int,
    examples: int,
    memory: float | None = None,
) -> Batch:
    """Return what a batch size means for throughput, updates, an epoch and memory.

    Args:
        points: Batch sizes (ascending) and measured seconds of one training step.
        bytes_points: Batch sizes (ascending) and measured peak bytes, or None.
        batch: Examples per step.
        accumulate: Steps whose gradients are added up before one update.
        examples: Examples per epoch.
        memory: Bytes that are available; required if `bytes_points` is given.

    Raises:
        ValueError: Fewer than two points, sizes that do not ascend, or a number that is not positive.
    """
    times = _points(points)
    fitted = None if bytes_points is None else _memory(_points(bytes_points), batch, memory)
    sizes = np.array(BATCHES, float)
    reached = times[0] / times[1]
    knee = times[0][np.flatnonzero(reached >= KNEE * reached.max())[0]]
    return Batch(
        batch,
        accumulate,
        examples,
        times,
        sizes,
        sizes / loglog_interpolate(times, sizes, power=1),
        float(loglog_interpolate(times, np.array([float(batch)]), power=1)[0]),
        int(knee),
        fitted,
    )


def _draw(
    axes: Any, result: Batch, curve: Any, points: Any, chosen: float, title: Bilingual, unit: str
) -> None:
    """Draw a curve over the batch size with the measured `points` and the chosen one; `unit` is of the y axis."""
    axes.plot(result.sizes, curve, color=figures.YOURS)
    axes.plot(*points, "o", color=figures.YOURS, label=Bilingual("measured", "實測"))
    choice = {"color": figures.RECORDED, "markersize": 11, "label": Bilingual("chosen", "選定"), "zorder": 5}
    axes.plot([result.batch], [chosen], "o", **choice)
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, unit)
    axes.set_xlabel(Bilingual("batch size", "批次大小"))
    axes.set_title(title)


def _draw_throughput(axes: Any, result: Batch) -> None:
    """Draw examples per second over the batch size, with the knee."""
    sizes, seconds = result.points
    title = Bilingual("examples per second", "每秒筆數")
    _draw(axes, result, result.throughputs, (sizes, sizes / seconds), result.throughput, title, "/s")
    knee = f"{Bilingual('knee', '轉折點')} {result.knee}"
    axes.axvline(result.knee, color=figures.THIRD, linestyle="--", label=knee)
    axes.legend(loc="lower right", fontsize=9)


def _draw_memory(axes: Any, result: Batch, memory: Memory) -> None:
    """Draw bytes over the batch size, with the budget."""
    line = memory.fixed + memory.per_example * result.sizes
    _draw(axes, result, line, memory.points, memory.used, Bilingual("memory", "記憶體"), "B")
    budget = f"{Bilingual('budget', '上限')} {figures.amount(memory.budget)}"
    axes.axhline(memory.budget, color=figures.FOURTH, linestyle="--", label=budget)
    low, high = axes.get_ylim()
    high = max(high, memory.budget * 2)
    axes.axhspan(memory.budget, high, color=figures.FOURTH, alpha=0.15, linewidth=0)
    axes.set_ylim(low, high)
    axes.legend(loc="best", fontsize=9)


def _draw_latency(axes: Any, result: Batch) -> None:
    """Draw seconds per step over the batch size."""
    title, seconds = Bilingual("time of one step", "一步的時間"), result.sizes / result.throughputs
    _draw(axes, result, seconds, result.points, result.seconds, title, "s")
    axes.legend(loc="upper left", fontsize=9)


def _time(seconds: float) -> Bilingual:
    """Return a time in words: ``2.4 hours``, ``21.6 minutes`` or ``1.64 ms``."""
    for unit_en, unit_zh, size in (("hours", "小時", 3600), ("minutes", "分鐘", 60)):
        if seconds >= 2 * size:
            return Bilingual(f"{number(seconds / size)} {unit_en}", f"{number(seconds / size)} {unit_zh}")
    return Bilingual(figures.duration(seconds), figures.duration(seconds))


def _memory_text(memory: Memory) -> Bilingual:
    """Return whether the batch fits into memory, and the largest one that does."""
    used, budget = figures.amount(memory.used), figures.amount(memory.budget)
    first = _TEXTS["fits" if memory.fits else "fits_not"].format(used=used, budget=budget)
    if memory.largest is None:
        rest = _TEXTS["not_even_one"]
    elif math.isinf(memory.largest):
        rest = _TEXTS["any_batch"]
    else:
        rest = _TEXTS["largest"].format(largest=f"{memory.largest:,}")
    return all_of(first, rest)


def render(result: Batch) -> figures.Picture:
    """Return the picture of `result`: throughput on the left, memory (or the time of a step) on the right."""
    figure, axes = figures.new(height=3.5, columns=2)
    _draw_throughput(axes[0], result)
    if result.memory is None:
        _draw_latency(axes[1], result)
    else:
        _draw_memory(axes[1], result, result.memory)
    step, epoch = figures.duration(result.seconds), _time(result.epoch_seconds)
    knee = "last_knee" if result.knee == result.points[0][-1] else "knee"
    sentences = [
        _TEXTS["step"].format(step=step, speed=number(result.throughput), epoch=epoch),
        _TEXTS[knee].format(knee=result.knee, share=f"{KNEE:.0%}"),
    ]
    if result.memory is not None:
        sentences.append(_memory_text(result.memory))
    many = f"{result.batch} × {result.accumulate} = {result.effective:,}"
    first, rest = _TEXTS["updates"].format(many=many, updates=f"{result.updates:,}"), all_of(*sentences)
    caption = all_of(first, measured_both(rest))
    other = _TEXTS["other_memory" if result.memory is not None else "other_step"]
    return figures.Picture(figure, caption, _TEXTS["alternative"].format(other=other))


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"points": ([1, 16, 256], [1e-3, 1.2e-3, 4e-3]), "bytes_points": ([16, 256], [1e6, 3e6])}


def explorer(points: Points, bytes_points: Points | None = None) -> Explorer:
    """Return the explorer for what was measured (see :func:`compute`)."""
    controls = [
        Control("batch", _TEXTS["batch"], [(str(b), b) for b in BATCHES], "64"),
        Control("accumulate", _TEXTS["accumulate"], [(str(n), n) for n in (1, 2, 4, 8)], "1"),
        Control("examples", _TEXTS["examples"], [(f"{n:,}", n) for n in (1_437, 50_000, 1_281_167)], "1,437"),
    ]
    if bytes_points is not None:
        budgets = (1e6, 5e6, 10e6, 50e6, 100e6, 1e9, 8e9, 24e9, 80e9)
        options = [(figures.amount(b), b) for b in budgets]
        controls.append(Control("memory", _TEXTS["memory"], options, "100 MB"))
    return Explorer(
        title=_TEXTS["title"],
        controls=tuple(controls),
        compute=lambda **choices: compute(points, bytes_points, **choices),
        render=render,
    )
