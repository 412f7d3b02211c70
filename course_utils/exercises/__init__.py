"""Exercises that answer back: a right answer is confirmed, a wrong one gets a hint about *that* mistake.

An exercise is a function that examines the learner's answer and either returns (solved) or raises
:class:`NotYet` or :class:`Wrong`. Whatever else the answer does (raise, loop for ever, return nonsense) becomes a
hint as well, never a traceback.
"""

from __future__ import annotations

import ctypes
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from course_utils import progress
from course_utils.language import Bilingual, plain

LIMIT_SECONDS = 5.0

_LESSONS = {
    "00": "course_utils.exercises.start_here",
    "01": "course_utils.exercises.cuda_check",
    "02": "course_utils.exercises.moving",
}


class NotYet(Exception):
    """The answer is still the stub.

    Args:
        en: What to do, in English; without it the learner is told to replace the ``...``.
        zh: The same in Chinese.
    """

    def __init__(self, *, en: str | None = None, zh: str | None = None) -> None:
        super().__init__(en)
        self.hint = Bilingual(en, zh) if en and zh else _NOT_YET


class Wrong(Exception):
    """The answer is wrong in a way that is understood.

    Args:
        en: What is wrong and where to look, in English.
        zh: The same in Chinese.
    """

    def __init__(self, *, en: str, zh: str) -> None:
        super().__init__(en)
        self.hint = Bilingual(en, zh)


@dataclass(frozen=True)
class Exercise:
    """An exercise: what it is called, how an answer is examined, and the hints to open one after the other."""

    name: str
    lesson: str
    title: Bilingual
    examine: Callable[[Any], None]
    hints: tuple[Bilingual, ...]


@dataclass(frozen=True)
class Answer:
    """What became of an answer: ``solved``, ``notyet`` or ``wrong``, and what to tell the learner."""

    state: str
    message: Bilingual


def exercises() -> dict[str, Exercise]:
    """Return all exercises of the course by name."""
    found: dict[str, Exercise] = {}
    for module in _LESSONS.values():
        for exercise in import_module(module).EXERCISES:
            found[exercise.name] = exercise
    return found


def _stub_bodies() -> set[bytes]:
    def bare(): ...
    def documented():
        """A docstring moves the constant None to another place."""
        ...

    return {bare.__code__.co_code, documented.__code__.co_code}


def is_stub(answer: Any) -> bool:
    """Return whether `answer` is still what the lesson supplied: ``...``, ``None``, or a function without a body."""
    if answer is None or answer is ...:
        return True
    code = getattr(answer, "__code__", None)
    return code is not None and code.co_code in _stub_bodies()


def _where(error: BaseException) -> str:
    """Return ``, line N`` for the deepest frame that the learner wrote (a notebook cell or an unnamed string)."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if "ipykernel" in frame.filename or frame.filename.startswith("<")
    ]
    return str(lines[-1]) if lines else ""


def _raised(error: BaseException) -> Bilingual:
    kind, text = type(error).__name__, _safe_text(error)
    line = _where(error)
    at_en, at_zh = (f" in line {line}", f"（第 {line} 行）") if line else ("", "")
    said_en, said_zh = (f": {text.rstrip('.')}", f"：{text.rstrip('.')}") if text else ("", "")
    return Bilingual(
        f"Your answer raised `{kind}`{at_en}{said_en}. Read the message first; then try your answer by hand on one "
        "small input, outside `check`.",
        f"你的答案執行時引發 `{kind}`{at_zh}{said_zh}。先讀這則訊息，再拿一筆小輸入，不透過 `check`，自己直接呼叫函式試試。",
    )


def _safe_text(error: BaseException) -> str:
    try:
        text = str(error).strip().splitlines()
    except Exception:  # an exception whose own text raises must not break the checker
        return ""
    return text[0][:200].replace("`", "'") if text else ""


_TOO_LONG = Bilingual(
    f"Your answer was still running after {LIMIT_SECONDS:g} seconds and was stopped. Is there a loop that never ends, "
    "or a wait for something that never comes?",
    f"你的答案跑了 {LIMIT_SECONDS:g} 秒還沒結束，已經中止。是不是有停不下來的迴圈，或在等一件不會發生的事？",
)
_SOLVED = Bilingual("Solved. Well done!", "答對了，做得好！")
_NOT_YET = Bilingual(
    "Not yet: replace the `...` with your answer and run the cell again.",
    "還沒完成：把 `...` 換成你的答案，再執行一次。",
)


class _Stopped(BaseException):
    """Raised inside the learner's thread when the time is up."""


