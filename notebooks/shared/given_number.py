"""Exercises whose answer is a function that returns a number."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from course_utils.exercises import NO_RETURN, Wrong

NUMBER, SECONDS = Bilingual("a number", "數字"), Bilingual("a number of seconds", "秒數")


def number(got: Any, what: Bilingual = NUMBER) -> float:
    """Return what the answer returned as a number.

    Args:
        got: What it returned.
        what: What it should return, for the hint.

    Raises:
        Wrong: It is none.
    """
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"The answer should be {what.en}, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是{what.zh}，你傳回的卻是 `{type(got).__name__}`。",
        )
    return got


def close(got: float, expected: float) -> bool:
    """Return whether two numbers are the same up to rounding."""
    return abs(got - expected) <= 1e-6 * max(1.0, abs(expected))
