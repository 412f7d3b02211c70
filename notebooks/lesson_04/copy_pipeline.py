"""Copying chunks to a device and computing on them: how much of the copying can hide behind the work?

Model: one copy engine and one compute engine, each does one thing at a time, in order. The work on a chunk needs its
copy; a copy needs a buffer, which is free again when the work on the chunk that lay in it is done. On one stream
everything is in one queue.

It is a simplification. All chunks are alike, launching costs nothing, and copy and work do not slow each other down
by sharing the memory's bandwidth. The host's memory is pinned: a pageable copy takes longer and occupies the host,
which depends on the driver and the size.
"""

from dataclasses import dataclass

from matplotlib.lines import Line2D

from bilingual import Bilingual, measured
from course_utils import figures
from course_utils.explorer import Control, Explorer
from shared import timeline
from shared.timeline import Span, Timeline


@dataclass(frozen=True)
class Pipeline:
    """The schedule, and how long it takes at worst and at best (seconds).

    Attributes:
        streams: 1 or 2.
        chunks: Number of chunks.
        buffers: How many chunks fit on the device at once.
        plan: Spans in the lanes ``copy`` and ``work``.
        alone: Seconds if nothing overlaps.
        best: Seconds with a buffer for every chunk: the busier engine never pauses, and either the first copy or
            the last work has nothing to hide behind.
    """

    streams: int
    chunks: int
    buffers: int
    plan: Timeline
    alone: float
    best: float

    @property
    def total(self) -> float:
        """Seconds from the first copy to the end of the last work."""
        return self.plan.seconds()

    @property
    def share(self) -> float:
        """Overlap as a share of the shorter engine's time, 0 to 1."""
        return self.plan.overlap_share("copy", "work")


def compute(
    copy_seconds: float, work_seconds: float, *, chunks: int, buffers: int, factor: float, streams: int
) -> Pipeline:
    """Return the schedule of `chunks` copies and the work on them.

    Args:
        copy_seconds: Seconds to copy one chunk.
        work_seconds: Seconds to work on one chunk.
        chunks: Number of chunks.
        buffers: How many chunks fit on the device at once.
        factor: The copy takes so many times as long as `copy_seconds`.
        streams: 1 (copies and work in one queue) or 2.

    Raises:
        ValueError: A time or a number is not positive, or there are other than one or two streams.
    """
    if min(copy_seconds, work_seconds, chunks, buffers, factor) <= 0:
        raise ValueError(
            f"a pipeline needs positive numbers, but got copy_seconds={copy_seconds}, work_seconds={work_seconds}, "
            f"chunks={chunks}, buffers={buffers}, factor={factor}."
        )
    if streams not in (1, 2):
        raise ValueError(f"a pipeline has 1 or 2 streams, but got {streams}.")
    copy = copy_seconds * factor
    copies: list[Span] = []
    works: list[Span] = []
    for chunk in range(chunks):
        free = [copies[-1].end] if copies else [0.0]  # the copy engine
        if streams == 1 and works:
            free.append(works[-1].end)
        if chunk >= buffers:
            free.append(works[chunk - buffers].end)
        start = max(free)
        copies.append(Span("copy", f"copy {chunk}", start, start + copy))
        start = max(copies[-1].end, works[-1].end if works else 0.0)
        works.append(Span("work", f"work {chunk}", start, start + work_seconds))
    alone = chunks * (copy + work_seconds)
    best = max(chunks * copy + work_seconds, copy + chunks * work_seconds)
    return Pipeline(streams, chunks, buffers, Timeline([*copies, *works]), alone, best)


def _reason(result: Pipeline) -> Bilingual:
    """Return what decides the total."""
    if result.streams == 1:
        return Bilingual(
            "One stream is one queue: each copy waits for the work before it.",
            "一條串流就是一個佇列，所以每次複製都要等前面的運算做完。",
        )
    if result.chunks == 1:
        return Bilingual(
            "A single chunk has nothing to overlap with.",
            "只有一份資料，沒有別份可以重疊。",
        )
    if result.buffers == 1:
        return Bilingual(
            "With one buffer the next copy has nowhere to go until the work is done.",
            "只有一塊緩衝區，所以運算做完之前，下一份資料沒有地方放。",
        )
    if result.plan.busy("copy") > result.plan.busy("work"):
        left = Bilingual("all the copies and the last piece of work", "全部的複製與最後一次運算")
    else:
        left = Bilingual("the first copy and all the work", "第一次複製與全部的運算")
    return Bilingual(
        f"What cannot be hidden is {measured(left.en)}.",
        f"藏不住的只有{measured(left.zh)}。",
    )


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def render(result: Pipeline) -> figures.Picture:
    """Return the picture of `result`."""
    figure, (axes,) = timeline.panels([2])
    best = Line2D([], [], color=figures.RECORDED, linestyle="--", label=Bilingual("at best", "最好的情況"))
    timeline.draw(
        axes,
        result.plan,
        labels={"copy": Bilingual("copy", "複製"), "work": Bilingual("work", "運算")},
        shade=("copy", "work"),
        until=result.alone,
        legend=[best],
    )
    axes.axvline(result.best, color=best.get_color(), linestyle="--", zorder=8)
    total, alone = measured(figures.duration(result.total)), measured(figures.duration(result.alone))
    best_time, share = measured(figures.duration(result.best)), measured(f"{result.share:.0%}")
    reason = _reason(result)
    caption = Bilingual(
        f"{_count(result.chunks, 'chunk')}, {_count(result.buffers, 'buffer')}: {total} in all; "
        f"without overlap {alone}, at best {best_time}. "
        f"Overlap: {share} of the shorter one's time. {reason.en}",
        f"切成 {result.chunks} 份、用 {result.buffers} 塊緩衝區，總共 {total}；完全不重疊要 {alone}，最好的情況是 {best_time}。"
        f"重疊的時間占較短一方的 {share}。{reason.zh}",
    )
    alternative = Bilingual(
        "Timeline with two rows, copy and work: a bar for each chunk.",
        "時間軸，分成複製與運算兩列，每一份各畫成一個長條。",
    )
    return figures.Picture(figure, caption, alternative)


# Made-up measurements, for tests and for pictures without a machine.
EXAMPLE = {"copy_seconds": 5e-3, "work_seconds": 4e-3}


def explorer(copy_seconds: float, work_seconds: float) -> Explorer:
    """Return the explorer for the two measured numbers (see :func:`compute`)."""
    return Explorer(
        title=Bilingual("Can the copies hide behind the work?", "複製能不能藏在運算背後？"),
        controls=(
            Control(
                "streams",
                Bilingual("streams", "幾條串流"),
                [("1", 1), ("2", 2)],
                "2",
            ),
            Control(
                "chunks",
                Bilingual("number of chunks", "切成幾份"),
                [(str(n), n) for n in (1, 2, 4, 8, 16, 32)],
                "8",
            ),
            Control(
                "buffers",
                Bilingual("buffers on the device", "裝置上有幾塊緩衝區"),
                [(str(n), n) for n in (1, 2, 3)],
                "2",
            ),
            Control(
                "factor",
                Bilingual("time of a copy", "複製一份的時間"),
                [(f"× {f:g}", f) for f in (0.25, 0.5, 1, 2, 4)],
                "× 1",
            ),
        ),
        compute=lambda **choices: compute(copy_seconds, work_seconds, **choices),
        render=render,
    )
