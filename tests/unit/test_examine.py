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
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hostile_answers import ACTS, Resisting, change_state, forever
from html_nesting import assert_nested
from published import run
from tabled import tabled
from test_measure import snapshot

from bilingual import Bilingual, Block
from course_utils import check, exercise_card, lesson, limits
from course_utils.exercise_hints import HINTS, is_stub
from course_utils.exercises import Exercise, Mistakes, examine

# Nothing else can end an answer in the middle of a loop.
WITH_A_TIMER = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no setitimer")


@tabled
def test_is_stub(source: str, stub: bool) -> None:
    assert is_stub(run(source, "f")) is stub


def calling() -> Exercise:
    """Return an exercise that calls the answer and accepts whatever it returns."""
    return Exercise("x", Bilingual("a", "甲"), lambda answer: iter([(False, answer())]), seconds=5)


@pytest.mark.parametrize("act", ACTS)
def test_state_is_restored_and_output_is_limited(act: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot()
    examine(calling(), ACTS[act])
    assert snapshot() == before
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert len(text) <= limits.PRINTED_MOST + 10 and "Traceback" not in text


# --- the time limit -----------------------------------------------------------------------------------


def swallows_the_first_interruption() -> None:
    change_state()
    try:
        forever()
    except BaseException:
        forever()


@pytest.mark.parametrize(
    "act", [lambda: time.sleep(60), lambda: threading.Event().wait(60), swallows_the_first_interruption]
)
@WITH_A_TIMER
def test_the_time_limit_ends_loops_and_waits_and_state_is_restored(act: Callable[[], None]) -> None:
    start, before = time.monotonic(), snapshot()
    answer = examine(calling(), act, seconds=0.1)
    assert answer.state == "wrong" and "was stopped" in answer.message.en and "已經中止" in answer.message.zh
    assert time.monotonic() - start < 40 and snapshot() == before


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
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(examine, calling(), lambda: time.sleep(0.2), seconds=0.05)
        assert answer.result(60).state == "solved"


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


def test_what_an_answer_prints_is_shown_and_the_learners_line_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = "def answer():\n    print('look', 3)\n    return x / 0 if (x := 1) else 0\n"
    hint = examine(calling(), run(source, "answer")).message
    assert capsys.readouterr().out == "look 3\n"
    assert "`ZeroDivisionError` in line 3: division by zero." in hint.en and "第 3 行" in hint.zh
    hint = examine(calling(), 3).message  # an error outside the learner's code is not called theirs
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
    judge = lambda answer: iter([(answer != 3, "other")])  # noqa: E731
    return Exercise("on_gpu", Bilingual("a", "甲"), judge, mistakes=hints, seconds=seconds, show=show)


@pytest.fixture
def card(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Exercise], dict[str, str]]:
    """Return a function that returns the card which `check` displays."""
    lesson.use("01")

    def card(answer: Any, exercise: Exercise) -> dict[str, str]:
        monkeypatch.setattr(exercise_card, "exercises_of", lambda _: {"on_gpu": exercise})
        check("on_gpu", answer)
        bundle = shown[-1]._repr_mimebundle_()
        assert_nested(bundle["text/html"])
        return bundle

    return card


@pytest.mark.parametrize("answer, state", [(3, "solved"), (4, "wrong")])
def test_what_the_answer_did_is_shown_below_the_verdict(answer: int, state: str, card: Any) -> None:
    got: list[Any] = []
    bundle = card(answer, lenient(lambda given: (got.append(given), TABLE)[1]))
    assert got == [answer] and f"course-{state}" in bundle["text/html"]
    assert bundle["text/html"].index("course-verdict") < bundle["text/html"].index(TABLE.html)
    assert bundle["text/plain"].endswith("\ncalls: 3")


def test_the_stub_shows_nothing_and_its_card_stays_as_it_was(card: Any) -> None:
    ran: list[Any] = []
    shows = lenient(ran.append)
    assert card(None, shows) == card(None, dataclasses.replace(shows, show=None)) and not ran


NONSENSE: dict[str, Callable[[Any], Any]] = {
    "a text": lambda _: "<b>text</b>",
    "the class": lambda _: Block,
    "a block without text": lambda _: Block(3, None),  # type: ignore[arg-type]
    "what resists": lambda _: Resisting(),
}


@pytest.mark.parametrize("show", [*ACTS.values(), *NONSENSE.values()], ids=[*ACTS, *NONSENSE])
def test_whatever_show_does_the_verdict_is_shown(
    show: Callable[[Any], Any], card: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot()
    bundle = card(3, lenient(show))
    assert snapshot() == before
    assert "course-solved" in bundle["text/html"] and "course-seen" not in bundle["text/html"]
    assert bundle["text/plain"] == f"exercise on_gpu: solved · 完成\n{HINTS['solved']}"
    assert capsys.readouterr() == ("", ""), "examining has already printed it"


@WITH_A_TIMER
def test_an_endless_show_is_ended_and_an_answer_that_was_stopped_is_not_run_once_more(card: Any) -> None:
    start = time.monotonic()
    assert "course-seen" not in card(3, lenient(forever, seconds=0.1))["text/html"]
    assert time.monotonic() - start < 40
    ran: list[Any] = []
    exercise = dataclasses.replace(lenient(ran.append, seconds=0.1), judge=forever)
    assert "was stopped" in card(3, exercise)["text/html"] and not ran


def test_an_unknown_exercise_is_an_error_that_lists_the_lessons_own(shown: list[Any]) -> None:
    lesson.use("01")
    with pytest.raises(ValueError, match=r"check\('nobody', …\).*freest_gpu"):
        check("nobody", None)
    with pytest.raises(ValueError, match="no such exercise"):
        check("move", None)  # of lesson 02
    assert not shown
