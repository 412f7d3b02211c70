"""The efficiency of data-parallel training, from work, message size, link and overlap.

Model: every process computes for `work` seconds per step; then (or meanwhile) all of them sum S bytes of gradients by a
ring all-reduce, which takes

    2 (N - 1) · latency + 2 (N - 1) / N · S / bandwidth

(Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH", without their
third term, the additions; ring: Patarasuk and Yuan 2009). A share of the work, at most the backward pass, can hide it.
The batch per process stays the same, so N processes do N times as much (weak scaling):

    efficiency = work / (work + communication that is not hidden)

Left out: processes and links that differ, and waiting for the slowest; that the first bucket of gradients is ready only
after a part of the backward pass, and the last one at its end; processes that share the cores of one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from course_utils import figures
from course_utils.explorer import Control, Explorer
from course_utils.units import number
from torch_doctor.bilingual import Bilingual, measured

MEASURED = "(measured)"
GOOD = 0.9  # efficiency
PROCESSES = tuple(2**k for k in range(1, 11))
WORKS = np.logspace(-3.5, 0.5, 81)  # seconds per step, for the curve


@dataclass(frozen=True)
class Link:
    """What one message costs between two processes: a fixed time, and a time per byte.

    Attributes:
        latency: Seconds per message.
        bandwidth: Bytes per second.
        measured: Whether one of the two was measured on this machine.
    """

    latency: float
    bandwidth: float
    measured: bool = False

    def all_reduce(self, processes: int, size: float) -> tuple[float, float]:
        """Return the seconds of a ring all-reduce: latency of its messages, and transfer of its bytes.

        Args:
            processes: N, from 1 on.
            size: Bytes of each process, S.
        """
        messages = 2 * (processes - 1)
        return messages * self.latency, messages / processes * size / self.bandwidth


@dataclass(frozen=True)
class Scaling:
    """Data-parallel training with N processes.

    Attributes:
        processes: N.
        work: Seconds of computation per step, the same for any N.
        size: Bytes of gradients, S.
        overlap: Share of the work behind which communication can hide, 0 to 1.
        link: What a message costs.
        points: Measured (seconds of work, efficiency) with two processes, to draw beside the curve.
    """

    processes: int
    work: float
    size: float
    overlap: float
    link: Link
    points: tuple[tuple[float, float], ...] = ()

    @property
    def communication(self) -> float:
        """Seconds that one all-reduce takes."""
        return sum(self.link.all_reduce(self.processes, self.size))

    @property
    def hidden(self) -> float:
        """Seconds of communication that overlap with work."""
        return min(self.communication, self.overlap * self.work)

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return self.work + max(0.0, self.communication - self.overlap * self.work)

    @property
    def efficiency(self) -> float:
        """Share of a step that is work, 0 to 1: throughput divided by N times that of one process."""
        return self.work / self.step

    @property
    def speed_up(self) -> float:
        """Throughput divided by that of one process."""
        return self.processes * self.efficiency

    @property
    def needed(self) -> float:
        """Least seconds of work per step with which the efficiency is :data:`GOOD`."""
        # work / (work + c - overlap · work) = g, solved for the work
        return self.communication / (1 / GOOD - 1 + self.overlap)


def compute(
    measured_link: tuple[float, float] | None = None,
    points: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    processes: int,
    work: float,
    size: float,
    bandwidth: float | None,
    latency: float | None,
    overlap: float,
) -> Scaling:
    """Return how data-parallel training scales.

    Args:
        measured_link: Measured seconds per message and bytes per second, for None in `latency` and `bandwidth`.
        points: Measured seconds of work per step (one process alone), and the efficiencies with two processes.
        processes: N.
        work: Seconds of computation per step.
        size: Bytes of gradients.
        bandwidth: Bytes per second of a link; None for the measured one.
        latency: Seconds per message; None for the measured one.
        overlap: Share of the work behind which communication can hide, 0 to 1.

    Raises:
        ValueError: A number is out of range, or a measured value is chosen without `measured_link`.
    """
    if None in (bandwidth, latency) and measured_link is None:
        raise ValueError("compute() needs measured_link=(seconds per message, bytes per second) for that.")
    mine = measured_link or (0.0, 0.0)
    link = Link(
        mine[0] if latency is None else latency,
        mine[1] if bandwidth is None else bandwidth,
        None in (bandwidth, latency),
    )
    if min(processes, work, size, link.bandwidth) <= 0 or link.latency < 0 or not 0 <= overlap <= 1:
        raise ValueError(
            f"needs positive numbers and an overlap from 0 to 1, but got processes={processes}, work={work}, "
            f"size={size}, bandwidth={link.bandwidth}, latency={link.latency}, overlap={overlap}."
        )
    xs, ys = points or ((), ())
    if len(xs) != len(ys) or any(value <= 0 for value in (*xs, *ys)):
        raise ValueError(
            f"points are two lists of positive numbers, seconds of work and efficiencies, but got {list(xs)} and {list(ys)}."
        )
    return Scaling(processes, work, size, overlap, link, tuple(zip(xs, ys, strict=True)))


def _with(result: Scaling, **changes: Any) -> Scaling:
    return replace(result, points=(), **changes)


def _draw_work(axes: Any, result: Scaling) -> None:
    percent = [100 * _with(result, work=float(work)).efficiency for work in WORKS]
    axes.plot(WORKS, percent, color=figures.YOURS, label=f"model · 模型 N = {result.processes}")
    if result.points:
        xs, ys = zip(*result.points, strict=True)
        axes.plot(xs, [100 * y for y in ys], "o", color=figures.THIRD, label="measured · 實測 N = 2")
    axes.plot([result.work], [100 * result.efficiency], "o", color=figures.RECORDED, markersize=11, zorder=5)
    axes.axhline(100 * GOOD, color=figures.GREY, linestyle="--", linewidth=1.2)
    figures.logarithmic(axes.xaxis, "s")
    axes.set_ylim(0, max(105, 5 + max((100 * y for _, y in result.points), default=0)))
    axes.set_xlabel("work per step · 每一步的運算")
    axes.set_title("efficiency % · 效率 %")
    axes.legend(loc="lower right", fontsize=9)


def _draw_processes(axes: Any, result: Scaling) -> None:
    many = (1, *PROCESSES)
    axes.plot(many, many, color=figures.GREY, linestyle="--", linewidth=1.2, label="ideal · 理想")
    axes.plot(
        many, [_with(result, processes=n).speed_up for n in many], color=figures.YOURS, label="model · 模型"
    )
    axes.plot([result.processes], [result.speed_up], "o", color=figures.RECORDED, markersize=11, zorder=5)
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis)
    axes.set_xlabel("processes N · 行程數 N")
    axes.set_title("speed-up · 加速比")
    axes.legend(loc="upper left", fontsize=9)


def caption(result: Scaling) -> Bilingual:
    """Return the result in words; with a measured link, all values that follow from it are marked as measured."""
    messages, transfer = result.link.all_reduce(result.processes, result.size)

    def marked(text: str) -> str:
        return measured(text) if result.link.measured else text

    def time(seconds: float) -> str:
        return marked(figures.duration(seconds) if seconds else "0 s")

    share, gain = marked(f"{result.efficiency:.0%}"), marked(number(result.speed_up))
    size, work = figures.amount(result.size), figures.duration(result.work)
    overlap = f"{result.overlap:.0%}"
    if result.overlap:
        hides = Bilingual(
            f"{overlap} of the work can go on meanwhile and hides {time(result.hidden)} of it, so that",
            f"運算有 {overlap} 可以同時進行，藏得住通訊的 {time(result.hidden)}，所以",
        )
    else:
        hides = Bilingual("Nothing can hide it, so that", "通訊時什麼都不能算，所以")
    return Bilingual(
        f"{result.processes} processes, {size} of gradients, {work} of work in each step: an all-reduce takes "
        f"{time(result.communication)} ({time(messages)} for its messages, {time(transfer)} for its bytes). {hides.en} a step "
        f"takes {time(result.step)}. Efficiency {share}: as fast as {gain} processes that never wait. For {GOOD:.0%}, a step "
        f"needs at least {time(result.needed)} of work.",
        f"{result.processes} 個行程、梯度 {size}、每一步運算 {work}：一次全歸約要 {time(result.communication)}"
        f"（訊息的延遲 {time(messages)}，傳輸 {time(transfer)}）。{hides.zh}一步要 {time(result.step)}。"
        f"效率 {share}，相當於 {gain} 個從不等待的行程。要達到 {GOOD:.0%}，每一步至少要運算 {time(result.needed)}。",
    )


ALTERNATIVE = Bilingual(
    "Two curves: the efficiency rises with the work per step, and the speed-up falls behind the ideal line as "
    "processes are added.",
    "兩條曲線：每一步的運算越多，效率越高；行程越多，加速比落後理想值越多。",
)


def render(result: Scaling) -> figures.Picture:
    """Return the picture of `result`."""
    figure, (left, right) = figures.new(height=3.5, columns=2)
    _draw_work(left, result)
    _draw_processes(right, result)
    return figures.Picture(figure, caption(result), ALTERNATIVE)


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"link": (2e-5, 5e9), "points": ([1e-3, 1e-2], [0.5, 0.9]), "size": 1_000_000}


def explorer(
    link: tuple[float, float] | None = None,
    points: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    size: int | None = None,
) -> Explorer:
    """Return the explorer, with values that were measured on this machine if there are any.

    Args:
        link: a (seconds) and B (bytes per second) of t = a + 2 (N - 1) / N · S / B, fitted with two processes.
        points: Seconds of work per step, and the efficiencies with two processes.
        size: Bytes of gradients in those measurements.
    """
    sizes = sorted(
        {250_000, 47_000_000, 102_000_000, 440_000_000, 1_400_000_000} | ({size} if size else set())
    )
    mine = [(MEASURED, None)] if link else []
    # With two processes, an all-reduce is two messages, one after the other.
    message = (link[0] / 2, link[1]) if link else None
    return Explorer(
        title=Bilingual("Do more processes help?", "多幾個行程，有沒有用？"),
        controls=(
            Control(
                "processes",
                Bilingual("processes N", "幾個行程（N）"),
                [(str(n), n) for n in PROCESSES],
                "2" if link or points else "8",
            ),
            Control(
                "work",
                Bilingual("work of a process in each step", "每個行程每一步的運算"),
                [(figures.duration(s), s) for s in (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)],
                "10 ms",
            ),
            Control(
                "size",
                Bilingual("bytes of gradients S", "梯度的位元組數（S）"),
                [(figures.amount(s), s) for s in sizes],
                figures.amount(size or 102_000_000),
            ),
            Control(
                "bandwidth",
                Bilingual("bandwidth of a link", "連線的頻寬"),
                [*mine, *((f"{b / 1e9:g} GB/s", b) for b in (1e9, 12.5e9, 50e9, 400e9))],
                MEASURED if link else "12.5 GB/s",
            ),
            Control(
                "latency",
                Bilingual("latency of a message", "每則訊息的延遲"),
                [*mine, *((figures.duration(s), s) for s in (5e-6, 50e-6, 500e-6))],
                MEASURED if link else "50 µs",
            ),
            Control(
                "overlap",
                Bilingual("part of the work that can hide it", "可以邊算邊傳的部分"),
                [(f"{s:.0%}", s) for s in (0.0, 1 / 3, 2 / 3)],  # a backward pass is two thirds of the work
                "0%" if link else "67%",
            ),
        ),
        compute=lambda **choices: compute(message, points, **choices),
        render=render,
    )
