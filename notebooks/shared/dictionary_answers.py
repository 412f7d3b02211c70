"""Exercises whose answer is a dictionary to fill in: predict what each line gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from course_utils.exercises import NotYet, Wrong


def filled_in(answer: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Return the learner's value for each of `keys`.

    Args:
        answer: What the learner passed to ``check``.
        keys: The lines of the lesson's dictionary, in their order.

    Raises:
        NotYet: Nothing is filled in: every value is still ``...``.
        Wrong: `answer` is not a dictionary, a line is missing, or one is not filled in.
    """
    if not isinstance(answer, dict):
        raise Wrong(
            en=f"Keep the dictionary and fill in its values; this is a `{type(answer).__name__}`.",
            zh=f"請保留字典，填入每一項的值；你傳入的卻是 `{type(answer).__name__}`。",
        )
    values: dict[str, Any] = {}
    for key in keys:
        if key not in answer:
            raise Wrong(en=f"This line is missing: `{key}`.", zh=f"這一行不見了：`{key}`。")
        values[key] = answer[key]
    empty = [key for key, value in values.items() if value is ...]
    if len(empty) == len(values):
        raise NotYet
    if empty:
        raise Wrong(en=f"Not filled in yet: `{empty[0]}`.", zh=f"還沒填：`{empty[0]}`。")
    return values
