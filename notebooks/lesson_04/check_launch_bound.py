"""Exercise: when are n kernels done, if each must be launched first? Checked against a schedule."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Wrong
from shared import timeline
from shared.given_number import SECONDS, number
from shared.timeline import Span, Timeline

CASES = ((1000, 5e-6, 2e-5), (1000, 5e-6, 1e-6), (1, 5e-6, 2e-5), (40, 1e-5, 1e-5))


def schedule(n: int, launch: float, work: float) -> Timeline:
    """Return when the host launches n kernels one after the other, and when the GPU carries them out."""
    spans, free = [], 0.0
    for k in range(n):
        queued = (k + 1) * launch
        spans.append(Span("host", f"launch {k}", k * launch, queued))
        start = max(queued, free)
        free = start + work
        spans.append(Span("GPU", f"work {k}", start, free))
    return Timeline(spans)


def done_after(n: int, launch: float, work: float) -> float:
    """Return the seconds from the first launch to the end of the last kernel."""
    return launch + (n - 1) * max(launch, work) + work


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * abs(b)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:g} µs"


def examine_launch_bound(answer: Any) -> None:
    """Examine ``done_after(n, launch, work) -> float``."""
    for n, launch, work in CASES:
        got, right = answer(n, launch, work), done_after(n, launch, work)
        number(got, SECONDS)
        if _same(got, right):
            continue
        if n > 1 and _same(got, n * (launch + work)):
            raise Wrong(
                en="That is the sum, as if the host waited for every kernel. But the next launch goes on while the GPU works.",
                zh="你把時間全部加起來了，等於主機每啟動一個 kernel，都等 GPU 做完。其實 GPU 在執行的時候，主機就繼續啟動下一個了。",
            )
        if _same(got, n * max(launch, work)) and not _same(got, right):
            raise Wrong(
                en="The slower side sets the pace, that is right. But before the first kernel can start, it must be launched; "
                "and after the last launch, one kernel is still to be done.",
                zh="步調由慢的一方決定，這點沒錯。不過，第一個 kernel 要先啟動才能開始；最後一次啟動之後，也還有一個 kernel 要做。",
            )
        if _same(got, launch + n * work):
            raise Wrong(
                en=f"Right if the GPU is the slower side. With launches of {_us(launch)} and kernels of {_us(work)}, the GPU waits for "
                "every launch.",
                zh=f"GPU 較慢的時候，這樣算是對的。但啟動一次要 {_us(launch)}、kernel 只要 {_us(work)} 的話，GPU 每次都得等主機啟動。",
            )
        raise Wrong(
            en=f"For {n} kernels, {_us(launch)} per launch and {_us(work)} of work each, the last one is done after {_us(right)}; "
            f"yours says {_us(got)}. Draw it for three kernels.",
            zh=f"有 {n} 個 kernel，每次啟動要 {_us(launch)}，每個執行 {_us(work)}，最後一個應該在 {_us(right)} 的時候做完，你算出的是 {_us(got)}。先畫三個 kernel 看看。",
        )


def show_launch_bound(answer: Any) -> figures.Picture:
    """Draw six kernels that are longer than a launch, and six that are shorter, with the answer's moment."""
    cases = ((6, 1e-5, 2.5e-5), (6, 1e-5, 4e-6))
    figure, parts = timeline.panels([2, 2])
    for axes, case in zip(parts, cases, strict=True):
        plan, given = schedule(*case), answer(*case)
        given = float(given) if isinstance(given, (int, float)) else 0.0
        until = max(plan.seconds(), min(given, 3 * plan.seconds()))
        timeline.draw(
            axes,
            plan,
            lanes=("host", "GPU"),
            labels={"host": Bilingual("host", "主機"), "GPU": "GPU"},
            until=until,
        )
        axes.axvline(given, color=figures.RECORDED, linestyle="--", zorder=8)
    return figures.Picture(
        figure,
        Bilingual(
            "Six kernels that are longer than a launch, and six that are shorter. Dashed: when your function says that all is done.",
            "上圖六個 kernel 都比啟動久，下圖六個都比啟動短。虛線是你的函式算出的完成時刻。",
        ),
        Bilingual(
            "Two timelines of launches and kernels, with a dashed line at the answer's moment.",
            "兩條時間軸，畫出啟動與 kernel，虛線標出你算出的時刻。",
        ),
    )
