"""The learner's copy in JupyterLab, and what a notebook says where a button does not answer."""

from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

from tests.browser.promises import CHOICES, small_notebook
from tools.labpage import Lab, NotebookPage
from tools.my_course.update import update

pytestmark = pytest.mark.browser

NAME = "buttons.ipynb"
SOURCES = (
    'from pathlib import Path\nimport time\nfrom course_utils import predict, setup\nfrom lesson_01 import visible_devices\nsetup("01")',
    'predict("loops")',
    'predict("available")',
    "visible_devices.EXPLORER.show()",
    'while not Path("enough").exists(): time.sleep(0.05)',
)
DEAD = 3  # two questions and an explorer

# Which notes a reader sees, by language, and the broken links that JupyterLab draws beside the parts of a dead widget.
SEEN = """kind => [...window.course.panel().querySelectorAll(`.course-${kind} > p`)]
    .filter(p => p.getBoundingClientRect().height && p.parentElement.getBoundingClientRect().height).map(p => p.lang)"""
LINKS = """() => [...window.course.panel().querySelectorAll('.jupyter-widgets-disconnected')]
    .filter(element => getComputedStyle(element, '::before').content !== 'none').length"""


@pytest.fixture(scope="module")
def window(lab: Lab, chromium: Any) -> Iterator[NotebookPage]:
    """Return a notebook with two questions and an explorer, run up to them."""
    small_notebook(lab.notebooks / NAME, *SOURCES)
    with lab.open_notebook(chromium, NAME) as page:
        for index in range(1, 5):
            assert page.run_cell(index)
        yield page
    lab.shut_kernels_down()


def seen(page: NotebookPage, kind: str) -> list[str]:
    """Return the languages of the notes of a kind ("gone" or "later") that are on the screen."""
    return page.page.evaluate(SEEN, kind)


def wait(page: NotebookPage, kind: str, count: int) -> None:
    """Wait until so many notes of a kind are on the screen."""
    page.page.wait_for_function(f"([kind, count]) => ({SEEN})(kind).length === count", arg=[kind, count])


def click(page: NotebookPage, choice: int) -> Any:
    """Click on a choice of the question `available`, and return Playwright's locator of its button."""
    button = page.cell(3).locator(".course-question .course-only-both button").nth(choice)
    button.click()
    return button


def test_a_living_button_answers_without_a_note(window: NotebookPage) -> None:
    window.switch_language("both")
    button = click(window, 0)
    window.page.wait_for_function("e => e.classList.contains('course-chosen')", arg=button.element_handle())
    window.page.wait_for_timeout(2500)  # longer than a note would wait
    assert (seen(window, "gone"), seen(window, "later")) == ([], [])


def test_a_busy_kernel_answers_later_and_the_note_says_so(window: NotebookPage) -> None:
    window.select(5)
    window.start("notebook:run-cell")
    window.page.wait_for_function(
        "() => window.course.widget().sessionContext.session.kernel.status === 'busy'"
    )
    button = click(window, 1)
    wait(window, "later", 2)
    assert seen(window, "gone") == []
    (window.lab.notebooks / "enough").touch()
    window.page.wait_for_function("e => e.classList.contains('course-chosen')", arg=button.element_handle())
    wait(window, "later", 0)


def test_a_note_says_what_to_do_when_the_kernel_was_restarted(window: NotebookPage) -> None:
    window.page.evaluate("() => window.course.widget().sessionContext.session.kernel.restart()")
    wait(window, "gone", 2 * DEAD)
    for choice in CHOICES:
        window.switch_language(choice)
        languages = {"en": ["en"], "zh": ["zh-Hant"], "both": ["en", "zh-Hant"]}[choice]
        assert seen(window, "gone") == languages * DEAD
    assert window.page.evaluate(LINKS) == 0
    assert window.overflow(1024) == []
    for index in range(1, 5):  # what the note says
        assert window.run_cell(index)
    window.switch_language("both")
    wait(window, "gone", 0)
    button = click(window, 0)
    window.page.wait_for_function("e => e.classList.contains('course-chosen')", arg=button.element_handle())


@pytest.mark.nightly
def test_a_reopened_notebook_says_what_to_do(window: NotebookPage) -> None:
    assert window.command("docmanager:save")
    window.lab.shut_kernels_down()
    window.load(window.page.url)
    window.settle()
    wait(window, "gone", 2 * DEAD)
    assert window.page.evaluate(LINKS) == 0


@pytest.mark.nightly
def test_the_copy_opens_with_nothing_run_and_runs(window: NotebookPage) -> None:
    """`make lab` opens this address; its links stay in the copy, and its cells find the course's rooms."""
    lab = window.lab
    update(lab.notebooks.parent / "my_course", lab.notebooks)
    window.load(window.page.url.split("/tree/")[0] + "/tree/my_course/00_start_here.ipynb?reset")
    window.settle()
    assert window.page.evaluate("() => window.course.outputs()") == []
    cells = nbformat.read(lab.notebooks / "00_start_here.ipynb", as_version=4).cells
    code = [index for index, cell in enumerate(cells) if cell.cell_type == "code"]
    for index in code[:2]:
        assert window.run_cell(index) and window.errors() == []
    assert window.language_buttons().count() == 3
    window.panel().get_by_role("link", name="lesson 01").click()
    window.page.wait_for_function(
        "() => window.course.widget()?.context?.path === 'my_course/01_cuda_check.ipynb'"
    )
