"""A lesson, at night every lesson, as it is stored: opened in JupyterLab, untrusted and trusted; only its setup cell is run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from sample import lessons

from tests.browser.promises import CHOICES, LESSONS, NARROW, assert_language, assert_no_raw_markup
from tools.labpage import Lab, NotebookPage

pytestmark = pytest.mark.browser

SWITCHING_MS = 100


@dataclass
class Opened:
    """A lesson that is open, trusted, with its language switch."""

    cells: list[Any]  # as they are stored
    page: NotebookPage
    untrusted: dict[str, Any]  # what the page showed on first opening


@pytest.fixture(scope="module", params=lessons(LESSONS, "00"))
def lesson(request: pytest.FixtureRequest, lab: Lab, chromium: Any) -> Iterator[Opened]:
    path: Path = request.param
    cells = nbformat.read(lab.notebooks / path.name, as_version=4).cells
    with lab.open_notebook(chromium, path.name, width=NARROW) as page:
        page.settle()
        untrusted = page.page.evaluate("() => window.course.first_look()")
        untrusted |= {"widgets": page.widgets(), "overflow": page.overflow()}
        page.trust()
        assert page.run_cell(next(i for i, cell in enumerate(cells) if cell.cell_type == "code"))
        yield Opened(cells, page, untrusted)
    lab.shut_kernels_down()


def test_first_opening(lesson: Opened) -> None:
    """A student who has just cloned the course sees every stored picture and no trace of a missing widget."""
    stored = [
        output["data"]
        for cell in lesson.cells
        for output in cell.get("outputs", [])
        if output["output_type"] in ("display_data", "execute_result")
    ]
    seen = lesson.untrusted
    assert seen["trusted"] is False, "the notebook was trusted, so this test shows nothing"
    assert seen["widgets"] == {"count": 0, "failed": []}
    assert not re.search(r"(Error displaying|Error creating|Loading) widget", seen["text"])
    images = sum(str(data.get("text/html", "")).count("<img") for data in stored)
    images += sum(any(kind.startswith("image/") for kind in data) for data in stored)
    assert len(seen["images"]) == images, "the sanitizer dropped a stored picture"
    assert all(image["width"] > 0 for image in seen["images"]), "a stored picture is broken"
    # The box of a finished launch is empty.
    pages = [str(data.get("text/html", "")) for data in stored]
    assert seen["html_outputs"] == sum(
        bool(re.sub("<[^>]*>", "", page).strip() or "<img" in page) for page in pages
    )
    assert seen["overflow"] == []


def test_setup(lesson: Opened) -> None:
    """The setup cell shows the language switch and the machine badge, and the page has no error."""
    assert lesson.page.errors() == []
    assert lesson.page.page_errors == []
    assert lesson.page.console_errors == []
    assert lesson.page.widgets() == {"count": 1, "failed": []}
    assert lesson.page.language_buttons().count() == 3


def test_no_raw_markup(lesson: Opened) -> None:
    assert_no_raw_markup(lesson.page)


@pytest.mark.parametrize("choice", CHOICES)
def test_language_and_layout(lesson: Opened, choice: str) -> None:
    assert_language(lesson.page, choice)


def test_switching_is_quick(lesson: Opened) -> None:
    times: list[float] = []
    while len(times) < 60 and (not times or min(times) >= SWITCHING_MS):
        clicks = lesson.page.page.evaluate("() => window.course.switching_times(1)")
        assert None not in clicks, "a click on the switch changed nothing within five seconds"
        times += clicks
    assert min(times) < SWITCHING_MS  # other work on the machine can only add to the time
