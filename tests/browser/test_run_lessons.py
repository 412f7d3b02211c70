"""Lessons run in a real JupyterLab and clicked through: by day three sections of lesson 02 without what they measure, at night all."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbformat
import pytest
from sample import sample

from bilingual import Bilingual, plain
from course_utils import lesson
from course_utils.exercises import exercises_of
from course_utils.questions import Choice, question
from tests.browser.promises import (
    CHOICES,
    LESSONS,
    NARROW,
    assert_language,
    assert_no_raw_markup,
    assert_ran,
    small_notebook,
    squeezed,
    wait_until,
)
from tools.labpage import Lab, NotebookPage

pytestmark = pytest.mark.browser


# --- two notebooks: first, since the window of `run` stays open, and another one would load JupyterLab again ----------

MAP = 'from course_utils import setup\nfrom lesson_00.lesson_map import show_map\n\nsetup("00")\nshow_map()'


def test_choice_is_remembered_and_each_notebook_has_its_own(lab: Lab, chromium: Any) -> None:
    """Choose Chinese in one notebook, open the next one beside it: it starts in Chinese, and each keeps its own."""
    first, second = "first.ipynb", "second.ipynb"
    progress = {"01": {"on_gpu": "2026-01-01", "no such exercise": "2026-01-01"}}
    lab.data.mkdir(exist_ok=True)
    (lab.data / "progress.json").write_text(json.dumps(progress), encoding="utf-8")
    for name in (first, second):
        small_notebook(lab.notebooks / name, MAP)
    settings = lab.data / "settings.json"
    with lab.open_notebook(chromium, first, width=1600) as page:
        page.run_cell(1)
        for choice in ("en", "zh"):
            page.switch_language(choice)
            wait_until(
                lambda choice=choice: json.loads(settings.read_text(encoding="utf-8"))["language"] == choice,
                f"{choice} to be saved",
            )
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

        # The map of the start page: what is solved of lesson 01, and a click that opens the shortest lesson.
        link = 'a[href*="{}"]'.format
        row = page.panel().locator("tr", has=page.page.locator(link(LESSONS[1].name)))
        assert f"1/{len(exercises_of('01'))}" in squeezed(row.evaluate("e => window.course.text(e)"))
        shortest = min(LESSONS, key=lambda path: path.stat().st_size).name
        page.panel().locator(f"tr {link(shortest)}").click()
        page.page.wait_for_function(
            "name => window.course.widget()?.context?.path.endsWith(name)", arg=shortest
        )
        assert page.page_errors == []
    lab.shut_kernels_down()


# --- a lesson -----------------------------------------------------------------------------------------------------

SHORT = f"{LESSONS[2].stem} unmeasured"
SECTIONS = (
    "# 2",
    "## 2.2",
    "## 2.3",
    "## 2.5",
)  # in them: explorers, exercises, questions with choices and for a number
ASKS = re.compile(r"^(setup|predict|check|\w+\.(EXPLORER|explorer\(.*\))\.show)\(", re.M)


@dataclass
class Run:
    """A lesson that was run to its end and stays open."""

    number: str
    cells: list[Any]  # as they were served
    page: NotebookPage
    complete: bool  # whether "run all" reached the end

    def names(self, pattern: str) -> list[str]:
        """Return what a pattern finds in the code."""
        return re.findall(pattern, "\n".join(c.source for c in self.cells if c.cell_type == "code"), re.M)


@pytest.fixture(scope="module", params=sample([SHORT, *(path.stem for path in LESSONS)], [SHORT]))
def run(request: pytest.FixtureRequest, lab: Lab, chromium: Any) -> Iterator[Run]:
    name = request.param.partition(" ")[0]
    notebook = nbformat.read(lab.notebooks / f"{name}.ipynb", as_version=4)
    if request.param == SHORT:
        heading, cells = "", []
        for cell in notebook.cells:
            heading = found[0] if (found := re.match(r"#+ [\d.]+", cell.source)) else heading
            if heading in SECTIONS and (cell.cell_type != "code" or ASKS.search(cell.source)):
                cells.append(cell)
        notebook.cells = cells
        nbformat.write(notebook, lab.notebooks / "unmeasured.ipynb")
    opened = "unmeasured.ipynb" if request.param == SHORT else f"{name}.ipynb"
    with lab.open_notebook(chromium, opened, width=NARROW) as page:
        yield Run(name[:2], notebook.cells, page, page.run_all(timeout=600))
    lab.shut_kernels_down()


def test_it_runs_and_every_widget_is_drawn(run: Run) -> None:
    assert_ran(run.page, run.complete)
    panel = run.page.panel()
    questions = len(run.names(r"^(?:predict|self_test)\("))
    assert panel.locator(".course-question.widget-box").count() == questions
    explorers = len(run.names(r"^\w+\.(?:EXPLORER|explorer\(.*\))\.show\(\)"))
    assert panel.locator(".course-explorer").count() == explorers
    assert run.page.language_buttons().count() == 3


def test_no_raw_markup(run: Run) -> None:
    assert_no_raw_markup(run.page)


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
    assert [expected[i]["text"] for i in range(len(expected)) if i not in reached] == []


def test_exercises_are_solved_and_hints_open_one_by_one(run: Run, lab: Lab) -> None:
    """A wrong answer, then the published solution; a script goes into the cell that writes it."""
    run.page.switch_language("both")
    solved = []
    for index, cell in enumerate(run.cells):
        asked = re.search(r'^check\("([^"]+)", (?:(\w+)|"([^"]+)")\)', cell.source, re.M)
        if cell.cell_type != "code" or asked is None:
            continue
        name, answer, script = asked.groups()
        solution = re.search(r"```python\n(.*?)```", run.cells[index + 1].source, re.S)
        assert solution, f"no solution after the exercise {name}"
        nonsense = f'{answer} = lambda *given: "nonsense"' if answer else 'print("nonsense")'
        exercise = exercises_of(run.number)[name]
        for source, state in (("", "notyet"), (nonsense, "wrong"), (solution[1].strip(), "solved")):
            if source and script:
                head = f"%%writefile {script}\n"
                assert run.cells[index - 1].source.startswith(head)
                run.page.run_cell(index - 1, head + source)
            if source:
                run.page.run_cell(index, asked[0] if script else f"{source}\n\n{asked[0]}")
            card = run.page.cell(index).element_handle().wait_for_selector(".course-exercise")
            assert f"course-{state}" in card.get_attribute("class").split(), (source, card.inner_text())
            assert squeezed(exercise.title.en) in squeezed(card.inner_text())
            assert run.page.errors() == []
            steps = card.evaluate("card => window.course.open_hints(card)")
            assert len(steps) == (len(exercise.hints) if state != "solved" else 0)
            for step, hint in zip(steps, exercise.hints, strict=False):
                assert step["hidden"] or state == "notyet", "the hint was open before"
                assert state == "notyet" or squeezed(hint.en) in step["text"]
        assert name in json.loads((lab.data / "progress.json").read_text(encoding="utf-8"))[run.number]
        solved.append(name)
    assert len(solved) == len(run.names(r'\bcheck\("'))


# Of a question for a number: its one button.
GUESS = Choice(Bilingual("That is my guess", "我猜這個值"), Bilingual("-", "-"), False)


@pytest.mark.parametrize("choice", CHOICES)
def test_questions_answer_in_each_language(run: Run, choice: str) -> None:
    """Each question: its buttons, and the reason for a wrong choice (English, both) or the right one (Chinese)."""
    run.page.switch_language(choice)
    lesson.use(run.number)
    try:
        asked = [question(name) for name in run.names(r'^predict\("([^"]+)"\)')]
    finally:
        lesson.use(None)
    shown, hidden = ("zh", "en") if choice == "zh" else ("en", "zh")
    wanted = []
    for each in asked:
        known = enumerate(each.choices)
        index, picked = next((pair for pair in known if pair[1].right == (choice == "zh")), (0, GUESS))
        reason = (each.number or picked).reason
        texts = {
            name: squeezed(getattr(reason, side)) for name, side in (("reason", shown), ("hidden", hidden))
        }
        wanted.append({"index": index, "right": picked.right, **texts})
    results = run.page.page.evaluate("wanted => window.course.answer_questions(wanted)", wanted)
    for each, want, found in zip(asked, wanted, results, strict=False):
        texts = [c.text for c in each.choices or (GUESS,)]
        assert found["labels"] == [str(t) if choice == "both" else plain(getattr(t, choice)) for t in texts]
        assert found["answered"], (
            f"{each.name}: waited in vain for {want['reason']!r} in {found['visible']!r}"
        )
        assert found["translated"] and found["solved"] == want["right"], each.name
        assert found["replies"] == 1, "the answer to a question replaces the one before it"
    assert len(results) == len(asked)


# Whether the arrow that points upwards changes a control: it chooses the entry before this one, or a larger number.
CAN_GO_UP = """control => control.tagName === 'SELECT' ? control.selectedIndex > 0
  : Number(control.ariaValueNow) < Number(control.ariaValueMax)"""

# Rejected where a picture cannot be drawn.
DECODE = "view => Promise.all([...view.querySelectorAll('img')].map(image => image.decode()))"


def test_every_control_of_an_explorer_changes_its_picture(run: Run) -> None:
    """With the keyboard, so that this holds for learners without a mouse."""
    for box in run.page.panel().locator(".course-explorer").element_handles():
        view = box.query_selector_all(":scope > .widget-html")[-1]
        controls = box.query_selector_all(".noUi-handle, select")
        assert controls
        # The first move always replaces the stored picture, which is encoded in another way; the later ones count.
        for control in [controls[-1], *controls]:
            move(run, control, view)
            assert "Traceback" not in view.inner_text()
            view.evaluate(DECODE)


def move(run: Run, control: Any, view: Any) -> None:
    """Move a control with the arrow keys until its picture changes."""
    view.evaluate("view => window.course.look_at(view)")
    control.focus()
    # JupyterLab takes a bare arrow key from a closed list, so open it first.
    opened = ["Space"] if control.evaluate("e => e.tagName") == "SELECT" else []
    arrows = ("ArrowUp", "ArrowDown") if control.evaluate(CAN_GO_UP) else ("ArrowDown", "ArrowUp")
    for arrow in arrows:
        for key in [*opened, arrow, *(["Enter"] if opened else [])]:
            run.page.page.keyboard.press(key)
        if view.evaluate("view => window.course.changed(view, 15)"):
            return
    pytest.fail(f"no arrow key changes the picture: {control.evaluate('e => e.outerHTML')[:200]}")


SIZES = """() => {
  const size = e => parseFloat(getComputedStyle(e).fontSize);
  const texts = `.course-question :is(p, button, .widget-readout), .course-switch button, .course-card p,
    .course-explorer :is(select, .widget-readout, p), table :is(td, th)`;
  const shown = [...window.course.panel().querySelectorAll(texts)].filter(window.course.shown);
  const prose = size(window.course.panel().querySelector('.jp-MarkdownOutput p'));
  return {
    prose, looked: shown.length,
    smaller: shown.filter(e => size(e) < prose && !e.closest('.course-small'))
      .map(e => size(e) + ' ' + e.outerHTML.slice(0, 120)),
    high: [...window.course.panel().querySelectorAll('.course-figure img')].map(e => e.getBoundingClientRect().height)
      .filter(height => height > 0.53 * innerHeight),
  };
}"""


def test_questions_tables_and_controls_are_as_large_as_prose_when_presented(run: Run) -> None:
    """JupyterLab's presentation mode enlarges prose and code; figures leave room for their code on the same screen."""
    page = run.page.page
    run.page.switch_language("en")
    normal = page.evaluate(SIZES)
    toggle = "() => window.jupyterapp.commands.execute('application:toggle-presentation-mode')"
    page.evaluate(toggle)
    try:
        page.evaluate("() => window.course.frame()")
        presented = page.evaluate(SIZES)
        overflow = run.page.overflow(NARROW)
    finally:
        page.evaluate(toggle)
    assert presented["prose"] > normal["prose"] and presented["looked"] > 8
    for found in (normal, presented):
        assert found["smaller"] == [] and found["high"] == []
    assert overflow == []


# The last one: every question is answered and every hint was open, so all texts are there.
@pytest.mark.parametrize("choice", CHOICES)
def test_language_and_layout(run: Run, choice: str) -> None:
    assert_language(run.page, choice)
