"""The live view of lesson 08 in a real JupyterLab: its button and the interrupt work while the cell runs."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.browser.promises import CHOICES, small_notebook, wait_until
from tools.labpage import Lab, NotebookPage

pytestmark = pytest.mark.browser

NAME, SCRIPT = "live.ipynb", "made_up_run.py"
SETUP = 'from course_utils import setup\nfrom lesson_08.live_run import watch_run\n\nsetup("08")'
# 20,000 steps: nobody waits so long, so a run that ends was stopped.
START = 'run = await watch_run("made_up_run.py", "{folder}", 20000, 0.05, "{end}")'


@pytest.fixture(scope="module")
def page(lab: Lab, chromium: Any) -> Iterator[NotebookPage]:
    shutil.copy(Path(__file__).parents[1] / "lessons" / SCRIPT, lab.notebooks)
    cells = [SETUP, START.format(folder="a", end="well"), "print(run.state, run.folder)"]
    cells.append(START.format(folder="c", end="deaf"))
    small_notebook(lab.notebooks / NAME, *cells)
    with lab.open_notebook(chromium, NAME, width=1024) as opened:
        assert opened.run_cell(1)
        yield opened
    lab.shut_kernels_down()


def start(page: NotebookPage, index: int) -> Any:
    """Run a cell without waiting for its end, until its panel shows that the training goes on."""
    page.select(index)
    page.start("notebook:run-cell")
    cell = page.cell(index)
    cell.locator("svg polyline").first.wait_for()
    return cell


def ranks() -> list[int]:
    """Return the processes that run the script."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        found += [process.pid] * any(SCRIPT in word for word in process.info["cmdline"] or ())
    return found


def interrupt(page: NotebookPage) -> None:
    page.page.evaluate("() => window.course.widget().context.sessionContext.session.kernel.interrupt()")


def text_of(page: NotebookPage, index: int) -> str:
    return page.cell(index).locator(".jp-OutputArea").inner_text()


def test_the_button_stops_a_run_while_its_cell_runs(page: NotebookPage, lab: Lab) -> None:
    cell = start(page, 2)
    for choice in CHOICES:
        page.switch_language(choice)
        assert cell.locator("button:visible").count() == 1
    assert page.overflow() == []
    cell.locator("button:visible").click()
    cell.locator(".course-notyet").wait_for()
    assert page.run_cell(3)
    assert "stopped a" in text_of(page, 3)
    assert (lab.notebooks / "a" / "checkpoint.pt").exists()
    assert cell.locator("button").count() == 0
    assert "--resume a" in text_of(page, 2)
    wait_until(lambda: ranks() == [], "the ranks to end")
    assert page.page_errors == []


@pytest.mark.nightly
def test_an_interrupt_stops_it_too_and_the_second_one_kills_it(page: NotebookPage) -> None:
    """The script of this cell does not heed the file `stop`."""
    cell = start(page, 4)
    interrupt(page)
    wait_until(
        lambda: "stopping" in cell.locator(".course-verdict").first.inner_text(), "the panel to say so"
    )
    assert len(ranks()) >= 2
    interrupt(page)
    cell.locator(".course-notyet").wait_for()
    wait_until(lambda: ranks() == [], "the ranks to be killed")
    # The traceback comes after the panel's last state.
    wait_until(lambda: "KeyboardInterrupt" in text_of(page, 4), "the traceback")


@pytest.mark.nightly
def test_nothing_survives_the_kernel(page: NotebookPage, lab: Lab) -> None:
    shutil.rmtree(lab.notebooks / "a")
    assert page.run_cell(1)
    start(page, 2)
    assert len(ranks()) >= 2
    lab.shut_kernels_down()
    wait_until(lambda: ranks() == [], "the ranks to end with their kernel")
