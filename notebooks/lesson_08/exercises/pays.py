"""Exercise ``steps_to_pay(compiling, before, after) -> steps``, all in seconds, the latter two for a step."""

import math
from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistake, Mistakes
from course_utils.returned import number


def judge(answer: Any) -> Mistakes:
    """Compare the steps, which may be rounded; then look at compiling that never pays."""
    for compiling, before, after in ((50.0, 0.030, 0.020), (12.0, 0.004, 0.001), (3.0, 0.5, 0.25)):
        got, right = number(answer(compiling, before, after)), compiling / (before - after)
        if abs(got - right) <= 1 + 1e-6 * right:
            continue
        yield abs(got - compiling / before) <= 1, "whole_step"
        seen = {"compiling": compiling, "before": before, "after": after, "right": right, "got": got}
        yield True, "other", seen
    for before, after in ((0.020, 0.020), (0.020, 0.025)):
        try:
            got = number(answer(50.0, before, after))
        except ZeroDivisionError:
            raise Mistake("divides_by_zero", before=before, after=after) from None
        yield got != math.inf, "never", {"before": before, "after": after, "got": got}


def show(answer: Any) -> Block:
    """Return the learner's numbers of steps for compiled programs that gain more or less."""
    return facts(
        fixed={
            f"steps_to_pay(50, 0.030, {after:.3f})": f"{answer(50.0, 0.030, after):,.0f}"
            for after in (0.015, 0.025, 0.029, 0.03)
        }
    )
