"""How the tests are started: all of them in two runs, of which both happen; a part as pytest takes it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lesson_cells import calls

from tools import test as running


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the runs that were made; the first of several fails."""
    made: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        made.append(command[3:])
        return SimpleNamespace(returncode=len(made) == 1)

    monkeypatch.setattr(subprocess, "run", run)
    return made


def test_all_means_what_compares_times_alone_and_then_the_rest(runs: list[list[str]]) -> None:
    assert running.main([]) == 1, "the first run failed"
    alone, rest = runs
    assert not [option for option in alone if "numprocesses" in option] and "--dist=loadfile" in rest
    (asked, left_out), (asked_then, left_out_then) = map(places, (alone, rest))
    assert "notebooks" in asked and "tests" in asked_then
    assert left_out == {name for name in asked_then if name.endswith(".ipynb")}, (
        "every notebook runs, and once"
    )
    assert left_out_then == {name for name in asked if name.endswith(".py")}, "every test runs, and once"
    assert all(Path(name).exists() for name in asked | asked_then)


def places(options: list[str]) -> tuple[set[str], set[str]]:
    """Return what a run is asked to run and what to leave out."""
    ignored = {option.removeprefix("--ignore=") for option in options if option.startswith("--ignore=")}
    return {option for option in options if not option.startswith("-")}, ignored


def test_only_lessons_that_compare_times_run_alone() -> None:
    beside = {Path(name).name[:2] for name in running.BESIDE}
    assert {Path(name).is_file() for name in running.BESIDE} == {True}
    timed = {cell.lesson for cell, _ in calls("compare", "best_time", "measure.compare", "measure.best_time")}
    assert len(timed) > 4 and not timed & beside


def test_a_lesson_in_the_browser_stays_in_one_process() -> None:
    file = "tests/browser/test_lessons.py"
    five, six, no_lesson = (
        {running.share(f"{file}::test_{name}") for name in names}
        for names in (
            ("opening[05_data_parallel]", "language[05_data_parallel-zh]", "width[1280-05_data_parallel]"),
            ("opening[06_distributed_data_parallel]", "language[06_distributed_data_parallel-zh]"),
            ("start_page", "there_are_lessons"),
        )
    )
    assert len(five) == len(six) == len(no_lesson) == len(five | six) - 1 == len(five | six | no_lesson) - 2
    other = "tests/unit/test_texts.py"
    assert {running.share(f"{other}::test_it[{name}]") for name in ("05_data_parallel", "en")} == {other}
    notebook = running.BESIDE[0]
    assert running.share(f"{notebook}::Cell 3") == notebook


def test_a_part_is_one_run(runs: list[list[str]]) -> None:
    assert running.main(["tests/unit", "-k", "a or b"]) == 1
    assert runs == [["tests/unit", "-k", "a or b"]]
