"""Exercises that answer back: a right answer is confirmed, a wrong one gets a hint about *that* mistake.

An exercise is a function that examines the learner's answer and either returns (solved) or raises
:class:`NotYet` or :class:`Wrong`. Whatever else the answer does (raise, loop for ever, return nonsense) becomes a
hint as well, never a traceback.
"""

from __future__ import annotations

import ctypes
import dis
import io
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from course_utils import progress
from course_utils.language import Bilingual, plain
from course_utils.measure import preserved_state

LIMIT_SECONDS = 5.0
STOP_SECONDS = 1.0  # how long an answer is asked to stop
PRINTED_MOST = 10_000  # characters

_LESSONS = {
    "00": "course_utils.exercises.start_here",
    "01": "course_utils.exercises.cuda_check",
    "02": "course_utils.exercises.moving",
    "03": "course_utils.exercises.precision",
    "04": "course_utils.exercises.streams",
    "05": "course_utils.exercises.data_parallel",
    "06": "course_utils.exercises.distributed",
}


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
        self.hint = Bilingual(en, zh) if en and zh else _NOT_YET


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
        lesson: Two digits.
        title: What the card says.
        examine: Raises :class:`NotYet` or :class:`Wrong`, or returns if the answer is right.
        hints: Each opens the next.
        prepare: Called before, outside the time limit: what makes PyTorch load the modules that `examine` needs. On
            a slow disk that takes longer than an answer may, and an import that is interrupted never works again.
        seconds: How long `examine` may take; more where it starts processes.
    """

    name: str
    lesson: str
    title: Bilingual
    examine: Callable[[Any], None]
    hints: tuple[Bilingual, ...]
    prepare: Callable[[], object] | None = None
    seconds: float = LIMIT_SECONDS


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


def is_stub(answer: Any) -> bool:
    """Return whether `answer` is still what the lesson supplied: ``...``, ``None``, or a function without a body."""
    if answer is None or answer is ...:
        return True
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    # A body of `...` does one thing, returning the constant None; `return True` compiles to the same bytes, but with
    # another constant, and `best = None` only begins in the same way.
    steps = [(s.opname, s.argval) for s in dis.get_instructions(code) if s.opname not in ("RESUME", "NOP")]
    return steps in ([("LOAD_CONST", None), ("RETURN_VALUE", None)], [("RETURN_CONST", None)])


def _where(error: BaseException) -> str:
    """Return the line of the deepest frame that the learner wrote (a notebook cell or an unnamed string), or ""."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if "ipykernel" in frame.filename
        or (frame.filename.startswith("<") and not frame.filename.startswith("<frozen"))
    ]
    return str(lines[-1]) if lines else ""


def _raised(error: BaseException) -> Bilingual:
    kind, text, line = type(error).__name__, _safe_text(error), _where(error)
    said_en, said_zh = (f": {text.rstrip('.')}", f"：{text.rstrip('.')}") if text else ("", "")
    if not line:  # not in the learner's code: it cannot be called, or what it returned cannot be examined
        return Bilingual(
            f"The check cannot use your answer (`{kind}`{said_en}). Does it take what the exercise gives, and return "
            "what the exercise asks for?",
            f"無法檢查你的答案（`{kind}`{said_zh}）。它收的引數、傳回的結果，都和題目要求的一樣嗎？",
        )
    return Bilingual(
        f"Your answer raised `{kind}` in line {line}{said_en}. Read the message first; then try your answer by hand on "
        "one small input, outside `check`.",
        f"你的答案執行時引發 `{kind}`（第 {line} 行）{said_zh}。先讀這則訊息，再拿一筆小輸入，不透過 `check`，自己直接呼叫函式試試。",
    )


def _safe_text(error: BaseException) -> str:
    try:
        text = str(error).strip().splitlines()
    except BaseException:  # an exception whose own text raises must not break the checker
        return ""
    return text[0][:200].replace("`", "'") if text else ""


