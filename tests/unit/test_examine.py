"""What :mod:`course_utils.exercises` does with any answer: stubs, time limit, output, state, cards.

The exercises themselves are tested in ``tests/lessons/test_exercises.py``.
"""

import _thread
import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_answers import ACTS, Resisting, change_state, forever
from html_nesting import assert_nested
from published import run
from test_measure import snapshot

from bilingual import Bilingual, Block
from course_utils import check, exercise_card, figures, lesson, limits, settings
from course_utils.exercise_hints import HINTS, is_stub
from course_utils.exercises import Exercise, Mistakes, examine, exercises_of

# Nothing else can end an answer in the middle of a loop.
WITH_A_TIMER = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no setitimer")

STUBS = {
    "def f(): ...": True,
    "def f(a, b=1): ...": True,
    "def f(x):\n    'Its docstring.'": True,
    "def f(x):\n    'Its docstring.'\n    ...": True,
    "def f(x):\n    # a comment\n    pass": True,
    "def f(x):\n    return None": True,
    "f = None": True,
    "f = ...": True,
    "def f(x): return True": False,
    "def f(x): return 0": False,
    "def f(x):\n    'Its docstring.'\n    return 'text'": False,
    "def f(x):\n    best = None\n    return best": False,
    "def f(x): return x": False,
    "def f(x): x.y": False,
    "def f(x): yield": False,
    "def f(x): raise ValueError": False,
    "f = lambda x: 0": False,
    "f = print": False,
    "class f: ...": False,
    "f = 0": False,
    "f = ''": False,
    "f = {}": False,
}


@pytest.mark.parametrize("source", STUBS)
def test_is_stub(source: str) -> None:
    assert is_stub(run(source, "f")) == STUBS[source]


def calling(seconds: float = 5) -> Exercise:
    """Return an exercise that calls the answer and accepts whatever it returns."""
    return Exercise("x", Bilingual("a", "甲"), lambda answer: iter([(False, answer())]), seconds=seconds)


