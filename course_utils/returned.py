"""What a learner's function returned, or was filled in: the value, if it is of the kind that the exercise asks for.

For the judges of exercises. Each function raises :class:`~course_utils.exercises.Mistake` for another kind of thing;
the texts are in ``exercise_hints.toml``.
"""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import torch

from bilingual import Bilingual
from course_utils.exercise_hints import WHAT
from course_utils.exercises import Mistake, NotYet


def _found(got: Any, kinds: type | tuple[type, ...], key: str, what: Bilingual | None) -> Any:
    if got is None:
        raise Mistake("returned_none")
    if isinstance(got, bool) or not isinstance(got, kinds):
        raise Mistake(key, what=what, kind=type(got).__name__)
    return got


def number(got: Any, what: Bilingual = WHAT["number"]) -> float:
    """Return `got` if it is a number.

    Args:
        got: What the learner's function returned.
        what: What it should return, for the hint.

    Raises:
        Mistake: ``returned_none`` or ``no_number``.
    """
    return _found(got, Real, "no_number", what)


def whole(got: Any) -> int:
    """Return `got` if it is a whole number.

    Args:
        got: What the learner's function returned.

    Raises:
        Mistake: ``returned_none`` or ``no_number``.
    """
    return _found(got, Integral, "no_number", WHAT["whole"])


def tensor(got: Any) -> torch.Tensor:
    """Return `got` if it is a tensor.

    Args:
        got: What the learner's function returned.

    Raises:
        Mistake: ``returned_none`` or ``no_tensor``.
    """
    return _found(got, torch.Tensor, "no_tensor", WHAT["tensor"])


def whole_numbers(got: Any) -> list[int]:
    """Return `got` as a list, if it is whole numbers: a list, tuple or range, or a tensor with one dimension.

    Args:
        got: What the learner's function returned.

    Raises:
        Mistake: ``returned_none`` or ``no_whole_numbers``.
    """
    found = got.tolist() if isinstance(got, torch.Tensor) else got
    found = _found(found, (list, tuple, range), "no_whole_numbers", None)
    if not all(type(each) is int for each in found):
        raise Mistake("no_whole_numbers", kind=type(got).__name__)
    return list(found)


def filled_in(answer: Any, keys: Collection[str]) -> dict[str, Any]:
    """Return the learner's value for each of `keys`, of an exercise that is a dictionary to fill in.

    Args:
        answer: What the learner passed to ``check``.
        keys: The lines of the lesson's dictionary, in their order.

    Raises:
        NotYet: Nothing is filled in: every value is still ``...``.
        Mistake: ``no_dictionary``, ``line_missing`` or ``line_empty``.
    """
    if not isinstance(answer, dict):
        raise Mistake("no_dictionary", kind=type(answer).__name__)
    if missing := [key for key in keys if key not in answer]:
        raise Mistake("line_missing", key=missing[0])
    empty = [key for key in keys if answer[key] is ...]
    if len(empty) == len(keys):
        raise NotYet
    if empty:
        raise Mistake("line_empty", key=empty[0])
    return {key: answer[key] for key in keys}


def close(got: float, expected: float) -> bool:
    """Return whether two numbers are the same up to rounding."""
    return abs(got - expected) <= 1e-6 * max(1.0, abs(expected))
