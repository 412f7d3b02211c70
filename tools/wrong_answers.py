"""Typical wrong answers to the exercises: each is examined in the tests, and the instructors' edition shows some."""

from collections.abc import Mapping
from functools import cache
from textwrap import indent
from typing import Any

from bilingual import toml_of
from course_utils import lesson
from course_utils.exercises import exercises_of


@cache
def _of_lesson(number: str) -> dict[str, Any]:
    return toml_of(lesson.notebooks() / lesson.room(number) / "wrong_answers.toml")


@cache
def wrong_answers(number: str, name: str) -> dict[str, tuple[str, ...]]:
    """Return the sources of wrong answers to an exercise by mistake, as the top of ``wrong_answers.toml`` describes them.

    Args:
        number: The lesson, two digits.
        name: The exercise.
    """
    given = dict(_of_lesson(number)[name])
    # An exercise whose answer is a script has it with its judge.
    start = given.pop("start", getattr(exercises_of(number)[name].judge, "solution", ""))

    def source(answer: str | Mapping[str, str]) -> str:
        if isinstance(answer, str):
            body = "..." in start and start.splitlines()[0] not in answer
            return start.replace("...", indent(answer, "    ").lstrip()) if body else answer
        changed = start
        for old, new in answer.items():
            assert old in changed, f"wrong_answers.toml: there is no {old!r} in\n{changed}"
            changed = changed.replace(old, new)
        return changed

    several = {key: made if isinstance(made, list) else [made] for key, made in given.items()}
    return {key: tuple(map(source, answers)) for key, answers in several.items()}