def _too_long(seconds: float, stopped: bool) -> Bilingual:
    if stopped:
        end = Bilingual("and was stopped", "，已經中止")
    else:
        end = Bilingual(
            "and cannot be stopped: restart the kernel afterwards", "，而且停不下來，之後請重新啟動核心"
        )
    return Bilingual(
        f"Your answer was still running after {seconds:g} seconds {end.en}. Is there a loop that never ends, or a wait "
        "for something that never comes?",
        f"你的答案跑了 {seconds:g} 秒還沒結束{end.zh}。是不是有停不下來的迴圈，或在等一件不會發生的事？",
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
        raise
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


class _Trimmed(io.TextIOBase):
    """Passes on what an answer prints, up to a limit: a print in an endless loop would choke the notebook."""

    def __init__(self, target: Any, characters: int) -> None:
        self.target, self.left = target, characters

    def write(self, text: str) -> int:
        """Pass on as much of `text` as is allowed."""
        if self.left > 0:
            self.target.write(text[: self.left])
            self.left -= len(text)
            if self.left <= 0:
                self.target.write("\n…\n")
        return len(text)

    def flush(self) -> None:
        """Flush the target."""
        self.target.flush()


class _Worker(threading.Thread):
    """Examines an answer, and can be asked to stop."""

    def __init__(self, exercise: Exercise, answer: Any) -> None:
        super().__init__(daemon=True)
        self.exercise, self.given = exercise, answer
        self.result: Answer | None = None
        self.lock = threading.Lock()
        self.leaving = False  # the answer is done: from here on an interruption would hit our own code
        self.ended = False
        # Not an Event, whose lock an interruption can leave behind. join() would do, but forgets a thread when the
        # learner interrupts it.
        self.end: SimpleQueue[None] = SimpleQueue()

    def run(self) -> None:
        """Examine the answer. Its last interruption may arrive when it has ended already."""
        try:
            try:
                self.result = _examine(self.exercise, self.given)
            except _Stopped:
                pass
            self._leave()
        except _Stopped:
            self._leave()

    def _leave(self) -> None:
        with self.lock:
            self.leaving = True
        self.end.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the answer and return whether it has come."""
        if not self.ended:
            with suppress(Empty):
                self.end.get(timeout=seconds)
                self.ended = True
        return self.ended

    def _in_the_answer(self) -> bool:
        """Return whether an interruption now would hit the answer, and be heard.

        Python raises nothing out of a destructor: it reports there what was raised, and goes on.
        """
        frame, names = sys._current_frames().get(self.ident or 0), set()
        while frame is not None and frame.f_code is not _examine.__code__:
            names.add(frame.f_code.co_name)
            frame = frame.f_back
        return frame is not None and not names & {"__del__", _report.__name__}

    def stop(self) -> bool:
        """Interrupt the answer and return whether it has ended. It may swallow that, so it is asked many times."""
        end = time.monotonic() + STOP_SECONDS
        while not self.ended and time.monotonic() < end:
            with self.lock:
                if not self.leaving and self._in_the_answer():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self.ident or 0), ctypes.py_object(_Stopped)
                    )
            self.wait(0.002)
        return self.ended


def _report(before: Callable[[Any], object], unraisable: Any) -> None:
    """Report what cannot be raised as `before`, but for an interruption in a destructor: the next one follows."""
    if not issubclass(unraisable.exc_type, _Stopped):
        before(unraisable)


@contextmanager
def _quiet_destructors() -> Iterator[None]:
    before = sys.unraisablehook
    sys.unraisablehook = partial(_report, before)
    try:
        yield
    finally:
        sys.unraisablehook = before


def examine(exercise: Exercise, answer: Any, *, seconds: float | None = None) -> Answer:
    """Examine `answer` within a time limit and return what to tell the learner. Never raises on a bad answer.

    The answer runs in its own thread, since that is the one way to stop an endless Python loop on every operating
    system and from every front end. A thread that cannot be stopped (it waits inside a C function, or swallows every
    interruption) is left behind, and the learner is told to restart the kernel. What the answer changes in PyTorch's
    state is put back.
    """
    seconds = exercise.seconds if seconds is None else seconds
    if exercise.prepare is not None:
        exercise.prepare()
    worker = _Worker(exercise, answer)
    out, err = _Trimmed(sys.stdout, PRINTED_MOST), _Trimmed(sys.stderr, PRINTED_MOST)
    with preserved_state(threads=None), redirect_stdout(out), redirect_stderr(err), _quiet_destructors():
        try:
            worker.start()
            worker.wait(seconds)
        finally:  # also when the learner interrupts the cell
            stopped = worker.stop()
    return worker.result or Answer("wrong", _too_long(seconds, stopped))


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
