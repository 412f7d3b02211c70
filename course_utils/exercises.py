"""Exercises that answer back: a right answer is confirmed, a wrong one gets a hint about *that* mistake.

An exercise is a module ``lesson_NN/exercises/NAME.py``; its texts are in ``lesson_NN/exercises.toml``. The module has

``judge(answer)``
    A generator of the mistakes that it looks for, in this order: ``(whether it was made, its key)``, or with a
    dictionary of values for the hint's text as well. The first that was made is the hint. What it calls may raise
    :class:`Mistake` or :class:`NotYet` instead.
``show(answer)``
    What the learner's code did, right or wrong, as a table or a picture.

The TOML has for each exercise ``title``, ``level``, ``hints``, the texts of its ``mistakes`` by key, and ``seconds`` where
it may take more than usual. A key of ``exercise_hints.toml`` has the general text, unless the exercise gives its own.

Whatever else an answer does (raise, loop endlessly, return nonsense) becomes a hint as well, never a traceback.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from bilingual import Bilingual, texts
from course_utils import lesson
from course_utils.exercise_hints import HINTS, is_stub, raised
from course_utils.limits import TimeUp, limited

LIMIT_SECONDS = 10.0  # PyTorch imports parts of itself at their first use, which takes seconds on a slow disk

Mistakes = Iterator[tuple[Any, ...]]  # whether it was made, its key, and perhaps a dictionary of values


class _Reply(Exception):
    """What ends a judge.

    Args:
        key: The key of the hint.
        values: What to fill in.
    """

    state = "wrong"

    def __init__(self, key: str, /, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


class NotYet(_Reply):
    """The answer is still the stub; without a key the learner is told to replace the ``...``."""

    state = "notyet"

    def __init__(self, key: str = "not_yet", /, **values: object) -> None:
        super().__init__(key, **values)


class Mistake(_Reply):
    """A mistake that is noticed below a judge: in a helper, or in an object that the answer was given."""


@dataclass(frozen=True)
class Exercise:
    """An exercise: what it is called, how an answer is judged, and the hints to open one after the other.

    Attributes:
        name: As the lesson's cell has it.
        title: What the card says.
        judge: Yields the mistakes that it looks for; see this module.
        hints: Each opens the next.
        mistakes: The hint for each mistake, by its key.
        seconds: How long `judge` may take, and `show` as well; more where it starts processes.
        level: ``"easy"`` (four minutes), ``"medium"`` or ``"hard"``.
        show: Gets the answer after it was judged, right or wrong, and returns what to show below the verdict: a table or
            a picture of what the learner's code did. If it raises or returns neither, nothing is shown.
    """

    name: str
    title: Bilingual
    judge: Callable[[Any], Mistakes]
    hints: Sequence[Bilingual] = ()
    mistakes: Mapping[str, Bilingual] = field(default_factory=dict)
    seconds: float = LIMIT_SECONDS
    level: str = "medium"
    show: Callable[[Any], Any] = lambda answer: None

    def text(self, key: str) -> Bilingual:
        """Return the hint for a mistake with its placeholders: the exercise's own, else the general one of that key.

        Args:
            key: The mistake.

        Raises:
            KeyError: There is no such text.
        """
        return self.mistakes.get(key) or HINTS[key]


def _short(text: str) -> str:
    """Return a hint without its middle if it quotes an answer of any length."""
    return text if len(text) <= 800 else f"{text[:400]} … {text[-400:]}"


@cache
def exercises_of(number: str) -> Mapping[str, Exercise]:
    """Return the exercises of a lesson by name, in the order of the lesson.

    Args:
        number: The lesson, two digits.
    """
    room = lesson.room(number)
    file = lesson.notebooks() / room / "exercises.toml"
    if not file.exists():
        return {}
    found = {}
    for name, own in texts(file).items():
        module = import_module(f"{room}.exercises.{name}")
        found[name] = Exercise(name, judge=module.judge, show=module.show, **own)
    return found


@dataclass(frozen=True)
class Answer:
    """What became of an answer: ``solved``, ``notyet`` or ``wrong``, what to tell the learner, and which mistake it was.

    Attributes:
        state: The verdict.
        message: What the learner is told.
        key: The mistake; the exercise's own, or one of any exercise.
        stopped: Whether it was still running.
    """

    state: str
    message: Bilingual
    key: str = ""
    stopped: bool = False


def examine(exercise: Exercise, answer: Any, *, seconds: float | None = None) -> Answer:
    """Examine `answer` within a time limit. Never raises on a bad answer, and restores PyTorch's global state.

    Args:
        exercise: Which exercise it answers.
        answer: What the learner passed to :func:`check`.
        seconds: Time limit; the exercise's own if not given.

    Returns:
        What to tell the learner.
    """  # noqa: DOC501  (a mistake that is raised here ends here)
    limit = exercise.seconds if seconds is None else seconds
    try:
        with limited(limit):
            if is_stub(answer):
                return Answer("notyet", HINTS["not_yet"], "not_yet")
            for made, key, *values in exercise.judge(answer):
                if made:
                    raise Mistake(key, **dict(*values))
    except _Reply as reply:
        try:
            text = exercise.text(reply.key).format(**reply.values)
        except (ValueError, OverflowError) as error:  # a number of thousands of digits
            return Answer("wrong", raised(error), "raised")
        return Answer(reply.state, Bilingual(_short(text.en), _short(text.zh)), reply.key)
    except TimeUp:
        return Answer("wrong", HINTS["too_long"].format(seconds=limit), "too_long", stopped=True)
    except KeyboardInterrupt:
        return Answer("wrong", HINTS["interrupted"], "interrupted", stopped=True)
    except RecursionError:
        return Answer("wrong", HINTS["recursion"], "recursion")
    except BaseException as error:  # also SystemExit: nothing that an answer does may end the lesson
        return Answer("wrong", raised(error), "raised")
    return Answer("solved", HINTS["solved"], "solved")


def seen(exercise: Exercise, answer: Any) -> tuple[str, str]:
    """Return what the exercise shows of `answer`, as HTML and as plain text; both are empty if it shows nothing.

    This runs the learner's code once more, within the same limits; what it prints was already seen.
    """
    try:
        with limited(exercise.seconds, printed=0):
            forms = exercise.show(answer)._repr_mimebundle_()
        page, text = forms.get("text/html"), forms.get("text/plain")
    except BaseException:  # an answer may raise anything, and its verdict is shown all the same
        return "", ""
    return (page, text) if isinstance(page, str) and isinstance(text, str) else ("", "")
