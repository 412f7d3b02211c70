"""The exercises of lesson 04: real code on the streams of the lesson's GPU."""

from typing import Any


def unchanged(answer: Any, given: Any) -> bool:
    """Return whether `answer` is still the function that the lesson gives, compared by its bytecode."""
    return getattr(getattr(answer, "__code__", None), "co_code", None) == given.__code__.co_code
