"""Exercise: how long will a run still take? From the newest line of its log."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Exercise, Wrong
from shared.given_number import SECONDS, close, number


def log(*points: tuple[int, float]) -> list[dict]:
    """Return the lines of a log from steps and seconds."""
    return [{"step": step, "epoch": 0, "seconds": seconds, "loss": 1.0} for step, seconds in points]


CASES = ((log((5, 2.0), (10, 4.0)), 100), (log((4, 8.0), (30, 60.0), (50, 90.0)), 80), (log((40, 10.0)), 40))


def examine(answer: Any) -> None:
    """Examine ``time_left(lines, steps) -> seconds``."""
    for lines, steps in CASES:
        got, last = number(answer(deepcopy(lines), steps), SECONDS), lines[-1]
        pace = last["seconds"] / last["step"]
        if not close(got, (steps - last["step"]) * pace):
            _explain(got, lines, steps, pace)


def _explain(got: float, lines: list[dict], steps: int, pace: float) -> None:
    """Raise the hint for a wrong time."""
    first, last = lines[0], lines[-1]
    if close(got, steps * pace):
        raise Wrong(
            en="That is how long the whole run takes. A part of it is over.",
            zh="這是整次訓練的時間，其中一部分已經訓練完了。",
        )
    if close(got, steps - last["step"]):
        raise Wrong(
            en="These are the steps that are left. How many seconds does one take?",
            zh="這是剩下的步數。每一步要幾秒？",
        )
    if close(got, (steps - first["step"]) * first["seconds"] / first["step"]):
        raise Wrong(
            en="You look at the first line of the log. The newest one is the last.",
            zh="你看的是紀錄的第一行，但最新的是最後一行。",
        )
    if close(got, (steps - last["step"]) / pace):
        raise Wrong(
            en="Upside down: `step / seconds` are steps per second. Asked for are seconds.",
            zh="分子和分母相反了。`step / seconds` 是每秒步數，題目要的是秒數。",
        )
    raise Wrong(
        en=f"{last['step']} of {steps} steps took {last['seconds']:g} s; your function says that {got:g} s are left.",
        zh=f"全部 {steps} 步裡，已完成的 {last['step']} 步花了 {last['seconds']:g} 秒，你的函式卻說還要 {got:g} 秒。",
    )


def shown(answer: Any) -> Block:
    """Return a table of what the answer says as a run goes on."""
    points = ((10, 4.0), (25, 10.0), (50, 24.0), (100, 50.0))
    rows = {
        Bilingual(
            f"step {step} of 100, after {seconds:g} s", f"第 {step} 步（共 100 步），已花 {seconds:g} 秒"
        ): f"{answer(log((step, seconds)), 100):.1f} s"
        for step, seconds in points
    }
    return facts(fixed=rows)


EXERCISE = Exercise(
    "time_left",
    Bilingual("how long will it take?", "還要多久？"),
    examine,
    (
        Bilingual(
            "`lines[-1]` is the newest line: so many steps took so many seconds.",
            "`lines[-1]` 是最新的一行，記著完成了幾步、花了幾秒。",
        ),
        Bilingual("Seconds per step, times the steps that are left.", "每一步的秒數，乘上剩下的步數。"),
    ),
    level="easy",
    show=shown,
)
