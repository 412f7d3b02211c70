"""Exercises whose answer is a function that returns a tensor."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from bilingual import Bilingual
from course_utils.exercises import NO_RETURN, Wrong

TENSOR = Bilingual("a tensor", "張量")


def tensor(got: Any, what: Bilingual = TENSOR) -> Tensor:
    """Return what the answer returned, if it is a tensor.

    Args:
        got: What it returned.
        what: What it should return, for the hint.

    Raises:
        Wrong: It is none.
    """
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, Tensor):
        raise Wrong(
            en=f"Return {what.en}; yours is a `{type(got).__name__}`.",
            zh=f"請傳回{what.zh}，你傳回的是 `{type(got).__name__}`。",
        )
    return got
