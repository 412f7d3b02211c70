"""From which size on does the GPU win? A cost model of a GPU against the CPU's measured curve.

Model: seconds(n) = launch + bytes / link (if the matrices must be copied first) + max(2 n³ / speed, 12 n² / memory).
The last term is the roofline (Williams et al. 2009): the slower of computing 2 n³ operations and of reading two
float32 matrices and writing one. Caches, tiling and the copy of the result back to the host are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_utils import figures
from course_utils.explorer import Control, Explorer
from shared.measured_curve import loglog_interpolate
from torch_doctor.bilingual import Bilingual, measured

MEMORY = 500e9  # bytes per second, of a mid-range card; it hardly changes the result
BYTES = 12  # per matrix element: two float32 inputs, one output


@dataclass(frozen=True)
class Crossover:
    """The curves of the CPU and of the model GPU.

    Attributes:
        sizes: Matrix sizes n of both curves.
        cpu_points: Measured sizes and seconds.
        cpu: Seconds on the CPU for each of `sizes`.
        gpu: Seconds on the model GPU for each of `sizes`.
        wins_from: Smallest of `sizes` from which on the GPU stays faster, or None.
    """

    sizes: np.ndarray
    cpu_points: tuple[np.ndarray, np.ndarray]
    cpu: np.ndarray
    gpu: np.ndarray
    wins_from: int | None


def compute(
    cpu: tuple[Sequence[int], Sequence[float]], *, launch: float, speed: float, link: float | None
) -> Crossover:
    """Return both curves and where they cross.

    Args:
        cpu: Matrix sizes (ascending) and measured seconds on the CPU.
        launch: Seconds to start one operation on the GPU.
        speed: Float32 operations per second of the GPU.
        link: Bytes per second from the host to the GPU, or None if the matrices are on the GPU already.

    Raises:
        ValueError: Fewer than two measured sizes, or they do not ascend.
    """
    measured_sizes, seconds = np.asarray(cpu[0], float), np.asarray(cpu[1], float)
    if len(measured_sizes) < 2 or np.any(np.diff(measured_sizes) <= 0):
        raise ValueError(f"crossover needs at least two ascending sizes, but got {list(cpu[0])}.")
    sizes = np.unique(np.geomspace(measured_sizes[0], 8192, 160).astype(int))
    n = sizes.astype(float)
    # Beyond the measured points a matrix product takes time proportional to n³.
    cpu_seconds = loglog_interpolate((measured_sizes, seconds), sizes, power=3)
    gpu_seconds = launch + np.maximum(2 * n**3 / speed, BYTES * n**2 / MEMORY)
    if link is not None:
        gpu_seconds += BYTES * n**2 / link
    behind = np.flatnonzero(gpu_seconds >= cpu_seconds)
    first = 0 if behind.size == 0 else int(behind[-1]) + 1
    wins_from = int(sizes[first]) if first < len(sizes) else None
    return Crossover(sizes, (measured_sizes, seconds), cpu_seconds, gpu_seconds, wins_from)


def render(result: Crossover) -> figures.Picture:
    """Return the picture of `result`: both curves over the matrix size, the range where the GPU wins shaded."""
    figure, axes = figures.new()
    axes.plot(result.sizes, result.cpu, color=figures.YOURS)
    axes.plot(
        *result.cpu_points,
        "o",
        color=figures.YOURS,
        label="one core of your CPU, measured · 你的 CPU 單核心（實測）",
    )
    axes.plot(result.sizes, result.gpu, "--", color=figures.RECORDED, label="GPU model · GPU 模型（推算）")
    if result.wins_from is not None:
        axes.axvspan(result.wins_from, result.sizes[-1], color=figures.RECORDED, alpha=0.08)
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, "s")
    axes.set_xlabel("matrix size n · 矩陣大小 n")
    axes.set_ylabel("time · 時間")
    axes.legend()
    alternative = Bilingual(
        "Two curves of time over matrix size: one core of your CPU, measured, and a model of a GPU.",
        "時間對矩陣大小的兩條曲線：實測的 CPU 單核心，以及 GPU 的模型。",
    )
    return figures.Picture(figure, _caption(result), alternative)


def _caption(result: Crossover) -> Bilingual:
    """Return from where on the GPU wins; all of it depends on the measured curve, so all of it is marked."""
    if result.wins_from is None:
        en = "In this range the GPU never wins against one core of your CPU."
        zh = "在這個範圍內，GPU 一直贏不過你的 CPU 單核心。"
    elif result.wins_from == result.sizes[0]:
        en = "With these numbers the GPU wins at every size shown, against one core of your CPU."
        zh = "以這組數字來看，圖中每一種大小都是 GPU 贏過你的 CPU 單核心。"
    else:
        en = f"With these numbers the GPU wins from n = {result.wins_from} on (shaded), against one core of your CPU."
        zh = f"以這組數字來看，n 到 {result.wins_from} 以上，GPU 就贏過你的 CPU 單核心（有底色的範圍）。"
    return Bilingual(measured(en), measured(zh))


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"cpu": ([16, 64, 256, 1024], [2e-6, 1e-5, 6e-4, 4e-2])}


def explorer(cpu: tuple[Sequence[int], Sequence[float]]) -> Explorer:
    """Return the explorer for a measured CPU curve (see :func:`compute`)."""
    return Explorer(
        title=Bilingual("Where is the crossover? A GPU of your choice", "交叉點在哪裡？自己選一張 GPU"),
        controls=(
            Control(
                "launch",
                Bilingual("cost of one launch", "啟動一次運算的成本"),
                [(f"{us} µs", us * 1e-6) for us in (2, 5, 10, 20, 50)],
                "10 µs",
            ),
            Control(
                "speed",
                Bilingual("GPU speed (float32)", "GPU 速度（float32）"),
                [(f"{t} TFLOP/s", t * 1e12) for t in (0.5, 2, 8, 20, 50)],
                "8 TFLOP/s",
            ),
            Control(
                "link",
                Bilingual("copy the matrices first, at", "先把矩陣複製過去，速度"),
                [("—", None), ("6 GB/s", 6e9), ("12 GB/s", 12e9), ("25 GB/s", 25e9), ("55 GB/s", 55e9)],
                "—",
            ),
        ),
        compute=lambda **choices: compute(cpu, **choices),
        render=render,
    )
