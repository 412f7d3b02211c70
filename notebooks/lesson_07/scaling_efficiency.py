"""The efficiency of data-parallel training, from work, message size, link and overlap.

Model: every process computes for `work` seconds per step; then (or meanwhile) all of them sum S bytes of gradients by an
all-reduce, which takes

    a + 2 (N - 1) / N · S / bandwidth

(ring: Patarasuk and Yuan 2009). The price a of a call is the same for any N: most of it is what the call itself costs, and
NCCL goes through trees or the switch, not round the ring, where messages are small. A share of the work, at most the
backward pass, can hide the communication.
The batch per process stays the same, so N processes do N times as much (weak scaling):

    efficiency = work / (work + communication that is not hidden)

Left out: processes and links that differ, and waiting for the slowest; that the first bucket of gradients is ready only
after a part of the backward pass, and the last one at its end; processes that share the cores of one machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bilingual import Bilingual, measured, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from course_utils.units import number

_TEXTS = texts(__file__)
MEASURED = _TEXTS["measured"]
BANDWIDTHS = (
    ("1 GB/s", 1e9),
    ("12.5 GB/s (100 Gb/s)", 12.5e9),
    ("50 GB/s", 50e9),
    ("64 GB/s (PCIe 5)", 64e9),
    ("450 GB/s (NVLink 4)", 450e9),
)
GOOD = 0.9  # efficiency
PROCESSES = tuple(2**k for k in range(1, 11))
WORKS = np.logspace(-3.5, 0.5, 81)  # seconds per step, for the curve


@dataclass(frozen=True)
class Link:
    """What an all-reduce costs: a fixed time for the call, and a time per byte.

    Attributes:
        call: Seconds per call, a.
        bandwidth: Bytes per second.
        measured: Whether one of the two was measured on this machine.
    """

    call: float
    bandwidth: float
    measured: bool = False

    def all_reduce(self, processes: int, size: float) -> tuple[float, float]:
        """Return the seconds of an all-reduce: the price of the call, and the transfer of its bytes.

        Args:
            processes: N, from 1 on.
            size: Bytes of each process, S.
        """
        if processes == 1:
            return 0.0, 0.0
        return self.call, 2 * (processes - 1) / processes * size / self.bandwidth


@dataclass(frozen=True)
class Scaling:
    """Data-parallel training with N processes.

    Attributes:
        processes: N.
        work: Seconds of computation per step, the same for any N.
        size: Bytes of gradients, S.
        overlap: Share of the work behind which communication can hide, 0 to 1.
        link: What an all-reduce costs.
        points: Measured (seconds of work, efficiency), to draw beside the curve.
        measured: With how many processes these were measured.
    """

    processes: int
    work: float
    size: float
    overlap: float
    link: Link
    points: tuple[tuple[float, float], ...] = ()
    measured: int = 2

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
    call: float | None,
    overlap: float,
    ranks: int = 2,
) -> Scaling:
    """Return how data-parallel training scales.

    Args:
        measured_link: Measured seconds per call and bytes per second, for None in `call` and `bandwidth`.
        points: Measured seconds of work per step (without communication), and the efficiencies.
        processes: N.
        work: Seconds of computation per step.
        size: Bytes of gradients.
        bandwidth: Bytes per second of a link; None for the measured one.
        call: Seconds per call; None for the measured one.
        overlap: Share of the work behind which communication can hide, 0 to 1.
        ranks: With how many processes the points were measured.
    """
    mine = measured_link or (0.0, 0.0)
    link = Link(
        mine[0] if call is None else call,
        mine[1] if bandwidth is None else bandwidth,
        None in (bandwidth, call),
    )
    return Scaling(processes, work, size, overlap, link, tuple(zip(*points or ((), ()), strict=True)), ranks)


def _draw_work(axes: Any, result: Scaling) -> None:
    percent = [100 * replace(result, work=float(work)).efficiency for work in WORKS]
    axes.plot(
        WORKS, percent, color=figures.YOURS, label=f"{Bilingual('model', '模型')} N = {result.processes}"
    )
    if result.points:
        xs, ys = zip(*result.points, strict=True)
        axes.plot(
            xs,
            [100 * y for y in ys],
            "o",
            color=figures.THIRD,
            label=f"{Bilingual('measured', '實測')} N = {result.measured}",
        )
    axes.plot([result.work], [100 * result.efficiency], "o", color=figures.RECORDED, markersize=11, zorder=5)
    axes.axhline(100 * GOOD, color=figures.GREY, linestyle="--", linewidth=1.2)
    figures.logarithmic(axes.xaxis, "s")
    axes.set_ylim(0, max(105, 5 + max((100 * y for _, y in result.points), default=0)))
    axes.set_xlabel(Bilingual("work per step", "每一步的運算"))
    axes.set_title(Bilingual("efficiency %", "效率 %"))
    axes.legend(loc="lower right", fontsize=9)


def _draw_processes(axes: Any, result: Scaling) -> None:
    many = (1, *PROCESSES)
    axes.plot(many, many, color=figures.GREY, linestyle="--", linewidth=1.2, label=Bilingual("ideal", "理想"))
    axes.plot(
        many,
        [replace(result, processes=n).speed_up for n in many],
        color=figures.YOURS,
        label=Bilingual("model", "模型"),
    )
    axes.plot([result.processes], [result.speed_up], "o", color=figures.RECORDED, markersize=11, zorder=5)
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis)
    axes.set_xlabel(Bilingual("processes N", "行程數 N"))
    axes.set_title(Bilingual("speed-up", "加速比"))
    axes.legend(loc="upper left", fontsize=9)


def caption(result: Scaling) -> Bilingual:
    """Return the result in words; with a measured link, all values that follow from it are marked as measured."""
    call, transfer = result.link.all_reduce(result.processes, result.size)

    def marked(text: str) -> str:
        return measured(text) if result.link.measured else text

    def time(seconds: float) -> str:
        return marked(figures.duration(seconds) if seconds else "0 s")

    overlap = f"{result.overlap:.0%}"
    hides = _TEXTS["hides" if result.overlap else "hides_nothing"]
    return _TEXTS["caption"].format(
        processes=result.processes,
        size=figures.amount(result.size),
        work=figures.duration(result.work),
        communication=time(result.communication),
        call=time(call),
        transfer=time(transfer),
        hides=hides.format(overlap=overlap, hidden=time(result.hidden)),
        step=time(result.step),
        share=marked(f"{result.efficiency:.0%}"),
        gain=marked(number(result.speed_up)),
        good=f"{GOOD:.0%}",
        needed=time(result.needed),
    )


def render(result: Scaling) -> figures.Picture:
    """Return the picture of `result`."""
    figure, (left, right) = figures.new(height=3.5, columns=2)
    _draw_work(left, result)
    _draw_processes(right, result)
    return figures.Picture(figure, caption(result), _TEXTS["alternative"])


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"link": (2e-5, 5e9), "points": ([1e-3, 1e-2], [0.5, 0.9]), "size": 1_000_000}


def explorer(
    link: tuple[float, float] | None = None,
    points: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    size: int | None = None,
    ranks: int = 2,
) -> Explorer:
    """Return the explorer, with values that were measured on this machine if there are any.

    Args:
        link: a (seconds) and B (bytes per second) of t = a + 2 (N - 1) / N · S / B, measured here.
        points: Seconds of work per step, and the efficiencies.
        size: Bytes of gradients in those measurements.
        ranks: How many processes measured.
    """
    sizes = sorted(
        {250_000, 47_000_000, 102_000_000, 440_000_000, 1_400_000_000} | ({size} if size else set())
    )
    mine = [(MEASURED, None)] if link else []
    work = [(figures.duration(s), s) for s in (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)]
    calls = [*mine, *((figures.duration(s), s) for s in (20e-6, 100e-6, 1e-3))]
    shares = [(f"{s:.0%}", s) for s in (0.0, 1 / 3, 2 / 3)]  # a backward pass is two thirds of the work
    start = {  # what is chosen at first
        "processes": "2" if link or points else "8",
        "size": figures.amount(size or 102_000_000),
        "bandwidth": MEASURED.en if link else BANDWIDTHS[1][0],
        "call": MEASURED.en if link else "20 µs",
        "overlap": "0%" if link else "67%",
    }
    return Explorer(
        title=_TEXTS["title"],
        controls=(
            Control("processes", _TEXTS["processes"], [(str(n), n) for n in PROCESSES], start["processes"]),
            Control("work", _TEXTS["work"], work, "10 ms"),
            Control("size", _TEXTS["size"], [(figures.amount(s), s) for s in sizes], start["size"]),
            Control("bandwidth", _TEXTS["bandwidth"], [*mine, *BANDWIDTHS], start["bandwidth"]),
            Control("call", _TEXTS["call"], calls, start["call"]),
            Control("overlap", _TEXTS["overlap"], shares, start["overlap"]),
        ),
        compute=lambda **choices: compute(link, points, **choices, ranks=ranks),
        render=render,
    )
