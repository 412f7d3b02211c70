"""Exercises that answer back: a right answer is confirmed, a wrong one gets a hint about *that* mistake.

An exercise is a function that examines the learner's answer and either returns (solved) or raises
:class:`NotYet` or :class:`Wrong`. Whatever else the answer does (raise, loop endlessly, return nonsense) becomes a
hint as well, never a traceback. The exercises themselves are in the lessons' rooms (``lesson_NN/checks.py``).
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from course_utils import lesson, settings
from course_utils.exercise_hints import INTERRUPTED, NOT_YET, RECURSION, SOLVED, TOO_LONG, is_stub, raised
from course_utils.torch_state import preserved_state
from torch_doctor.bilingual import Bilingual, plain

LIMIT_SECONDS = 10.0  # PyTorch imports parts of itself at their first use, which takes seconds on a slow disk
PRINTED_MOST = 10_000  # characters of an answer's own output


def _short(text: str, most: int = 800) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


class NotYet(Exception):
    """The answer is still the stub.

    Args:
        en: What to do, in English; without it the learner is told to replace the ``...``.
        zh: The same in Chinese.
    """

    def __init__(self, *, en: str | None = None, zh: str | None = None) -> None:
        super().__init__(en)
        self.hint = Bilingual(en, zh) if en and zh else NOT_YET


class Wrong(Exception):
    """The answer is wrong in a way that is understood.

    Args:
        en: What is wrong and where to look, in English.
        zh: The same in Chinese.
    """

    def __init__(self, *, en: str, zh: str) -> None:
        super().__init__(en)
        self.hint = Bilingual(_short(en), _short(zh))  # a hint may quote an answer of any length


NO_RETURN = {
    "en": "Your function returned `None`: is there a `return`?",
    "zh": "你的函式傳回 `None`：有寫 `return` 嗎？",
}


@dataclass(frozen=True)
class Exercise:
    """An exercise: what it is called, how an answer is examined, and the hints to open one after the other.

    Attributes:
        name: As the lesson's cell has it.
        title: What the card says.
        examine: Raises :class:`NotYet` or :class:`Wrong`, or returns if the answer is right.
        hints: Each opens the next.
        seconds: How long `examine` may take; more where it starts processes.
    """

    name: str
    title: Bilingual
    examine: Callable[[Any], None]
    hints: tuple[Bilingual, ...]
    seconds: float = LIMIT_SECONDS


@dataclass(frozen=True)
class Answer:
    """What became of an answer: ``solved``, ``notyet`` or ``wrong``, and what to tell the learner."""

    state: str
    message: Bilingual


class _TimeUp(BaseException):
    """Raised inside the answer when the time is up; no ``except Exception`` catches it."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`_TimeUp` in the block after `seconds`, and again every second if the block catches it.

    Unlike an exception sent to a thread, a signal also ends ``time.sleep`` and waiting for a lock. Windows has no such
    timer, and Python handles signals in the main thread only: there the learner presses the stop button.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # first: a timer that fires here must not raise
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Limited(io.TextIOBase):
    """Passes on what an answer prints, up to a limit: a print in an endless loop would flood the notebook."""

    def __init__(self, target: Any) -> None:
        self.target, self.left = target, PRINTED_MOST

    def write(self, text: str) -> int:
        """Pass on as much of `text` as is allowed."""
        if self.left > 0:
            self.target.write(text[: self.left] if len(text) < self.left else f"{text[: self.left]}\n…\n")
            self.left -= len(text)
        return len(text)

    def flush(self) -> None:
        """Flush the target."""
        self.target.flush()


def examine(exercise: Exercise, answer: Any, *, seconds: float | None = None) -> Answer:
    """Examine `answer` within a time limit. Never raises on a bad answer, and restores PyTorch's global state.

    Args:
        exercise: Which exercise it answers.
        answer: What the learner passed to :func:`check`.
        seconds: Time limit; the exercise's own if not given.

    Returns:
        What to tell the learner.
    """
    limit = exercise.seconds if seconds is None else seconds
    try:
        with (
            preserved_state(threads=None),
            redirect_stdout(_Limited(sys.stdout)),
            redirect_stderr(_Limited(sys.stderr)),
            _time_limit(limit),
        ):
            if is_stub(answer):
                return Answer("notyet", NOT_YET)
            exercise.examine(answer)
    except NotYet as stub:
        return Answer("notyet", stub.hint)
    except Wrong as wrong:
        return Answer("wrong", wrong.hint)
    except _TimeUp:
        return Answer("wrong", TOO_LONG.format(seconds=limit))
    except KeyboardInterrupt:
        return Answer("wrong", INTERRUPTED)
    except RecursionError:
        return Answer("wrong", RECURSION)
    except BaseException as error:  # also SystemExit: nothing that an answer does may end the lesson
        return Answer("wrong", raised(error))
    return Answer("solved", SOLVED)


def check(name: str, answer: Any) -> None:
    """Check the learner's `answer` to the exercise `name`, and show a confirmation or a hint.

    Args:
        name: The exercise's name, as the lesson's cell has it.
        answer: What the exercise asks for: a function, a class or a value.

    Raises:
        RuntimeError: The set-up cell was not run.
        ValueError: The lesson has no exercise of that name (a typing mistake in the cell).
    """
    from IPython.display import display

    known = lesson.exercises()
    if name not in known:
        raise ValueError(
            f"check({name!r}, …): there is no such exercise; the lesson has {', '.join(sorted(known))}."
        )
    exercise = known[name]
    result = examine(exercise, answer)
    if result.state == "solved":
        settings.mark_solved(lesson.current(), name)
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
        title = Bilingual(f"Exercise: {self.exercise.title.en}", f"練習：{self.exercise.title.zh}")
        steps = "" if self.result.state == "solved" else self._steps()
        return {
            "text/html": (
                f'<div class="course-card course-exercise course-{self.result.state}">'
                f'<p><span class="course-title">{title.html()}</span>'
                f' <span class="course-verdict">{state.html()}</span></p>'
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
