"""Why do two streams overlap, or not? Sixteen equal kernels, launched by one thread of the host, in turns.

Model: each launch keeps the host busy for a while, and a kernel can start when its launch is over. Within a stream,
kernels run in order. The GPU runs a kernel as soon as the share of the GPU that it needs is free.

It is a simplification. A real GPU gives out blocks of threads, so that a kernel which does not fit as a whole starts
with a part; kernels side by side slow each other down through memory and caches; and a launch takes some
microseconds to arrive.
"""

from dataclasses import dataclass

from bilingual import Bilingual
from course_utils import figures
from course_utils.explorer import Control, Explorer
from shared import timeline
from shared.timeline import Span, Timeline

KERNELS = 16


@dataclass(frozen=True)
class Overlap:
    """What happens with the chosen number of streams, and how long it takes with one and with two.

    Attributes:
        share: Per cent of the GPU that a kernel needs.
        streams: The chosen number.
        plan: Spans in the lanes ``host``, ``stream 1`` and ``stream 2``.
        one: Seconds until all kernels are done, on one stream.
        two: The same on two streams.
        reason: What decides: ``"launches"``, ``"GPU full"`` or ``"overlaps"``.
    """

    share: int
    streams: int
    plan: Timeline
    one: float
    two: float
    reason: str

    @property
    def gain(self) -> float:
        """How many times faster two streams are than one."""
        return self.one / self.two


def schedule(share: int, duration: float, launch: float, streams: int) -> list[Span]:
    """Return when each kernel is launched and when it runs.

    Args:
        share: Per cent of the GPU that a kernel needs.
        duration: Seconds that it runs.
        launch: Seconds that a launch keeps the host busy.
        streams: The kernels go to so many streams in turns.
    """
    host = [Span("host", f"launch {k}", k * launch, (k + 1) * launch) for k in range(KERNELS)]
    running: list[Span] = []
    for kernel in range(KERNELS):
        lane = f"stream {kernel % streams + 1}"
        before = [span.end for span in running if span.lane == lane]
        ready = max([host[kernel].end, *before])
        # All kernels are alike and were launched in order, so none can overtake: it starts when there is room.
        start = next(
            moment
            for moment in sorted({ready, *(span.end for span in running if span.end > ready)})
            if (sum(span.start <= moment < span.end for span in running) + 1) * share <= 100
        )
        running.append(Span(lane, f"work {kernel}", start, start + duration))
    return host + running


def compute(*, share: int, duration: float, launch: float, streams: int) -> Overlap:
    """Return what the choices lead to.

    Args:
        share: Per cent of the GPU that a kernel needs, 1 to 100.
        duration: Seconds that a kernel runs.
        launch: Seconds that a launch keeps the host busy.
        streams: 1 or 2.

    Raises:
        ValueError: A number is out of range.
    """
    if not 0 < share <= 100 or duration <= 0 or launch <= 0 or streams not in (1, 2):
        raise ValueError(
            f"needs a share of 1 to 100 per cent, positive times and 1 or 2 streams, but got share={share}, "
            f"duration={duration}, launch={launch}, streams={streams}."
        )
    plans = {n: Timeline(schedule(share, duration, launch, n)) for n in (1, 2)}
    if duration <= launch:
        reason = "launches"  # a kernel is over before the next one is there, on whatever stream
    elif 2 * share > 100:
        reason = "GPU full"
    else:
        reason = "overlaps"
    return Overlap(share, streams, plans[streams], plans[1].seconds(), plans[2].seconds(), reason)


_REASONS = {
    "launches": Bilingual(
        "The launches decide: a kernel is over before the host has launched the next one.",
        "時間由啟動決定，因為主機還沒啟動下一個 kernel，前一個就已經做完了。",
    ),
    "GPU full": Bilingual(
        "The GPU is full: there is no room for a second kernel beside the first.",
        "GPU 已經滿了，一個 kernel 在執行的時候，放不下第二個。",
    ),
    "overlaps": Bilingual(
        "They overlap: there is room for both, and the host launches faster than they run.",
        "兩條串流可以重疊，因為 GPU 放得下兩個 kernel，主機啟動的速度也趕得上。",
    ),
}


def render(result: Overlap) -> figures.Picture:
    """Return the picture of `result`."""
    figure, (axes,) = timeline.panels([3])
    timeline.draw(
        axes,
        result.plan,
        lanes=("host", "stream 1", "stream 2"),
        labels={
            "host": Bilingual("host", "主機"),
            "stream 1": Bilingual("stream 1", "串流 1"),
            "stream 2": Bilingual("stream 2", "串流 2"),
        },
        shade=("stream 1", "stream 2") if result.streams == 2 else (),
        until=result.one,
    )
    one, two, reason = figures.duration(result.one), figures.duration(result.two), _REASONS[result.reason]
    caption = Bilingual(
        f"Kernels of {result.share}% of the GPU. One stream: {one}; two streams: {two}, a speed-up of {result.gain:.2f}. {reason.en}",
        f"每個 kernel 占用 GPU 的 {result.share}%。一條串流要 {one}，兩條要 {two}，加速比 {result.gain:.2f}。{reason.zh}",
    )
    alternative = Bilingual(
        "Timeline with three rows, the launches of the host and the kernels of two streams.",
        "時間軸，分成三列，畫出主機的啟動和兩條串流的 kernel。",
    )
    return figures.Picture(figure, caption, alternative)


EXPLORER = Explorer(
    title=Bilingual("Do two streams overlap?", "兩條串流會不會重疊？"),
    controls=(
        Control(
            "share",
            Bilingual("share of the GPU that one kernel needs", "一個 kernel 占用多少 GPU"),
            [(f"{p}%", p) for p in (5, 25, 50, 100)],
            "25%",
        ),
        Control(
            "duration",
            Bilingual("one kernel runs", "一個 kernel 執行多久"),
            [("2 µs", 2e-6), ("20 µs", 20e-6), ("200 µs", 200e-6), ("2 ms", 2e-3)],
            "20 µs",
        ),
        Control(
            "launch",
            Bilingual("one launch costs", "啟動一次要多久"),
            [("4 µs", 4e-6), ("10 µs", 10e-6)],
            "4 µs",
        ),
        Control("streams", Bilingual("streams", "幾條串流"), [("1", 1), ("2", 2)], "2"),
    ),
    compute=compute,
    render=render,
)
