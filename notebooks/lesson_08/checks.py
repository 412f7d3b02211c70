"""The exercises of lesson 08, in their order. No verdict needs a GPU."""

from __future__ import annotations

from course_utils.exercises import Exercise

EXERCISES: tuple[Exercise, ...] = (
    # data
    # model
    # journey
    # ranks
    # watch
    # closing
)
