"""Every exercise of the course: its stub, its solution, its wrong answers with their hints, and hostile answers."""

import html
import signal
from typing import Any

import pytest
import script_answers
import torch
from hostile_answers import ACTS, VALUES, forever
from html_nesting import assert_nested
from lesson_cells import NOTEBOOKS
from published import PUBLISHED, Published
from sample import sample
from tabled import tabled
from torch import nn

from bilingual import Bilingual
from course_utils import check, lesson, settings
from course_utils.exercise_card import LEVELS, card
from course_utils.exercise_hints import HINTS
from course_utils.exercises import Answer, Exercise, examine, exercises_of, seen
from tools.wrong_answers import wrong_answers

LESSONS = sorted({entry.lesson for entry in PUBLISHED.values()})
GENERIC = ("Your answer raised", "The check cannot use", "still running after", "calls itself without end")
each = pytest.mark.parametrize("key", PUBLISHED)
# By day the first exercise of each lesson stands for all.
FIRST = [next(key for key, entry in PUBLISHED.items() if entry.lesson == number) for number in LESSONS]
some = pytest.mark.parametrize("key", sample(PUBLISHED, FIRST))


@pytest.fixture(scope="module", autouse=True)
def practice_gpus_have_started() -> None:
    """Their first start and use take seconds on a busy machine; the time limit of an answer would end them half way."""
    entry = PUBLISHED["02/empty_mask"]
    examine(entry.exercise, solution(entry), seconds=120)


def solution(entry: Published) -> Any:
    return entry.answer(entry.solution)


def generic(answer: Answer) -> bool:
    return any(words in answer.message.en for words in GENERIC)


def test_rooms_and_notebooks_have_the_same_exercises() -> None:
    assert len(PUBLISHED) >= 70
    for number in (path.name[:2] for path in NOTEBOOKS):
        names = {entry.exercise.name for entry in PUBLISHED.values() if entry.lesson == number}
        assert set(exercises_of(number)) == names


@each
def test_the_published_solution_passes_and_leaves_the_random_numbers_alone(key: str) -> None:
    before = torch.get_rng_state()
    assert examine(PUBLISHED[key].exercise, solution(PUBLISHED[key])).key == "solved"
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("key", [key for key, entry in PUBLISHED.items() if entry.file])
def test_the_notebook_has_the_stub_and_the_solution(key: str) -> None:
    assert PUBLISHED[key].stub.strip() == script_answers.STUBS[key].strip()
    assert PUBLISHED[key].solution.strip() == script_answers.SOLUTIONS[key].strip()
    assert PUBLISHED[key].file == f"mine/{key[3:]}.py"


@tabled
def test_other_right_answers_pass(key: str, source: str) -> None:
    answer = examine(PUBLISHED[key].exercise, PUBLISHED[key].answer(source))
    assert answer.state == "solved", answer.message.en


@each
def test_the_stub_is_not_yet(key: str) -> None:
    entry = PUBLISHED[key]
    answer = examine(entry.exercise, entry.answer(entry.stub))
    assert answer.state == "notyet" and not generic(answer)
    for nothing in (None, ...):
        assert examine(entry.exercise, nothing).state == "notyet"


WRONG = {
    f"{key}-{mistake}-{number}": (key, source, mistake)
    for key, entry in PUBLISHED.items()
    for mistake, sources in wrong_answers(*key.split("/")).items()
    for number, source in enumerate(sources)
}


# By day the first wrong answer to each exercise.
@pytest.mark.parametrize(
    "case", sample(WRONG, {case.partition("-")[0]: case for case in reversed(WRONG)}.values())
)
def test_a_wrong_answer_gets_the_hint_for_its_mistake(case: str) -> None:
    key, source, mistake = WRONG[case]
    answer = examine(PUBLISHED[key].exercise, PUBLISHED[key].answer(source))
    assert (answer.state, answer.key) == ("wrong", mistake), answer.message.en


@each
def test_each_hint_is_reached_by_a_wrong_answer(key: str) -> None:
    """A hint that no answer gets may be wrong, and nobody would notice. (The stub may have one of its own.)"""
    entry, exercise = PUBLISHED[key], PUBLISHED[key].exercise
    stub = examine(exercise, entry.answer(entry.stub)).key
    wrong = {mistake for _, mistake in entry.wrong}
    assert set(exercise.mistakes) <= {*wrong, stub}
    assert wrong <= {*exercise.mistakes, *HINTS} - {stub}
    assert len(wrong) >= 3


@each
def test_an_exercise_has_a_title_and_hints_in_steps(key: str) -> None:
    exercise = PUBLISHED[key].exercise
    assert isinstance(exercise.title, Bilingual) and len(exercise.hints) >= 2
    for texts in ({hint.en for hint in exercise.hints}, {hint.zh for hint in exercise.hints}):
        assert len(texts) == len(exercise.hints)
    assert all(hint.en != hint.zh for hint in (exercise.title, *exercise.hints))
    code = [line.strip() for line in PUBLISHED[key].solution.splitlines() if len(line.strip()) > 25]
    assert not [line for line in code for hint in exercise.hints if line in hint.en], "a hint is no solution"


