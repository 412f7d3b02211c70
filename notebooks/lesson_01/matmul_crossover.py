"""From which size on does the GPU win? A cost model of a GPU against the CPU's measured curve.

Model: seconds(n) = launch + 12 n² / link (if the matrices are copied there and the result back) + max(2 n³ / speed, 12 n² / memory).
The last term is the roofline (Williams et al. 2009): the slower of computing 2 n³ operations and of reading two
float32 matrices and writing one. Caches and tiling are left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilingual import measured_both, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from shared.measured_curve import loglog_interpolate

_TEXTS = texts(__file__)
MEMORY = 500e9  # bytes per second, of a mid-range card; it hardly changes the result
BYTES = 12  # per matrix element: two float32 inputs, one output
Curve = tuple[Sequence[int], Sequence[float]]  # matrix sizes, and seconds


def _ahead_from(sizes: np.ndarray, cpu: np.ndarray, gpu: np.ndarray) -> int | None:
    """Return the smallest of `sizes` from which on the seconds `gpu` stay below `cpu`, or None."""
    behind = np.flatnonzero(gpu >= cpu)
    first = 0 if behind.size == 0 else int(behind[-1]) + 1
    return int(sizes[first]) if first < len(sizes) else None


def _at(curve: Curve, sizes: np.ndarray) -> np.ndarray:
    """Return the seconds of a measured curve at `sizes`; beyond its last point they grow as n³."""
    points = (np.asarray(curve[0], float), np.asarray(curve[1], float))
    return loglog_interpolate(points, sizes, power=3)


def wins_from(cpu: Curve, gpu: Curve) -> float:
    """Return from which size on a curve of a GPU stays below a CPU's; infinity if it does not.

    Args:
        cpu: Matrix sizes (ascending) and seconds on the CPU.
        gpu: The same sizes, and seconds on the GPU.
    """
    sizes = np.unique(np.geomspace(min(cpu[0]), max(cpu[0]), 400).round().astype(int))
    found = _ahead_from(sizes, _at(cpu, sizes), _at(gpu, sizes))
    return math.inf if found is None else found


@dataclass(frozen=True)
class Crossover:
    """The curves of the CPU and of the model GPU.

    Attributes:
        cpu_points: Measured sizes and seconds.
        sizes: Matrix sizes n of both curves.
        cpu: Seconds on the CPU for each of `sizes`.
        gpu: Seconds on the model GPU for each of `sizes`.
        wins_from: Smallest of `sizes` from which on the GPU stays faster, or None.
    """

    cpu_points: Curve
    sizes: np.ndarray
    cpu: np.ndarray
    gpu: np.ndarray
    wins_from: int | None


def compute(cpu: Curve, *, launch: float, speed: float, link: float | None) -> Crossover:
    """Return both curves and where they cross.

    Args:
        cpu: Matrix sizes (ascending) and measured seconds on the CPU.
        launch: Seconds to start one operation on the GPU.
        speed: Float32 operations per second of the GPU.
        link: Bytes per second between host and GPU, or None if the matrices are on the GPU already and the result stays.
    """
    sizes = np.unique(np.geomspace(cpu[0][0], 8192, 160).astype(int))
    n = sizes.astype(float)
    copied = BYTES * n**2 / link if link else 0
    gpu = launch + copied + np.maximum(2 * n**3 / speed, BYTES * n**2 / MEMORY)
    on_cpu = _at(cpu, sizes)
    return Crossover(cpu, sizes, on_cpu, gpu, _ahead_from(sizes, on_cpu, gpu))


def render(result: Crossover) -> figures.Picture:
    """Return the picture of `result`: both curves over the matrix size, the range where the GPU wins shaded."""
    figure, axes = figures.new()
    axes.plot(result.sizes, result.cpu, color=figures.YOURS)
    axes.plot(*result.cpu_points, "o", color=figures.YOURS, label=_TEXTS["cpu"])
    axes.plot(result.sizes, result.gpu, "--", color=figures.RECORDED, label=_TEXTS["gpu"])
    if result.wins_from is not None:
        axes.axvspan(result.wins_from, result.sizes[-1], color=figures.RECORDED, alpha=0.08)
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, "s")
    axes.set_xlabel(_TEXTS["size"])
    axes.set_ylabel(_TEXTS["time"])
    axes.legend()
    first, smallest = result.wins_from, result.sizes[0]
    wins = _TEXTS["never" if first is None else "always" if first == smallest else "from"].format(n=first)
    # All of it depends on the measured curve, so all of it is marked.
    return figures.Picture(figure, measured_both(wins), _TEXTS["alternative"])


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"cpu": ([16, 64, 256, 1024], [2e-6, 1e-5, 6e-4, 4e-2])}


def explorer(cpu: Curve) -> Explorer:
    """Return the explorer for a measured CPU curve (see :func:`compute`)."""
    launches = [(f"{us} µs", us * 1e-6) for us in (2, 5, 10, 20, 50)]
    speeds = [(f"{t} TFLOP/s", t * 1e12) for t in (0.5, 2, 8, 20, 50)]
    links = [("—", None), ("6 GB/s", 6e9), ("12 GB/s", 12e9), ("25 GB/s", 25e9), ("55 GB/s", 55e9)]
    return Explorer(
        title=_TEXTS["title"],
        controls=(
            Control("launch", _TEXTS["launch"], launches, "10 µs"),
            Control("speed", _TEXTS["speed"], speeds, "8 TFLOP/s"),
            Control("link", _TEXTS["link"], links, "—"),
        ),
        compute=lambda **choices: compute(cpu, **choices),
        render=render,
    )
