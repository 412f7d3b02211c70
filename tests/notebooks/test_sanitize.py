"""The sanitize file replaces what differs between runs, and nothing else."""

import re
from pathlib import Path

from nbval.plugin import get_sanitize_patterns
from tabled import tabled, tables

from tools.sanitized import sanitized

FILE = Path(__file__).parents[1] / "sanitize.cfg"
TEXT = FILE.read_text(encoding="ascii")  # nbval reads it in the platform's encoding
PAIRS = get_sanitize_patterns(TEXT)


def test_every_pair_is_parsed() -> None:
    assert len(PAIRS) == len(re.findall("^regex:", TEXT, re.M)) == len(re.findall("^replace:", TEXT, re.M))
    assert len(dict(PAIRS)) == len(PAIRS), "two pairs have the same regex"


@tabled
def test_what_differs_is_replaced(one: str, other: str) -> None:
    assert one != other
    assert one != sanitized(one) == sanitized(other)


@tabled
def test_what_is_a_fact_stays(text: str) -> None:
    assert sanitized(text) == text


def test_every_regex_is_used() -> None:
    for pattern, _ in PAIRS:
        assert any(
            re.search(pattern, one) for one, _ in tables("test_sanitize")["test_what_differs_is_replaced"]
        ), pattern


def test_the_device_list_is_closed() -> None:
    assert sanitized("x on practice:1") != sanitized("x on practice:0") != sanitized("x on cpu")


@tabled
def test_what_is_between_two_marks_is_compared(text: str) -> None:
    assert sanitized(text.format("a fact")) != sanitized(text.format("another fact"))
