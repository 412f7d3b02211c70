"""The lessons' texts: complete in both languages, each used by its lesson, each question with a reason for all choices."""

import re
from collections import Counter
from typing import Any

import ipywidgets
import pytest
from html_nesting import assert_nested
from lesson_cells import NOTEBOOKS, calls, cells, first_arguments

from bilingual import CHOICES, plain
from course_utils import figures, lesson, predict
from course_utils.questions import parsed, question

USES = {
    "question": ("predict",),
    "claim": ("claim",),
    "figure": (
        "figures.curves", "columns", "panels", "stacked", "histogram", "timeline.show", "timelines", "Live",
    ),
}  # fmt: skip
LESSONS = [path.name[:2] for path in NOTEBOOKS if (path.parent / lesson.room(path.name[:2])).is_dir()]
ENTRIES = [
    (number, kind, name)
    for number in LESSONS
    for kind in lesson.KINDS
    for name in lesson.all_texts(number)[kind]
]
QUESTIONS = [(number, name) for number, kind, name in ENTRIES if kind == "question"]


def question_text(number: str, name: str) -> dict[str, Any]:
    return lesson.all_texts(number)["question"][name]


def test_there_is_something_to_test() -> None:
    assert len(LESSONS) >= 7 and len(cells()) > 350 and len(ENTRIES) > 150 and len(QUESTIONS) >= 50


def drawn_in_rooms() -> set[tuple[str, str]]:
    """Return (lesson, name) of the figures that a module of a room draws with a caption of texts.toml."""
    named = re.compile(r'(?:caption_and_axes\(|text\("figure", )"(\w+)"')
    return {
        (number, name)
        for number in LESSONS
        for path in (NOTEBOOKS[0].parent / lesson.room(number)).rglob("*.py")
        for name in named.findall(path.read_text(encoding="utf-8"))
    }


# --- TOML and notebooks agree -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", lesson.KINDS)
def test_every_text_is_used_by_its_lesson_and_every_use_has_a_text(kind: str) -> None:
    used = Counter(first_arguments(*USES[kind]))
    used.update(drawn_in_rooms() if kind == "figure" else ())
    assert set(used) == {(number, name) for number, its_kind, name in ENTRIES if its_kind == kind}
    assert kind == "figure" or max(used.values()) == 1, "nothing is stated or asked twice"


def test_names_of_recorded_values_are_unique_in_the_whole_course() -> None:
    figures_used = Counter(first_arguments("figures.bars", *USES["figure"]))
    assert max(figures_used.values()) == 1
    names = [name for _, name in [*figures_used, *first_arguments("claim")]]
    assert len(set(names)) == len(names), "two lessons record under the same name"


def test_claims_are_numbered_by_lesson() -> None:
    for number, name in first_arguments("claim"):
        assert name.startswith(f"{int(number)}."), name


def test_what_only_a_gpu_measures_is_folded() -> None:
    """Without one, a cell whose claims all need a GPU shows nothing but their cards."""
    of_gpus = {"cuda", "two_gpus", "shared_gpu", "tensor_cores", "tf32", "matrix_units"}
    needs: dict[Any, list[bool]] = {}
    for cell, call in calls("claim"):
        words = {getattr(word.value, "value", "") for word in call.keywords if word.arg == "needs"}
        needs.setdefault(cell, []).append(bool(words & of_gpus))
    only_there = {cell for cell, found in needs.items() if all(found)}
    folded = {cell for cell in cells() if cell.folded}
    assert {cell for cell in only_there if "def " in cell.text} <= folded <= only_there


# --- figures and their parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number, name", [entry[::2] for entry in ENTRIES if entry[1] == "figure"])
def test_a_figures_axes_and_parts_have_names(number: str, name: str) -> None:
    lesson.use(number)
    caption, x, y = figures.caption_and_axes(name)
    assert caption.en and caption.zh
    uses = [use for use in USES["figure"] if name in {found for _, found in first_arguments(use)}]
    if not uses:
        assert (number, name) in drawn_in_rooms()
        return
    (chart,) = uses
    named = {"figures.curves": (True, True), "histogram": (True, True), "columns": (False, True)}
    assert (bool(x.label), bool(y.label)) == named.get(chart, (False, False)), chart
    assert {x.scale, y.scale} <= {"log", "linear"}
    if chart != "histogram":  # its marks may have names
        assert ("parts" in lesson.text("figure", name)) == (chart in ("panels", "stacked", "Live"))


# --- questions ----------------------------------------------------------------------------------------

each_question = pytest.mark.parametrize("number, name", QUESTIONS)