@pytest.mark.parametrize("act", ACTS)
def test_state_is_restored_and_output_is_limited(act: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot()
    examine(calling(), ACTS[act])
    assert snapshot() == before
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert len(text) <= limits.PRINTED_MOST + 10 and "Traceback" not in text


@WITH_A_TIMER
def test_state_is_restored_after_an_endless_answer() -> None:
    before = snapshot()

    def act() -> None:
        change_state()
        forever()

    examine(calling(), act, seconds=0.2)
    assert snapshot() == before


# --- the time limit -----------------------------------------------------------------------------------


def swallows_the_first_interruption() -> None:
    try:
        forever()
    except BaseException:
        forever()


@pytest.mark.parametrize(
    "act",
    [forever, lambda: time.sleep(60), lambda: threading.Event().wait(60), swallows_the_first_interruption],
)
@WITH_A_TIMER
def test_the_time_limit_ends_loops_and_waits(act: Callable[[], None]) -> None:
    start = time.monotonic()
    answer = examine(calling(), act, seconds=0.1)
    assert answer.state == "wrong" and "was stopped" in answer.message.en and "已經中止" in answer.message.zh
    assert time.monotonic() - start < 40


@WITH_A_TIMER
def test_no_timer_and_no_handler_is_left() -> None:
    def own(*_: object) -> None:
        raise AssertionError("the timer fired after the answer")

    before = signal.signal(signal.SIGALRM, own)
    try:
        assert examine(calling(), forever, seconds=0.05).state == "wrong"
        assert examine(calling(), lambda: 1, seconds=60).state == "solved"
        assert signal.getsignal(signal.SIGALRM) is own
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        time.sleep(0.1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_without_a_timer_the_answer_is_examined_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "setitimer", raising=False)  # as on Windows
    assert examine(calling(), lambda: 1).state == "solved"


def test_outside_the_main_thread_the_answer_is_examined_without_a_limit() -> None:
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(examine(calling(), lambda: time.sleep(0.2), seconds=0.05))
    )
    thread.start()
    thread.join(60)
    assert [answer.state for answer in found] == ["solved"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """React to an interrupt as a kernel does; what a shell starts in the background inherits that it is ignored."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_by_the_learner_becomes_a_hint() -> None:
    """The stop button, which on Windows is the only way to end an answer."""

    def impatient() -> None:
        _thread.interrupt_main()
        forever()

    stdout = sys.stdout
    answer = examine(calling(), impatient, seconds=60)
    assert answer.state == "wrong" and "You stopped" in answer.message.en and "中止" in answer.message.zh
    assert sys.stdout is stdout


# --- hints --------------------------------------------------------------------------------------------


def test_what_an_answer_prints_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    examine(calling(), lambda: print("look", 3))
    assert capsys.readouterr().out == "look 3\n"


def test_the_learners_line_is_named() -> None:
    source = "def answer():\n    x = 1\n    return x / 0\n"
    hint = examine(calling(), run(source, "answer")).message
    assert "`ZeroDivisionError` in line 3: division by zero." in hint.en and "第 3 行" in hint.zh


def test_an_error_outside_the_learners_code_is_not_called_theirs() -> None:
    hint = examine(calling(), 3).message
    assert hint.en.startswith("The check cannot use your answer (`TypeError`: 'int' object is not callable)")


def test_a_hint_of_any_length_is_shortened() -> None:
    def judge(answer: object) -> Mistakes:
        yield False, "earlier"
        yield True, "quote", {"answer": answer}
        raise AssertionError("nothing is looked for after the first mistake")

    hints = {"quote": Bilingual("a {answer!r} b", "甲 {answer!r} 乙")}
    hint = examine(Exercise("x", Bilingual("a", "甲"), judge, mistakes=hints), "x" * 100_000).message
    assert len(hint.en) < 1000 and hint.en.startswith("a 'x") and hint.en.endswith("x' b")


# --- what an exercise shows of the answer -------------------------------------------------------------


TABLE = Block("<table><tr><td>3</td></tr></table>", "calls: 3")


def lenient(show: Callable[[Any], Any], seconds: float = 5) -> Exercise:
    """Return an exercise that accepts 3 and shows what `show` makes of the answer."""

    hints = {"other": Bilingual("Not 3.", "不是 3。")}
    return Exercise(
        "on_gpu",
        Bilingual("a", "甲"),
        lambda answer: iter([(answer != 3, "other")]),
        mistakes=hints,
        seconds=seconds,
        level="easy",
        show=show,
    )


def card(
    answer: Any, exercise: Exercise, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Return the card that `check` displays."""
    lesson.use("01")
    monkeypatch.setattr(exercise_card, "exercises_of", lambda _: {"on_gpu": exercise})
    check("on_gpu", answer)
    bundle = shown[-1]._repr_mimebundle_()
    assert_nested(bundle["text/html"])
    return bundle


@pytest.mark.parametrize("answer, state", [(3, "solved"), (4, "wrong")])
def test_what_the_answer_did_is_shown_below_the_verdict(
    answer: int, state: str, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[Any] = []
    bundle = card(answer, lenient(lambda given: (got.append(given), TABLE)[1]), shown, monkeypatch)
    assert got == [answer] and f"course-{state}" in bundle["text/html"]
    assert bundle["text/html"].index("course-verdict") < bundle["text/html"].index(TABLE.html)
    assert bundle["text/plain"].endswith("\ncalls: 3")


def test_a_picture_can_be_shown(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(_: Any) -> figures.Picture:
        figure, axes = figures.new()
        axes.plot([1, 2])
        return figures.Picture(figure, Bilingual("a", "甲"), Bilingual("b", "乙"))

    assert "<img alt=" in card(3, lenient(draw), shown, monkeypatch)["text/html"]


def test_the_stub_shows_nothing_and_its_card_stays_as_it_was(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: Any) -> Any:
        raise AssertionError("the stub is not shown")

    with_show = card(None, lenient(never), shown, monkeypatch)
    assert with_show == card(None, dataclasses.replace(lenient(never), show=None), shown, monkeypatch)


def quiet(_: Any) -> Any:
    print("printed once more")
    return TABLE


NONSENSE: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda _: None,
    "a number": lambda _: 3,
    "a text": lambda _: "<b>text</b>",
    "a list": lambda _: [TABLE],
    "the class": lambda _: Block,
    "a block without text": lambda _: Block(3, None),  # type: ignore[arg-type]
    "what resists": lambda _: Resisting(),
}


@pytest.mark.parametrize("show", [*ACTS.values(), *NONSENSE.values()], ids=[*ACTS, *NONSENSE])
def test_whatever_show_does_the_verdict_is_shown(
    show: Callable[[Any], Any],
    shown: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = snapshot()
    bundle = card(3, lenient(show), shown, monkeypatch)
    assert snapshot() == before
    assert "course-solved" in bundle["text/html"] and "course-seen" not in bundle["text/html"]
    assert bundle["text/plain"] == f"exercise on_gpu: solved · 完成\n{HINTS['solved']}"
    assert capsys.readouterr() == ("", ""), "examining has already printed it"


@WITH_A_TIMER
def test_an_endless_show_is_ended(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.monotonic()
    assert "course-seen" not in card(3, lenient(forever, seconds=0.1), shown, monkeypatch)["text/html"]
    assert time.monotonic() - start < 40


def test_what_it_prints_is_not_printed_twice(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert TABLE.html in card(3, lenient(quiet), shown, monkeypatch)["text/html"]
    assert capsys.readouterr() == ("", "")


@WITH_A_TIMER
def test_an_answer_that_was_stopped_is_not_run_once_more(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    exercise = dataclasses.replace(lenient(ran.append, seconds=0.1), judge=forever)
    assert "was stopped" in card(3, exercise, shown, monkeypatch)["text/html"] and not ran


@pytest.mark.parametrize("level, words", [("easy", "簡單"), ("medium", "中等"), ("hard", "困難")])
def test_the_level_stands_in_the_card(
    level: str, words: str, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = card(3, dataclasses.replace(lenient(quiet), level=level), shown, monkeypatch)["text/html"]
    assert f'"course-level"><span lang="en">{level}</span><span lang="zh-Hant">{words}</span>' in page


# --- in the lesson ------------------------------------------------------------------------------------


def test_hints_open_one_after_the_other(shown: list[Any]) -> None:
    lesson.use("01")
    check("on_gpu", None)
    page = shown[-1]._repr_mimebundle_()["text/html"]
    first, second = (page.index(hint.block()) for hint in exercises_of("01")["on_gpu"].hints[:2])
    assert "</details>" not in page[first:second], "the second is inside the first"


def test_an_unknown_exercise_is_an_error_that_lists_the_lessons_own(shown: list[Any]) -> None:
    lesson.use("01")
    with pytest.raises(ValueError, match=r"check\('nobody', …\).*freest_gpu"):
        check("nobody", None)
    with pytest.raises(ValueError, match="no such exercise"):
        check("move", None)  # of lesson 02
    assert not shown


def test_check_before_setup_is_an_error_that_says_what_to_do(shown: list[Any]) -> None:
    lesson.use(None)
    with pytest.raises(RuntimeError, match=r"first code cell.*第一個程式碼儲存格"):
        check("on_gpu", None)


def test_progress_that_cannot_be_saved_does_not_stop_the_lesson(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "file" / "data"))
    lesson.use("01")
    check("on_gpu", lambda tensor: tensor.is_cuda)
    assert "course-solved" in shown[-1]._repr_mimebundle_()["text/html"]
    assert settings.solved("01") == set()
