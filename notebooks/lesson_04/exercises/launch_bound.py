"""Exercise ``done_after(n, launch, work) -> float``: when are n kernels done, if each must be launched first?"""

from typing import Any

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.exercise_hints import WHAT
from course_utils.exercises import Mistakes
from course_utils.returned import number
from shared import timeline
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


def judge(answer: Any) -> Mistakes:
    """Compare with the right number of seconds, and look for typical wrong formulas."""
    for n, launch, work in CASES:
        got, right = number(answer(n, launch, work), WHAT["seconds"]), done_after(n, launch, work)
        if _same(got, right):
            continue
        seen = {"n": n, "launch": _us(launch), "work": _us(work), "right": _us(right), "got": _us(got)}
        yield _same(got, n * (launch + work)), "sum"
        yield _same(got, n * max(launch, work)), "no_ends"
        yield _same(got, launch + n * work), "gpu_bound", seen
        yield True, "other", seen


def show(answer: Any) -> figures.Picture:
    """Draw six kernels that are longer than a launch, and six that are shorter, with the answer's moment."""
    cases = ((6, 1e-5, 2.5e-5), (6, 1e-5, 4e-6))
    labels = {"host": Bilingual("host", "主機"), "GPU": "GPU"}
    figure, parts = timeline.panels([2, 2])
    for axes, case in zip(parts, cases, strict=True):
        plan, given = schedule(*case), answer(*case)
        given = float(given) if isinstance(given, (int, float)) else 0.0
        until = max(plan.seconds(), min(given, 3 * plan.seconds()))
        timeline.draw(axes, plan, lanes=("host", "GPU"), labels=labels, until=until)
        axes.axvline(given, color=figures.RECORDED, linestyle="--", zorder=8)
    return figures.Picture(figure, **texts(__file__))