def _examine(exercise: Exercise, answer: Any) -> Answer:
    try:
        if is_stub(answer):
            raise NotYet
        exercise.examine(answer)
    except NotYet as stub:
        return Answer("notyet", stub.hint)
    except Wrong as wrong:
        return Answer("wrong", wrong.hint)
    except _Stopped:
        return Answer("wrong", _TOO_LONG)
    except RecursionError:
        return Answer(
            "wrong",
            Bilingual(
                "Your function calls itself without end (`RecursionError`). Which input should it answer without "
                "calling itself?",
                "你的函式不停呼叫自己（`RecursionError`）。遇到哪一種輸入時，它應該直接回答，不再呼叫自己？",
            ),
        )
    except BaseException as error:  # also SystemExit: nothing that an answer does may end the lesson
        return Answer("wrong", _raised(error))
    return Answer("solved", _SOLVED)


def examine(exercise: Exercise, answer: Any, *, seconds: float = LIMIT_SECONDS) -> Answer:
    """Examine `answer` within a time limit and return what to tell the learner. Never raises on a bad answer.

    The answer runs in its own thread, since that is the one way to stop an endless Python loop on every operating
    system and from every front end. A thread that cannot be stopped (it waits inside a C function) is left behind.
    """
    result: list[Answer] = []
    thread = threading.Thread(target=lambda: result.append(_examine(exercise, answer)), daemon=True)
    thread.start()
    thread.join(seconds)
    # An answer may swallow the first interruption (a bare `except:` inside its loop), so ask a few times.
    for _ in range(20):
        if not thread.is_alive():
            break
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stopped)
        )
        thread.join(0.05)
    return result[0] if result else Answer("wrong", _TOO_LONG)


def check(name: str, answer: Any) -> None:
    """Check the learner's `answer` to the exercise `name`, and show a confirmation or a hint.

    Args:
        name: The exercise's name, as the lesson's cell has it.
        answer: What the exercise asks for: a function, a class or a value.

    Raises:
        ValueError: There is no exercise of that name (a typing mistake in the cell).
    """
    from IPython.display import display

    known = exercises()
    if name not in known:
        raise ValueError(
            f"check({name!r}, …): there is no such exercise; the course has {', '.join(sorted(known))}."
        )
    exercise = known[name]
    result = examine(exercise, answer)
    if result.state == "solved":
        progress.solve(exercise.lesson, name)
    display(Card(exercise, result))


_STATES = {
    "solved": Bilingual("solved", "完成"),
    "notyet": Bilingual("not yet", "還沒完成"),
    "wrong": Bilingual("not right yet", "還不對"),
}


@dataclass(frozen=True)
class Card:
    """How the answer to an exercise looks in a notebook."""

    exercise: Exercise
    result: Answer

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        state = _STATES[self.result.state]
        steps = "" if self.result.state == "solved" else self._steps()
        return {
            "text/html": (
                f'<div class="course-card course-exercise course-{self.result.state}">'
                f'<p><span class="course-title"><span lang="en">Exercise: </span><span lang="zh-Hant">練習：</span>'
                f'{self.exercise.title.html()}</span> <span class="course-verdict">{state.html()}</span></p>'
                f"{self.result.message.block()}{steps}</div>"
            ),
            "text/plain": f"exercise {self.exercise.name}: {state}\n{plain(str(self.result.message))}",
        }

    def _steps(self) -> str:
        """Return the hints, each inside the one before: opening one is needed to see the next."""
        nested = ""
        for number, hint in reversed(list(enumerate(self.exercise.hints, start=1))):
            label = Bilingual(f"Hint {number}", f"提示 {number}")
            nested = f"<details><summary>{label.html()}</summary>{hint.block()}{nested}</details>"
        return nested
