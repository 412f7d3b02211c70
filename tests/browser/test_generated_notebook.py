"""A generated notebook with every question, explorer and exercise of lesson 02, at night of all lessons, clicked through."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from lesson_cells import calls
from sample import sample

from bilingual import Bilingual, plain
from course_utils import lesson
from course_utils.exercises import exercises_of
from course_utils.questions import Choice, Question, question
from tests.browser import generated
from tests.browser.promises import (
    CHOICES,
    NARROW,
    assert_language,
    assert_no_raw_markup,
    assert_ran,
    squeezed,
)
from tools.labpage import REPOSITORY, Lab, NotebookPage

pytestmark = pytest.mark.browser

FOLDER = REPOSITORY / "notebooks"


@dataclass
class Run:
    """The generated notebook, run to its end and still open."""

    made: generated.Generated
    page: NotebookPage
    complete: bool  # whether "run all" reached the end


@pytest.fixture(scope="module", params=sample([("",), ("02",)], ["02"], lambda case: case[0] or "all"))
def run(request: pytest.FixtureRequest, lab: Lab, chromium: Any) -> Iterator[Run]:
    made = generated.write(lab.notebooks, request.param)
    with lab.open_notebook(chromium, generated.NAME, width=NARROW) as page:
        yield Run(made, page, page.run_all())
    lab.shut_kernels_down()


def test_it_holds_all_of_the_lessons() -> None:
    made = generated.generate(FOLDER)
    assert len(made.questions) == len(list(calls("predict"))) > 50
    assert (
        len({(answer.lesson, answer.exercise) for answer in made.answers}) == len(list(calls("check"))) > 20
    )
    names = {module.split(".")[1] for module in made.explorers}
    used = [next(calls(f"{name}.EXPLORER.show", f"{name}.explorer"), None) for name in names]
    assert None not in used, "an explorer that no lesson shows"
    assert len(names) == len(made.explorers) > 10


def test_it_runs_and_every_widget_is_drawn(run: Run) -> None:
    assert_ran(run.page, run.complete)
    panel = run.page.panel()
    assert panel.locator(".course-question.widget-box").count() == len(run.made.questions)
    assert panel.locator(".course-explorer").count() == len(run.made.explorers)
    assert panel.locator(".course-clinic-browser").count() == 1
    assert run.page.language_buttons().count() == 3


def test_no_raw_markup(run: Run) -> None:
    assert_no_raw_markup(run.page)


@pytest.mark.parametrize("choice", CHOICES)
def test_questions_answer_in_each_language(run: Run, choice: str) -> None:
    """Each question: its buttons, and the reason for a wrong choice (English, both) or the right one (Chinese)."""
    run.page.switch_language(choice)
    asked = [asked_in(room, name) for room, name in run.made.questions]
    chosen = [
        next(((i, c) for i, c in enumerate(each.choices) if c.right == (choice == "zh")), (0, GUESS))
        for each in asked
    ]
    shown, hidden = ("zh", "en") if choice == "zh" else ("en", "zh")
    # The first one with the mouse; the page presses the others itself, which is quicker.
    first = run.page.panel().locator(".course-question.widget-box").first
    first.locator("button:visible").nth(chosen[0][0]).click()
    wanted = [
        {
            "index": index,
            "reason": squeezed(getattr((each.number or picked).reason, shown)),
            "hidden": squeezed(getattr((each.number or picked).reason, hidden)),
            "pressed": number == 0,
        }
        for number, ((index, picked), each) in enumerate(zip(chosen, asked, strict=True))
    ]
    results = run.page.page.evaluate("wanted => window.course.answer_questions(wanted)", wanted)
    for each, (_, right), want, found in zip(asked, chosen, wanted, results, strict=False):
        assert found["labels"] == [label(c.text, choice) for c in each.choices or (GUESS,)]
        assert found["answered"], (
            f"{each.name}: waited in vain for {want['reason']!r} in {found['visible']!r}"
        )
        assert found["translated"] and found["marked"], each.name
        assert found["solved"] == right.right, each.name
    assert len(results) == len(asked)
    assert run.page.wrongly_shown(choice)["wrong"] == []


# Of a question for a number: its one button.
GUESS = Choice(Bilingual("That is my guess", "我猜這個值"), Bilingual("-", "-"), False)


def asked_in(room: str, name: str) -> Question:
    """Return a question of the lesson `room`."""
    lesson.use(room)
    try:
        return question(name)
    finally:
        lesson.use(None)


def label(text: Bilingual, choice: str) -> str:
    """Return what a button shows for `text`."""
    return str(text) if choice == "both" else plain(getattr(text, choice))


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


def test_a_moved_slider_shows_a_new_picture(run: Run) -> None:
    """With the mouse, to both ends: the displayed picture is another one each time, and it is complete."""
    number = run.made.explorers.index("lesson_02.transfer_cost")
    box = run.page.panel().locator(".course-explorer").nth(number)
    handle, track = box.locator(".noUi-handle").first, box.locator(".noUi-target").first
    mouse = run.page.page.mouse
    for end in (0.99, 0.01):
        before = box.locator("img").get_attribute("src")
        handle.scroll_into_view_if_needed()
        place, whole = handle.bounding_box(), track.bounding_box()
        height = place["y"] + place["height"] / 2
        mouse.move(place["x"] + place["width"] / 2, height)
        mouse.down()
        mouse.move(whole["x"] + end * whole["width"], height, steps=5)
        mouse.up()
        run.page.page.wait_for_function(
            """([box, before]) => { const image = box.querySelector('img');
              return image && image.src !== before && image.complete && image.naturalWidth > 0; }""",
            arg=[box.element_handle(), before],
        )


def test_exercises_answer_with_hints_that_open_one_by_one(run: Run, lab: Lab) -> None:
    run.page.switch_language("both")
    cards = run.page.page.evaluate("() => window.course.exercise_cards()")
    for answer, card in zip(run.made.answers, cards, strict=True):
        assert f"course-{answer.state}" in card["classes"], (answer, card["text"])
        assert "Traceback" not in card["text"]
        exercise = exercises_of(answer.lesson)[answer.exercise]
        assert squeezed(exercise.title.en) in squeezed(card["text"])
        hints = exercise.hints if answer.state != "solved" else ()
        assert len(card["steps"]) == len(hints), answer
        for step, hint in zip(card["steps"], hints, strict=True):
            assert step["hidden"], (answer, "the hint was open before")
            assert squeezed(hint.en) in step["text"] and squeezed(hint.zh) in step["text"], answer
    saved = json.loads((lab.data / "progress.json").read_text(encoding="utf-8"))
    solved = {(answer.lesson, answer.exercise) for answer in run.made.answers if answer.state == "solved"}
    assert solved <= {(room, name) for room, names in saved.items() for name in names}


def test_the_keyboard_reaches_everything(run: Run) -> None:
    """Choices, controls and hints can have the focus; test_run_lessons.py goes through a lesson with Tab."""
    reachable = """() => { window.course.focusable();
      return window.course.targets.filter(e => e.tabIndex < 0 || e.disabled).map(e => e.outerHTML.slice(0, 120)); }"""
    assert run.page.page.evaluate(reachable) == []


SIZES = """() => {
  const size = e => parseFloat(getComputedStyle(e).fontSize);
  const texts = `.course-question :is(p, button, .widget-readout), .course-switch button, .course-card p,
    .course-explorer :is(select, .widget-readout, p), table :is(td, th)`;
  const shown = [...window.course.panel().querySelectorAll(texts)].filter(window.course.shown);
  const prose = size(window.course.panel().querySelector('.jp-MarkdownOutput p'));
  return {
    prose, looked: shown.length,
    smaller: shown.filter(e => size(e) < prose && !e.matches('.course-small')).map(e => size(e) + ' ' + e.outerHTML.slice(0, 120)),
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
    assert presented["prose"] > normal["prose"] and presented["looked"] > 30
    for found in (normal, presented):
        assert found["smaller"] == [] and found["high"] == []
    assert overflow == []


# These come last: every question is answered and every hint is open, so all texts are there.


@pytest.mark.parametrize("choice", CHOICES)
def test_language_and_layout(run: Run, choice: str) -> None:
    assert_language(run.page, choice)


def test_no_text_is_shown_twice(run: Run) -> None:
    """The answer to a question replaces the one before it."""
    run.page.switch_language("en")
    for text in run.page.panel().locator(".course-question.widget-box").all_inner_texts():
        assert len(re.findall(r"(?:Right|Not quite)\.|Your guess: ", text)) == 1