# --- levels, and what is shown of an answer ------------------------------------------------------------


@pytest.mark.parametrize("number", [number for number in LESSONS if number != "00"])  # shows how one works
def test_a_lesson_has_at_least_six_exercises_and_begins_with_a_short_one(number: str) -> None:
    levels = [entry.exercise.level for entry in PUBLISHED.values() if entry.lesson == number]
    assert len(levels) >= 6
    assert set(levels) <= set(LEVELS), "easy, medium or hard"
    assert levels[0] == "easy" and levels.count("easy") >= 2


@some
def test_an_exercise_shows_what_the_answer_did(key: str) -> None:
    entry = PUBLISHED[key]
    assert entry.exercise.show is not None
    page, text = seen(entry.exercise, solution(entry))
    assert page and text, "show raised, or returned neither a Block nor a Picture"
    assert_nested(f"<div>{page}</div>")
    # What the stub's cell would show is never asked for; what everybody sees alike teaches nothing.
    shown = (seen(entry.exercise, entry.answer(source))[0] for source, _ in entry.wrong)
    assert any(found and found != page for found in shown), "right and wrong answers look the same"


# --- hostile answers ----------------------------------------------------------------------------------


def hostile(entry: Published, act: Any) -> Any:
    """Return an answer of the kind that the exercise asks for, in which `act` runs when the checker touches it."""
    kind = entry.answer(entry.stub)
    if isinstance(kind, type):

        def create(self: Any, *_: Any) -> None:
            nn.Module.__init__(self)
            self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
            self.register_buffer("scale", torch.ones(8))

        methods = {
            "__init__": create,
            "forward": lambda self, x: act(x),
            "add": lambda self, x: act(x),
            "__len__": lambda self: 10,
            "__getitem__": lambda self, place: act(place),
        }
        return type("Net", (nn.Module,), methods)
    if isinstance(kind, dict):

        class Answers(dict):
            def __getitem__(self, key: object) -> Any:
                return act(key)

        return Answers(kind)
    if entry.file:

        class Text(str):
            __fspath__ = endswith = __str__ = lambda self, *given: act(*given)

        return Text(kind)
    assert callable(kind)
    return act


def assert_explained(answer: Answer, exercise: Exercise) -> None:
    """A hostile answer gets a hint like any other: in both languages, short, without a traceback."""
    assert answer.state in ("wrong", "notyet")
    page = card(exercise, answer).html
    assert_nested(page)
    for text in (answer.message.en, answer.message.zh):
        assert 10 < len(text) < 1500
        assert "Traceback" not in text and "\n" not in text
    assert html.escape("Exercise: ") in page


@some
def test_hostile_answers_are_explained(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry = PUBLISHED[key]
    for name, act in ACTS.items():
        try:
            assert_explained(examine(entry.exercise, hostile(entry, act)), entry.exercise)
        except AssertionError as error:
            raise AssertionError(f"an answer that {name}") from error
        assert "Traceback" not in capsys.readouterr().err
    for value, answer in VALUES.items():
        try:
            assert_explained(examine(entry.exercise, answer), entry.exercise)
        except AssertionError as error:
            raise AssertionError(f"the answer is {value}") from error
    if hasattr(signal, "setitimer") and not entry.file:  # Windows has none; a launch has a limit of its own
        answer = examine(entry.exercise, hostile(entry, forever), seconds=0.1)
        assert (
            answer.state == "wrong" and "0.1 seconds" in answer.message.en and "0.1 秒" in answer.message.zh
        )
        assert_explained(answer, entry.exercise)
    assert examine(entry.exercise, solution(entry)).state == "solved", "a hostile answer broke the checker"


# --- in the lesson ------------------------------------------------------------------------------------


@some
def test_check_shows_the_card_and_remembers_what_is_solved(key: str, shown: list[Any]) -> None:
    entry = PUBLISHED[key]
    lesson.use(entry.lesson)
    name, hints = entry.exercise.name, entry.exercise.hints
    for answer, state in ((None, "notyet"), (entry.answer(entry.wrong[0][0]), "wrong")):
        check(name, answer)
        page = shown[-1]._repr_mimebundle_()["text/html"]
        assert_nested(page)
        assert f"course-{state}" in page and page.count("<details>") == len(hints)
        assert page.index(hints[0].block()) < page.index(hints[-1].block())
    assert not settings.solved(entry.lesson)
    check(name, solution(entry))
    bundle = shown[-1]._repr_mimebundle_()
    assert "course-solved" in bundle["text/html"] and "<details>" not in bundle["text/html"]
    assert bundle["text/plain"].startswith(f"exercise {name}: solved · 完成")
    assert settings.solved(entry.lesson) == {name}
