"""Exercises that are dictionaries to fill in: every way of not filling one in."""

from __future__ import annotations

from typing import Any

import pytest

from course_utils.exercises import NotYet, Wrong
from course_utils.exercises.dictionary import filled_in

KEYS = ("a + b", "a * b")


def test_values_come_back_in_the_lessons_order() -> None:
    given = {"a * b": 0, "another": 7, "a + b": None}
    assert list(filled_in(given, KEYS).items()) == [("a + b", None), ("a * b", 0)]


@pytest.mark.parametrize("answer, words", [
    ([1, 2], "this is a `list`"), ({"a + b": 1}, "missing: `a * b`"), ({"a + b": 1, "a * b": ...}, "Not filled in yet: `a * b`"),
])  # fmt: skip
def test_what_is_wrong_is_named(answer: Any, words: str) -> None:
    with pytest.raises(Wrong) as raised:
        filled_in(answer, KEYS)
    assert words in raised.value.hint.en and raised.value.hint.zh


def test_nothing_filled_in_is_not_yet() -> None:
    with pytest.raises(NotYet):
        filled_in(dict.fromkeys(KEYS, ...), KEYS)
