"""By day a sample, at night the whole: no case is in neither."""

import importlib
import re
from pathlib import Path

import pytest
from published import PUBLISHED
from room_explorers import explorers
from sample import sample

ROOT = Path(__file__).parents[2]
LESSONS = {path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
# What runs over many cases of one kind: the file, the fixture or the test, and the names of all its cases.
WHOLE = [
    ("tests.browser.test_opened_lessons", "lesson", LESSONS),
    ("tests.browser.test_run_lessons", "run", LESSONS | {"00_start_here untrained"}),
    ("tests.browser.test_present", "lesson", LESSONS),
    ("tests.browser.test_generated_notebook", "run", {"02", "all"}),
    ("test_exercises", "test_hostile_answers_are_explained", {*PUBLISHED}),
    ("test_exercises", "test_an_exercise_shows_what_the_answer_did", {*PUBLISHED}),
    ("test_exercises", "test_check_shows_the_card_and_remembers_what_is_solved", {*PUBLISHED}),
    ("test_explorers", "test_pictures_are_drawn_and_have_texts_in_both_languages", {*explorers()}),
    ("test_explorers", "test_ten_pictures_a_second", {*explorers()}),
]


@pytest.mark.parametrize(
    "module, name, cases", WHOLE, ids=lambda value: value if isinstance(value, str) else ""
)
def test_by_day_and_by_night_together_have_every_case(module: str, name: str, cases: set[str]) -> None:
    found = getattr(pytest.importorskip(module), name)
    made = (
        found._fixture_function_marker.params
        if hasattr(found, "_fixture_function_marker")
        else found.pytestmark[0].args[1]
    )
    assert {one.id for one in made} == cases and len(made) == len(cases)
    assert 0 < sum(not one.marks for one in made) < len(made)


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
