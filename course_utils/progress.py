"""Which exercises this learner has solved, remembered between notebooks and sessions."""

from __future__ import annotations

import datetime
from typing import Any

from course_utils import store


def solved(lesson: str) -> set[str]:
    """Return the names of the exercises of `lesson` that have been solved."""
    record = store.read("progress").get(lesson)
    return set(record) if isinstance(record, dict) else set()


def solve(lesson: str, name: str) -> None:
    """Remember that exercise `name` of `lesson` is solved; the first time counts."""

    def add(everything: dict[str, Any]) -> dict[str, Any]:
        record = everything.get(lesson)
        record = dict(record) if isinstance(record, dict) else {}
        record.setdefault(name, datetime.date.today().isoformat())
        return everything | {lesson: record}

    store.update("progress", add)
