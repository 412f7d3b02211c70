"""Exercise ``seconds_per_call(action, synchronize, clock) -> float``: time work that is queued on the lesson's GPU."""

from dataclasses import replace
from typing import Any

import torch

from bilingual import texts
from course_utils import figures
from course_utils.exercise_hints import WHAT
from course_utils.exercises import Mistakes
from course_utils.lesson_gpus import ready
from course_utils.returned import number
from lesson_04 import two_times
from shared import timeline
from shared.timeline import Timeline

MILLISECOND = 1_500_000  # ticks of the GPU's clock, about


class _Timed:
    """Work of one length on the lesson's GPU; every call is logged.

    Args:
        work: Ticks that one call's work takes.
        left_over: Ticks of the work that is in the queue already.
        first: Ticks that the first call takes longer.
    """

    def __init__(self, work: int, left_over: int = 100 * MILLISECOND, first: int = 200 * MILLISECOND) -> None:
        self.gpu = torch.get_device_module(ready()[0])
        self.work, self.left_over, self.first = work, left_over, first
        self.log: list[str] = []
        self.looks: list[float] = []

    def seconds(self) -> float:
        """Return how long the GPU really takes for one call's work."""
        self.gpu.synchronize()
        start = two_times.clock()
        self.gpu._sleep(10 * self.work)
        self.gpu.synchronize()
        return (two_times.clock() - start) / 10

    def run(self, answer: Any) -> Any:
        """Return what the answer finds; the GPU is busy when it begins."""
        self.gpu.synchronize()
        self.begin = two_times.clock()
        self.gpu._sleep(self.left_over)
        return answer(self.action, self.synchronize, self.clock)

    def action(self) -> None:
        """Queue one call's work and return at once."""
        self.gpu._sleep(self.work + ("action" not in self.log) * self.first)
        self.log.append("action")

    def synchronize(self) -> None:
        """Wait until the GPU has nothing left to do."""
        self.log.append("synchronize")
        self.gpu.synchronize()

    def clock(self) -> float:
        """Return the host's time in seconds."""
        self.log.append("clock")
        self.looks.append(two_times.clock())
        return self.looks[-1]


def judge(answer: Any) -> Mistakes:
    """Look in the log for a step that is missing or in the wrong place, then at what was made of the times."""
    for length in (5 * MILLISECOND, 20 * MILLISECOND):
        timed_work = _Timed(length)
        got = number(timed_work.run(answer), WHAT["seconds"])
        work = timed_work.seconds()
        if abs(got - work) <= 0.1 * work:
            continue
        log = (
            timed_work.log
        )  # of a right answer: action, synchronize, clock, action, action, synchronize, clock
        yield "action" not in log, "no_action"
        yield "clock" not in log, "other_clock"
        begin, end = log.index("clock"), len(log) - 1 - log[::-1].index("clock")
        before, timed = log[:begin], log[begin:end]
        calls = timed.count("action")
        yield not calls, "nothing_timed"
        yield "synchronize" not in _after_last_call(timed), "not_done"
        yield "action" not in before, "first_call"
        yield "synchronize" not in _after_last_call(before), "still_busy"
        yield abs(got - work * calls) <= 0.1 * work * calls, "all_calls", {"calls": calls}
        yield abs(got - 1000 * work) <= 100 * work, "milliseconds"
        yield True, "other", {"work": work, "got": got}


def _after_last_call(log: list[str]) -> list[str]:
    return log[len(log) - log[::-1].index("action") :]


def show(answer: Any) -> figures.Picture:
    """Draw what the GPU did, where the host waited, and when the answer looked at the clock."""
    timed = _Timed(40 * MILLISECOND, left_over=60 * MILLISECOND, first=80 * MILLISECOND)
    recorded = timeline.record(lambda: timed.run(answer), warm_up=0)
    names = iter(("earlier", "first"))
    spans = [
        replace(span, name=next(names, "work")) if span.lane.startswith("GPU") else span
        for span in sorted(recorded.spans, key=lambda span: span.start)
    ]
    figure, (axes,) = timeline.panels([2])
    timeline.draw(axes, Timeline(spans[:60]))
    for look in timed.looks[:1] + timed.looks[-1:]:
        axes.axvline(float(look - timed.begin), color=figures.RECORDED, linestyle="--", zorder=8)
    return figures.Picture(figure, **texts(__file__))
