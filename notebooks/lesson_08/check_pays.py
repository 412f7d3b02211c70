"""Exercise: after how many steps compiling has paid for itself."""

from __future__ import annotations

import math
from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.given_number import number

CASES = ((50.0, 0.030, 0.020), (12.0, 0.004, 0.001), (3.0, 0.5, 0.25))
NEVER = ((50.0, 0.020, 0.020), (50.0, 0.020, 0.025))


def examine_pays(answer: Any) -> None:
    """Examine ``steps_to_pay(compiling, before, after)`` in seconds, the latter two for a step; `float('inf')`: never."""
    for compiling, before, after in CASES:
        got, right = number(answer(compiling, before, after)), compiling / (before - after)
        if abs(got - right) <= 1 + 1e-6 * right:
            continue
        if abs(got - compiling / before) <= 1:
            raise Wrong(
                en="You divide by the whole step. A step earns only what it has become shorter by.",
                zh="你拿整個一步的時間去除了。每一步賺回來的，只有縮短的那一段。",
            )
        raise Wrong(
            en=f"Compiling takes {compiling:g} s, a step {before:g} s before and {after:g} s after: it has paid after {right:,.0f} steps, you "
            f"say {got:,.6g}.",
            zh=f"編譯要 {compiling:g} 秒，每一步從 {before:g} 秒變成 {after:g} 秒，應該在 {right:,.0f} 步之後回本，你的答案是 {got:,.6g}。",
        )
    for compiling, before, after in NEVER:
        try:
            got = number(answer(compiling, before, after))
        except ZeroDivisionError:
            got = math.nan
        if got != math.inf:
            raise Wrong(
                en=f"A step of {before:g} s takes {after:g} s after compiling: it never pays, so return `float('inf')`; yours gives "
                f"{'a division by zero' if math.isnan(got) else f'{got:,.6g}'}.",
                zh=f"一步原本要 {before:g} 秒，編譯後要 {after:g} 秒，永遠不會回本，請傳回 `float('inf')`；你的程式"
                f"{'除以零了' if math.isnan(got) else f'傳回 {got:,.6g}'}。",
            )


def show_pays(answer: Any) -> Block:
    """Return the learner's numbers of steps for compiled programs that gain more or less."""
    return facts(
        fixed={
            f"steps_to_pay(50, 0.030, {after:.3f})": f"{answer(50.0, 0.030, after):,.0f}"
            for after in (0.015, 0.025, 0.029, 0.03)
        }
    )
