"""On a stand-in for a machine with CUDA the lessons do what they do without one, and the stand-in is like CUDA."""

import shutil
import sys
from pathlib import Path

import pytest
from tabled import tabled

from course_utils import run_fresh
from tools.cuda_standin.__main__ import LESSONS, Report, kernel_environment, run
from tools.cuda_standin.driver import build
from tools.cuda_standin.profiles import SOUND
from tools.notebook_file import lessons

pytestmark = [
    pytest.mark.nightly,  # to compile it takes twenty seconds
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("g++") is None, reason="the stand-in is for Linux with g++"
    ),
]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("cuda_standin"))


def unexplained(report: Report) -> list[str]:
    return [f"{finding.kind} {finding.where}: {finding.what}" for finding in report.unexplained()]


def lesson(number: str, profile: str, library: Path, cells: str) -> Report:
    """Execute some cells of a lesson; every id must be there."""
    report = run(lessons()[number], profile, library, only=cells.split())
    assert report.cells >= len(cells.split())
    return report


# --- the stand-in -------------------------------------------------------------------------------------


@tabled
def test_the_stand_in_is_like_cuda(what: str, code: str, library: Path, tmp_path: Path) -> None:
    # Without the interpreter's own end: it would stop the threads of autograd's engine inside of C++, which may abort.
    code += "\nimport os\nos._exit(0)"
    run_fresh(code, seconds=400, **kernel_environment("h100", library, tmp_path))


# --- the lessons --------------------------------------------------------------------------------------


def test_a_device_that_computes_wrongly_is_not_usable(library: Path) -> None:
    cells = "setup there-functions usable-proof"
    assert unexplained(lesson("01", "h100", library, cells)) == []
    (found,) = lesson("01", "broken", library, cells).findings
    assert found.where == "usable-proof" and "False" in found.what


def test_streams_are_in_order(library: Path) -> None:
    cells = "setup streams-race streams-wait streams-claim early-claim overlap-build overlap-parts overlap-measure overlap-streams prefetch-on-gpu"
    report = lesson("04", "h100", library, cells)
    assert unexplained(report) == []
    assert "race" in [finding.kind for finding in report.findings]  # the one that the lesson shows
    assert {"4.13", "4.4", "4.16"} <= set(report.claims)


@pytest.mark.parametrize("profile", SOUND)
@pytest.mark.parametrize("number", LESSONS)
def test_a_lesson_on_a_machine_with_cuda(number: str, profile: str, library: Path) -> None:
    assert unexplained(run(lessons()[number], profile, library)) == []
