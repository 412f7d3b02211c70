"""By day a sample, at night the whole: no case is in neither."""

import importlib
import re
from pathlib import Path

import pytest
from published import PUBLISHED
from sample import sample

ROOT = Path(__file__).parents[2]


def test_every_wrong_answer_is_examined() -> None:
    wrong = importlib.import_module("test_exercises").WRONG
    assert len(wrong) == sum(len(entry.wrong) for entry in PUBLISHED.values()) > 600


def test_a_sample_has_every_case_and_marks_those_of_the_night() -> None:
    found = sample([("a", 1), ("b", 2), ("c", 3)], ["b"], lambda case: case[0])
    assert [(one.id, one.values) for one in found] == [("a", ("a", 1)), ("b", ("b", 2)), ("c", ("c", 3))]
    assert [[mark.name for mark in one.marks] for one in found] == [["nightly"], [], ["nightly"]]
    for day in ([], ["d"]):
        with pytest.raises(ValueError, match="by day; there are a, b"):
            sample("ab", day)


def test_the_nightly_workflow_leaves_nothing_out() -> None:
    make = re.search(r"^test-nightly:.*\n\t(.*)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert make and make[1].endswith('-m "" $(ARGS)')
    assert ".ci/run test-nightly\n" in (ROOT / ".github/workflows/nightly.yml").read_text("utf-8")
