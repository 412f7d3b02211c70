"""Lesson 00 run in a real JupyterLab on each change, all lessons nightly; and what notebooks share."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sample import sample

from course_utils.exercises import exercises_of
from tests.browser.promises import (
    CHOICES,
    LESSONS,
    NARROW,
    assert_language,
    assert_no_raw_markup,
    assert_ran,
    squeezed,
    wait_until,
)
from tools.labpage import Lab, NotebookPage

pytestmark = pytest.mark.browser

PROGRESS = {"01": {"on_gpu": "2026-01-01", "no such exercise": "2026-01-01"}}


@dataclass
class Run:
    """A lesson that was run to its end and stays open."""

    name: str
    cells: list[Any]  # as they were served
    page: NotebookPage
    complete: bool  # whether "run all" reached the end


UNTRAINED = f"{LESSONS[0].stem} untrained"
TRAINS = re.compile(r"\b(timed|score|best_time|claim)\(")


@pytest.fixture(scope="module", params=sample([UNTRAINED, *(path.stem for path in LESSONS)], [UNTRAINED]))
def run(request: pytest.FixtureRequest, lab: Lab, chromium: Any) -> Iterator[Run]:
    name = request.param.partition(" ")[0]
    notebook = nbformat.read(lab.notebooks / f"{name}.ipynb", as_version=4)
    if request.param == UNTRAINED:
        notebook.cells = [
            cell for cell in notebook.cells if cell.cell_type != "code" or not TRAINS.search(cell.source)
        ]
        nbformat.write(notebook, lab.notebooks / "untrained.ipynb")
    lab.data.mkdir(exist_ok=True)
    (lab.data / "progress.json").write_text(json.dumps(PROGRESS), encoding="utf-8")
    opened = "untrained.ipynb" if request.param == UNTRAINED else f"{name}.ipynb"
    with lab.open_notebook(chromium, opened, width=NARROW) as page:
        yield Run(name, notebook.cells, page, page.run_all(timeout=600))
    lab.shut_kernels_down()


def test_it_runs_and_every_widget_is_drawn(run: Run) -> None:
    assert_ran(run.page, run.complete)
    code = "\n".join(cell.source for cell in run.cells if cell.cell_type == "code")
    panel = run.page.panel()
    questions = len(re.findall(r"^(?:predict|self_test)\(", code, re.M))
    assert panel.locator(".course-question.widget-box").count() == questions
    explorers = len(re.findall(r"^\w+\.(?:EXPLORER|explorer\(.*\))\.show\(\)", code, re.M))
    assert panel.locator(".course-explorer").count() == explorers


def test_no_raw_markup(run: Run) -> None:
    assert_no_raw_markup(run.page)


@pytest.mark.parametrize("choice", CHOICES)
def test_language_and_layout(run: Run, choice: str) -> None:
    assert_language(run.page, choice)


def test_the_start_page_counts_what_is_solved(run: Run) -> None:
    if run.name != LESSONS[0].stem:
        pytest.skip("lesson 00 is the start page")
    for choice in CHOICES:
        run.page.switch_language(choice)
        row = row_of(run.page, LESSONS[1].name)
        assert row.count() == 1
        visible = row.evaluate("e => window.course.text(e)")
        assert f"1/{len(exercises_of('01'))}" in squeezed(visible)


def row_of(page: NotebookPage, name: str) -> Any:
    """Return the row of a lesson in the map of the course."""
    return page.panel().locator("tr", has=page.page.locator(f'a[href*="{name}"]'))


def test_questions_and_hints_with_the_keyboard_alone(run: Run) -> None:
    """From the top of the notebook with Tab; then Enter and Space."""
    run.page.switch_language("en")
    page, keyboard = run.page.page, run.page.page.keyboard
    expected = page.evaluate("() => window.course.focusable()")
    run.page.language_buttons().first.focus()
    reached: list[int] = []
    for _ in range(3 * len(expected) + 20):
        where = page.evaluate("() => window.course.focused()")
        if where is None or where["index"] in reached:
            keyboard.press("Tab")
            continue
        reached.append(where["index"])
        if where["kind"] in ("question", "summary"):
            key = "Enter" if len(reached) % 2 else "Space"
            page.evaluate("() => window.course.before_key()")
            keyboard.press(key)
            effect = page.evaluate("() => window.course.after_key()")
            assert effect == "acted", (key, expected[where["index"]])
        if len(reached) == len(expected):
            break
        keyboard.press("Tab")
    missed = [expected[i]["text"] for i in range(len(expected)) if i not in reached]
    assert missed == []


def test_an_exercise_is_done_with_the_keyboard(run: Run, lab: Lab) -> None:
    """Type a wrong answer, then the published solution, as a learner does; a script into the cell that writes it."""
    solved = []
    for index, cell in enumerate(run.cells):
        asked = re.search(r'^check\("([^"]+)", (?:(\w+)|"([^"]+)")\)', cell.source, re.M)
        if cell.cell_type != "code" or asked is None:
            continue
        name, answer, script = asked.groups()
        solution = re.search(r"```python\n(.*?)```", run.cells[index + 1].source, re.S)
        assert solution, f"no solution after the exercise {name}"
        nonsense = f'{answer} = lambda *given: "nonsense"' if answer else 'print("nonsense")'
        for source, state in ((nonsense, "wrong"), (solution[1].strip(), "solved")):
            if script:
                head = f"%%writefile {script}\n"
                assert run.cells[index - 1].source.startswith(head)
                run.page.type_and_run(index - 1, head + source)
            run.page.type_and_run(index, asked[0] if script else f"{source}\n\n{asked[0]}")
            card = run.page.cell(index).element_handle().wait_for_selector(".course-exercise")
            assert f"course-{state}" in card.get_attribute("class").split(), (source, card.inner_text())
            assert run.page.errors() == []
        saved = json.loads((lab.data / "progress.json").read_text(encoding="utf-8"))
        assert name in saved[run.name[:2]]
        solved.append(name)
    assert len(solved) == sum(cell.source.count('check("') for cell in run.cells if cell.cell_type == "code")


def test_a_click_on_a_title_opens_that_lesson(run: Run) -> None:
    if run.name != LESSONS[0].stem:
        pytest.skip("lesson 00 is the start page")
    page = run.page.page
    row_of(run.page, LESSONS[1].name).locator("a").click()
    page.wait_for_function(
        "name => window.course.widget()?.context?.path.endsWith(name)", arg=LESSONS[1].name
    )
    page.wait_for_function("() => window.course.ready()")
    assert run.page.page_errors == []


# --- two notebooks ----------------------------------------------------------------------------------------


def remembered(lab: Lab) -> str:
    return json.loads((lab.data / "settings.json").read_text(encoding="utf-8"))["language"]


def small_notebook(path: Path) -> None:
    """Write a notebook with a title in both languages and the setup cell."""
    title = '# Two · 二\n\n<div lang="en">\n\nEnglish.\n\n</div>\n\n<div lang="zh-Hant">\n\n中文。\n\n</div>'
    cells = [new_markdown_cell(title), new_code_cell("from course_utils import setup\n\nsetup()")]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)


def test_choice_is_remembered_and_each_notebook_has_its_own(lab: Lab, chromium: Any) -> None:
    """Choose Chinese in one notebook, open the next one beside it: it starts in Chinese, and each keeps its own."""
    first, second = "first.ipynb", "second.ipynb"
    for name in (first, second):
        small_notebook(lab.notebooks / name)
    with lab.open_notebook(chromium, first, width=1600) as page:
        page.run_cell(1)
        for choice in ("en", "zh"):
            page.switch_language(choice)
            wait_until(lambda choice=choice: remembered(lab) == choice, f"{choice} to be saved")
        page.open_beside(second)
        page.run_cell(1)
        chosen = page.language_buttons().evaluate_all(
            "all => all.map(b => b.classList.contains('mod-active'))"
        )
        assert chosen == [False, True, False], "the choice was not remembered"
        assert page.wrongly_shown("zh")["wrong"] == []

        page.switch_language("en")
        assert page.wrongly_shown("en")["wrong"] == []
        page.bring_to_front(first)
        assert page.wrongly_shown("zh")["wrong"] == []
        page.switch_language("both")
        page.bring_to_front(second)
        assert page.wrongly_shown("en")["wrong"] == []

        # Cells of the learner's own around the title: style.css finds the switch by its place.
        for index, command, choice in (
            (0, "insert-cell-above", "both"),
            (1, "insert-cell-below", "zh"),
            (0, "delete-cell", "en"),
            (0, "insert-cell-below", "zh"),
        ):
            page.page.evaluate("i => { window.course.widget().content.activeCellIndex = i; }", index)
            page.command(f"notebook:{command}")
            page.switch_language(choice)
            assert page.wrongly_shown(choice)["wrong"] == [], command
        assert page.page_errors == []
    lab.shut_kernels_down()
