"""Exercises that answer back: a right answer is confirmed, a wrong one gets a hint about *that* mistake.

An exercise is a function that examines the learner's answer and either returns (solved) or raises
:class:`NotYet` or :class:`Wrong`. Whatever else the answer does (raise, loop endlessly, return nonsense) becomes a
hint as well, never a traceback. The exercises themselves are in the lessons' rooms (``lesson_NN/checks.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual, plain
from course_utils import lesson, settings
from course_utils.exercise_hints import INTERRUPTED, NOT_YET, RECURSION, SOLVED, TOO_LONG, is_stub, raised
from course_utils.limits import TimeUp, limited

LIMIT_SECONDS = 10.0  # PyTorch imports parts of itself at their first use, which takes seconds on a slow disk


def _short(text: str) -> str:
    return text if len(text) <= 800 else f"{text[:400]} … {text[-400:]}"


class NotYet(Exception):
    """The answer is still the stub; without texts the learner is told to replace the ``...``."""

    def __init__(self, *, en: str | None = None, zh: str | None = None) -> None:
        super().__init__(en)
        self.hint = Bilingual(en, zh) if en and zh else NOT_YET


class Wrong(Exception):
    """The answer is wrong in a way that is understood; the texts say what is wrong and where to look."""

    def __init__(self, *, en: str, zh: str) -> None:
        super().__init__(en)
        self.hint = Bilingual(_short(en), _short(zh))  # a hint may quote an answer of any length


NO_RETURN = {
    "en": "Your function returned `None`: is there a `return`?",
    "zh": "你的函式傳回了 `None`，有寫 `return` 嗎？",
}


LEVELS = {
    level: Bilingual(level, zh) for level, zh in (("easy", "簡單"), ("medium", "中等"), ("hard", "困難"))
}


@dataclass(frozen=True)
class Exercise:
    """An exercise: what it is called, how an answer is examined, and the hints to open one after the other.

    Attributes:
        name: As the lesson's cell has it.
        title: What the card says.
        examine: Raises :class:`NotYet` or :class:`Wrong`, or returns if the answer is right.
        hints: Each opens the next.
        seconds: How long `examine` may take, and `show` as well; more where it starts processes.
        level: ``"easy"`` (two minutes), ``"medium"`` or ``"hard"``.
        show: Gets the answer after it was examined, right or wrong, and returns what to show below the verdict: a table
            or a picture of what the learner's code did. If it raises, nothing is shown.
    """

    name: str
    title: Bilingual
    examine: Callable[[Any], None]
    hints: tuple[Bilingual, ...]
    seconds: float = LIMIT_SECONDS
    level: str | None = None
    show: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Answer:
    """What became of an answer: ``solved``, ``notyet`` or ``wrong``, what to tell the learner, whether it was stopped."""

    state: str
    message: Bilingual
    stopped: bool = False


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
        with limited(limit):
            if is_stub(answer):
                return Answer("notyet", NOT_YET)
            exercise.examine(answer)
    except NotYet as stub:
        return Answer("notyet", stub.hint)
    except Wrong as wrong:
        return Answer("wrong", wrong.hint)
    except TimeUp:
        return Answer("wrong", TOO_LONG.format(seconds=limit), stopped=True)
    except KeyboardInterrupt:
        return Answer("wrong", INTERRUPTED, stopped=True)
    except RecursionError:
        return Answer("wrong", RECURSION)
    except BaseException as error:  # also SystemExit: nothing that an answer does may end the lesson
        return Answer("wrong", raised(error))
    return Answer("solved", SOLVED)


def seen(exercise: Exercise, answer: Any) -> tuple[str, str]:
    """Return what the exercise shows of `answer`, as HTML and as plain text; both are empty if it shows nothing.

    This runs the learner's code once more, within the same limits; what it prints was already seen.
    """
    try:
        with limited(exercise.seconds, printed=0):
            forms = exercise.show(answer)._repr_mimebundle_() if exercise.show else {}
        page, text = forms.get("text/html"), forms.get("text/plain")
    except BaseException:  # an answer may raise anything, and its verdict is shown all the same
        return "", ""
    return (page, text) if isinstance(page, str) and isinstance(text, str) else ("", "")


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
    shown = ("", "") if result.state == "notyet" or result.stopped else seen(exercise, answer)
    display(Card(exercise, result, *shown))


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
    page: str = ""  # what the exercise shows of the answer
    text: str = ""  # the same as plain text

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        state = _STATES[self.result.state]
        title = Bilingual(f"Exercise: {self.exercise.title.en}", f"練習：{self.exercise.title.zh}")
        steps = "" if self.result.state == "solved" else self._steps()
        level = LEVELS.get(self.exercise.level or "")
        hardness = f' <span class="course-level">{level.html()}</span>' if level else ""
        below = f'<div class="course-seen">{self.page}</div>' if self.page else ""
        return {
            "text/html": (
                f'<div class="course-card course-exercise course-{self.result.state}">'
                f'<p><span class="course-title">{title.html()}</span>{hardness}'
                f' <span class="course-verdict">{state.html()}</span></p>'
                f"{self.result.message.block()}{below}{steps}</div>"
            ),
            "text/plain": f"exercise {self.exercise.name}: {state}\n{plain(str(self.result.message))}"
            + (f"\n{self.text}" if self.text else ""),
        }

    def _steps(self) -> str:
        """Return the hints, each inside the one before: opening one is needed to see the next."""
        nested = ""
        for number, hint in reversed(list(enumerate(self.exercise.hints, start=1))):
            label = Bilingual(f"Hint {number}", f"提示 {number}")
            nested = f"<details><summary>{label.html()}</summary>{hint.block()}{nested}</details>"
        return nested
