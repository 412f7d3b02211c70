"""What :mod:`course_utils.exercises` does with any answer: stubs, time limit, output, state, cards.

The exercises themselves are tested in ``tests/lessons/test_exercises.py``.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_answers import ACTS, change_state, forever
from published import run
from test_measure import snapshot

from course_utils import check, exercises, lesson, settings
from course_utils.exercise_hints import is_stub
from course_utils.exercises import Exercise, Wrong, examine
from torch_doctor.bilingual import Bilingual

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
    return Exercise("x", Bilingual("a", "甲"), lambda answer: answer(), (), seconds)


@pytest.mark.parametrize("act", ACTS)
def test_state_is_restored_and_output_is_limited(act: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot()
    examine(calling(), ACTS[act])
    assert snapshot() == before
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert len(text) <= exercises.PRINTED_MOST + 10 and "Traceback" not in text


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


@pytest.mark.parametrize("act", [forever, lambda: time.sleep(60), lambda: threading.Event().wait(60)])
def test_the_time_limit_ends_loops_and_waits(act: Callable[[], None]) -> None:
    start = time.monotonic()
    answer = examine(calling(), act, seconds=0.1)
    assert answer.state == "wrong" and "was stopped" in answer.message.en and "已經中止" in answer.message.zh
    assert time.monotonic() - start < 5


def test_the_time_limit_ends_an_answer_that_swallows_it_once() -> None:
    start = time.monotonic()
    assert "was stopped" in examine(calling(), swallows_the_first_interruption, seconds=0.1).message.en
    assert time.monotonic() - start < 10


def test_the_limit_of_the_course() -> None:
    assert exercises.LIMIT_SECONDS <= 10


def test_no_timer_and_no_handler_is_left() -> None:
    def own(*_: object) -> None:
        raise AssertionError("the timer fired after the answer")

    before = signal.signal(signal.SIGALRM, own)
    try:
        assert examine(calling(), forever, seconds=0.05).state == "wrong"
        assert examine(calling(), lambda: 1, seconds=0.05).state == "solved"
        assert signal.getsignal(signal.SIGALRM) is own
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        time.sleep(0.1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_without_a_timer_the_answer_is_examined_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "setitimer")  # as on Windows
    assert examine(calling(), lambda: 1).state == "solved"


def test_outside_the_main_thread_the_answer_is_examined_without_a_limit() -> None:
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(examine(calling(), lambda: time.sleep(0.2), seconds=0.05))
    )
    thread.start()
    thread.join(10)
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
    def quote(answer: object) -> None:
        raise Wrong(en=f"a {answer!r} b", zh=f"甲 {answer!r} 乙")

    hint = examine(Exercise("x", Bilingual("a", "甲"), quote, ()), "x" * 100_000).message
    assert len(hint.en) < 1000 and hint.en.startswith("a 'x") and hint.en.endswith("x' b")


# --- in the lesson ------------------------------------------------------------------------------------


def test_hints_open_one_after_the_other(shown: list[Any]) -> None:
    lesson.use("01")
    check("on_gpu", None)
    page = shown[-1]._repr_mimebundle_()["text/html"]
    first, second = (page.index(hint.block()) for hint in lesson.exercises()["on_gpu"].hints[:2])
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
