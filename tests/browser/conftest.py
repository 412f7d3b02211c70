"""One JupyterLab and one Chromium for all browser tests of a process."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from course_utils.language import EDITIONS
from tools import labpage

pytest.register_assert_rewrite("tests.browser.promises")


def unavailable(why: str) -> NoReturn:
    """Without a browser: a visible skip for a student, a failure in CI, where these checks must run."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set, so the browser tests may not be left out: {why}", pytrace=False)
    pytest.skip(f"browser tests not run: {why}")


# Package scope, not session scope: Playwright keeps an event loop running in this thread, which disturbs other tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Return a running Chromium (Playwright's browser object)."""
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(labpage.browser())
        except labpage.Unavailable as error:
            unavailable(str(error))
        yield started


@pytest.fixture(scope="package")
def lab(chromium: Any) -> Iterator[labpage.Lab]:
    """Return a running JupyterLab over a copy of the lessons."""
    with labpage.Lab() as running:
        yield running


SOME = ("00", "05")  # lessons of the site, the second one without most of its cells


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the website with few lessons, slides of one, and a practice page with one explorer and eight pictures."""
    from tools.editions import lessons
    from tools.notebook_file import read
    from tools.site import build, course, practice

    def some_cells(path: Path) -> Any:
        notebook = read(path)
        if path.name.startswith(SOME[1]):
            summary = next(
                i for i, c in enumerate(notebook.cells) if re.match(r"## [\d.]+ Summary", c.source)
            )
            notebook.cells[25:summary] = []  # an exercise and the explorer stand before
        return notebook

    slides = tmp_path_factory.mktemp("slides")
    for name in EDITIONS:
        (slides / name).mkdir()
        (slides / name / "00_start_here.html").write_text("<!doctype html><title>slides</title>")
    folder = tmp_path_factory.mktemp("www") / "some" / "course"  # a static host may serve it below a path
    folder.parent.mkdir()
    about = practice.offered()["lesson_05.batch_split"]
    about |= {"only": {"batch": ["8", "10"], "devices": ["1", "2", "3", "4"]}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "read", some_cells)
        patch.setattr(lessons, "read", some_cells)
        patch.setattr(practice, "offered", lambda: {"lesson_05.batch_split": about})
        build.build(folder, only=SOME, slides=slides)
    return folder
