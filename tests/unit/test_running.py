"""How the tests are started: all of them in two runs, of which both happen; a part as pytest takes it."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

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


def test_all_means_the_notebooks_alone_and_then_the_rest(runs: list[list[str]]) -> None:
    assert running.main([]) == 1, "the first run failed"
    assert [run[0] for run in runs] == ["notebooks", "tests"]
    assert not [option for option in runs[0] if "numprocesses" in option], "claims measure time"
    assert "--dist=loadfile" in runs[1]


def test_a_part_is_one_run(runs: list[list[str]]) -> None:
    assert running.main(["tests/unit", "-k", "a or b"]) == 1
    assert runs == [["tests/unit", "-k", "a or b"]]