@each_question
def test_a_question_has_a_right_and_a_wrong_choice_and_a_reason_for_each(number: str, name: str) -> None:
    lesson.use(number)
    asked = question(name)
    if asked.number:
        assert len(asked.number.reason.en) > 30, "a reason explains"
        assert len(asked.number.values()) >= 10, "a range that is worth a guess"
        return
    assert {choice.right for choice in asked.choices} == {True, False}
    for texts in ([choice.text for choice in asked.choices], [choice.reason for choice in asked.choices]):
        assert len({text.en for text in texts}) == len({text.zh for text in texts}) == len(texts)
    assert all(len(choice.reason.en) > 30 for choice in asked.choices), "a reason explains"
    assert 2 <= len(asked.choices) <= 5


def test_a_guess_is_compared_with_one_claim_of_the_same_lesson() -> None:
    compared = [pair for pair in QUESTIONS if "claim" in question_text(*pair)]
    for number, name in compared:
        lesson.use(number)
        assert question(name).number, f"{number} {name} has choices, and a claim"
        assert question_text(number, name)["claim"] in lesson.all_texts(number)["claim"], (number, name)
    claims = [(number, question_text(number, name)["claim"]) for number, name in compared]
    assert len(set(claims)) == len(claims), "a claim's card shows one guess"


def test_only_known_keys_are_in_a_question() -> None:
    known = {"en", "zh", "choices", "number", "why_en", "why_zh", "claim"}
    choice = {"en", "zh", "why_en", "why_zh", "right"}
    for pair in QUESTIONS:
        asked = question_text(*pair)
        assert set(asked) <= known and all(set(c) <= choice for c in asked.get("choices", ())), pair


def places(number: str, size: int = 3) -> list[int]:
    """Return at which position the right choice of each question with `size` choices is shown, in their order."""
    lesson.use(number)
    asked = [question(name) for its_lesson, name in QUESTIONS if its_lesson == number]
    return [[c.right for c in q.choices].index(True) for q in asked if len(q.choices) == size]


@pytest.mark.parametrize("number", LESSONS)
def test_no_position_of_the_right_choice_wins_in_a_lesson(number: str) -> None:
    found = places(number)
    counts = [found.count(position) for position in range(3)]
    assert max(counts) - min(counts) <= 1, counts


def test_the_order_of_the_choices_is_the_same_each_time_and_loses_none() -> None:
    for number, name in QUESTIONS:
        lesson.use(number)
        assert question(name) == question(name)
        assert Counter(question(name).choices) == Counter(parsed(name, question_text(number, name)).choices)


def widgets_of(widget: Any, kind: type) -> list[Any]:
    found = [widget] if isinstance(widget, kind) else []
    return found + [w for child in getattr(widget, "children", ()) for w in widgets_of(child, kind)]


@each_question
def test_every_choice_answers_when_it_is_clicked_in_each_language(
    number: str, name: str, shown: list[Any]
) -> None:
    lesson.use(number)
    asked = question(name)
    if asked.number:
        return  # tests/unit/test_predictions.py
    predict(name)
    box = shown[-1].widget
    buttons = widgets_of(box, ipywidgets.Button)
    reply = widgets_of(box, ipywidgets.HTML)[-1]
    assert len(buttons) == len(asked.choices) * len(CHOICES)
    assert reply.value == "", "no answer before a click"
    labels = {"en": lambda text: plain(text.en), "zh": lambda text: plain(text.zh), "both": str}
    for row, language in enumerate(CHOICES):
        here = buttons[row * len(asked.choices) :][: len(asked.choices)]
        for button, choice in zip(here, asked.choices, strict=True):
            assert button.description == labels[language](choice.text)
            button.click()
            assert choice.reason.block() in reply.value
            assert ("course-solved" in reply.value) == choice.right
            assert_nested(reply.value)
            assert [b for b in here if "course-chosen" in b._dom_classes] == [button]


@each_question
def test_without_a_kernel_the_question_can_be_read(number: str, name: str, shown: list[Any]) -> None:
    lesson.use(number)
    predict(name)
    bundle = shown[-1]._repr_mimebundle_()
    asked, page = question(name), bundle["text/html"]
    assert_nested(page)
    folded = page.index("<details>")
    assert " — " not in page, "no English dash between Chinese words"
    if asked.number:
        assert page.index(asked.number.reason.block()) > folded
        assert asked.number.with_unit(asked.number.high).zh in page
    for choice in asked.choices:
        assert choice.text.html() in page and page.index(choice.reason.block()) > folded
        assert choice.reason.en not in bundle["text/plain"], "the plain form gives nothing away"
