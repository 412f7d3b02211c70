"""Exercise ``time_left(lines, steps) -> seconds``: how long a run will still take, from the newest line of its log."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercise_hints import WHAT
from course_utils.exercises import Mistakes
from course_utils.returned import close, number


def log(*points: tuple[int, float]) -> list[dict]:
    """Return the lines of a log from steps and seconds."""
    return [{"step": step, "epoch": 0, "seconds": seconds, "loss": 1.0} for step, seconds in points]


def judge(answer: Any) -> Mistakes:
    """Compare the time with other formulas."""
    for points, steps in (
        (((5, 2.0), (10, 4.0)), 100),
        (((4, 8.0), (30, 60.0), (50, 90.0)), 80),
        (((40, 10.0),), 40),
    ):
        got = number(answer(log(*points), steps), WHAT["seconds"])
        (first, early), (done, seconds) = points[0], points[-1]
        pace = seconds / done
        if close(got, (steps - done) * pace):
            continue
        yield close(got, steps * pace), "whole_run"
        yield close(got, steps - done), "steps"
        yield close(got, (steps - first) * early / first), "first_line"
        yield close(got, (steps - done) / pace), "inverse"
        yield True, "other", {"done": done, "steps": steps, "seconds": seconds, "got": got}


def show(answer: Any) -> Block:
    """Return a table of what the answer says as a run goes on."""
    points = ((10, 4.0), (25, 10.0), (50, 24.0), (100, 50.0))
    rows = {
        Bilingual(
            f"step {step} of 100, after {seconds:g} s", f"第 {step} 步（共 100 步），已花 {seconds:g} 秒"
        ): f"{answer(log((step, seconds)), 100):.1f} s"
        for step, seconds in points
    }
    return facts(fixed=rows)
