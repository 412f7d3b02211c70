"""Exercises whose answer is a dictionary to fill in: every way of not filling it in."""

from __future__ import annotations

from typing import Any

import pytest

from course_utils.exercises import NotYet, Wrong
from shared.dictionary_answers import filled_in

KEYS = ("a + b", "a * b")


def test_values_are_returned_in_the_lessons_order() -> None:
    given = {"a * b": 0, "another": 7, "a + b": None}
    assert list(filled_in(given, KEYS).items()) == [("a + b", None), ("a * b", 0)]


@pytest.mark.parametrize("answer, words", [
    ([1, 2], "this is a `list`"), ({"a + b": 1}, "missing: `a * b`"), ({"a + b": 1, "a * b": ...}, "Not filled in yet: `a * b`"),
])  # fmt: skip
def test_the_hint_names_the_mistake(answer: Any, words: str) -> None:
    with pytest.raises(Wrong) as raised:
        filled_in(answer, KEYS)
    assert words in raised.value.hint.en and raised.value.hint.zh


def test_nothing_filled_in_is_not_yet() -> None:
    with pytest.raises(NotYet):
        filled_in(dict.fromkeys(KEYS, ...), KEYS)
