"""The list of planted faults: each can still be planted, and what is to catch it is still there (nightly, all are planted)."""

import os
from typing import Any
from unittest.mock import patch

import pytest

from tools.mutants import MUTANTS, ROOT, SECTION, place
from tools.notebook_file import lessons


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["id"])
def test_the_text_of_a_fault_is_found_once_and_what_is_to_catch_it_is_there(mutant: dict[str, Any]) -> None:
    place(mutant["needle"])
    assert mutant["needle"] != mutant["replacement"]
    for test in mutant["tests"]:
        if found := SECTION.fullmatch(test):
            assert found[1].zfill(2) in lessons()
        else:
            file, _, function = test.partition("[")[0].partition("::")
            assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")


def test_the_cases_that_are_to_catch_a_fault_are_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Collected in this process, which has imported PyTorch and most of the tests already."""
    named = sorted({test for mutant in MUTANTS for test in mutant["tests"] if "[" in test})
    monkeypatch.chdir(ROOT)
    with patch.dict(os.environ):  # the run sets variables of its own
        status = pytest.main(["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", *named])
    assert status == pytest.ExitCode.OK, "".join(capsys.readouterr())


def test_each_fault_has_a_name_of_its_own() -> None:
    assert len({mutant["id"] for mutant in MUTANTS}) == len(MUTANTS) >= 60


@pytest.mark.parametrize("needle, times", [("a text that is nowhere", 0), ("import torch", 100)])
def test_a_text_that_is_not_found_once_is_refused(needle: str, times: int) -> None:
    needle = needle.replace("a text", "a  text")  # this file does not count, but be sure
    with pytest.raises(ValueError, match=f"found {times}" if not times else r"found \d{3,} times"):
        place(needle)
