"""What an answer returned: the value of the right kind, and the key of the hint for every other."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from course_utils.exercise_hints import HINTS
from course_utils.exercises import Exercise, Mistake, NotYet, examine
from course_utils.returned import close, filled_in, number, tensor, whole, whole_numbers

KEYS = ("a + b", "a * b")


def test_what_is_asked_for_is_returned() -> None:
    ones = torch.ones(2)
    third = Fraction(1, 3)
    for read, got in (
        (number, 3),
        (number, np.float32(2.5)),
        (number, third),
        (whole, np.int64(3)),
        (tensor, ones),
    ):
        assert read(got) is got
    for got in ([0, 2], (0, 2), range(0, 3, 2), torch.tensor([0, 2])):
        assert whole_numbers(got) == [0, 2]
    given = {"a * b": 0, "another": 7, "a + b": None}
    assert list(filled_in(given, KEYS).items()) == [("a + b", None), ("a * b", 0)], "in the lesson's order"
    assert close(1 / 3, 0.33333333333) and not close(1 / 3, 0.3333) and close(1e9, 1e9 + 1)


@pytest.mark.parametrize(
    "read, got, key",
    [(read, None, "returned_none") for read in (number, whole, tensor, whole_numbers)]
    + [(number, "3", "no_number"), (number, True, "no_number"), (number, torch.ones(1), "no_number")]
    + [(whole, 3.0, "no_number"), (tensor, [1.0], "no_tensor"), (tensor, np.ones(2), "no_tensor")]
    + [
        (whole_numbers, got, "no_whole_numbers") for got in (3, [0.5], [True], torch.ones(2), torch.tensor(3))
    ],
)
def test_another_kind_has_its_hint(read: Any, got: Any, key: str) -> None:
    with pytest.raises(Mistake) as mistake:
        read(got)
    assert mistake.value.key == key
    exercise = Exercise("x", HINTS["solved"], lambda answer: iter([(read(answer()) is None, "")]))
    found = examine(exercise, lambda: got)
    assert (found.state, found.key) == ("wrong", key) and "{" not in found.message.en + found.message.zh


@pytest.mark.parametrize("answer, key, values", [
    ([1, 2], "no_dictionary", {"kind": "list"}), ({"a + b": 1}, "line_missing", {"key": "a * b"}),
    ({"a + b": 1, "a * b": ...}, "line_empty", {"key": "a * b"}), (dict.fromkeys(KEYS, ...), "not_yet", {}),
])  # fmt: skip
def test_a_dictionary_that_is_not_filled_in(answer: Any, key: str, values: dict[str, str]) -> None:
    with pytest.raises(NotYet if key == "not_yet" else Mistake) as mistake:
        filled_in(answer, KEYS)
    assert (mistake.value.key, mistake.value.values) == (key, values)
