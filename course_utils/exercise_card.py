"""`check` of the lessons: the card with the verdict on an answer, its hint, and what the learner's code did."""

from typing import Any

from bilingual import Bilingual, Block, plain, texts
from course_utils import lesson, settings
from course_utils.exercises import Answer, Exercise, examine, exercises_of, seen

_TEXTS = texts(__file__)
LEVELS: dict[str, Bilingual] = _TEXTS["level"]


def check(name: str, answer: Any) -> None:
    """Check the learner's `answer` to the exercise `name`, and show a confirmation or a hint.

    Args:
        name: The exercise's name, as the lesson's cell has it.
        answer: What the exercise asks for: a function, a class, a value, or the path of a script.

    Raises:
        RuntimeError: The set-up cell was not run.
        ValueError: The lesson has no exercise of that name (a typing mistake in the cell).
    """
    from IPython.display import display

    known = exercises_of(lesson.current())
    if name not in known:
        raise ValueError(
            f"check({name!r}, …): there is no such exercise; the lesson has {', '.join(sorted(known))}."
        )
    exercise = known[name]
    result = examine(exercise, answer)
    if result.state == "solved":
        settings.mark_solved(lesson.current(), name)
    shown = ("", "") if result.state == "notyet" or result.stopped else seen(exercise, answer)
    display(card(exercise, result, *shown))


def card(exercise: Exercise, result: Answer, page: str = "", text: str = "") -> Block:
    """Return how the answer to an exercise looks in a notebook.

    Args:
        exercise: What was answered.
        result: What became of the answer.
        page: What the exercise shows of the answer, as HTML.
        text: The same as plain text.
    """
    state, title = _TEXTS["state"][result.state], _TEXTS["title"].format(title=exercise.title)
    below = f'<div class="course-seen">{page}</div>' if page else ""
    return Block(
        f'<div class="course-card course-exercise course-{result.state}">'
        f'<p><span class="course-title">{title.html()}</span>'
        f' <span class="course-level">{LEVELS[exercise.level].html()}</span>'
        f' <span class="course-verdict">{state.html()}</span></p>'
        f"{result.message.block()}{below}{'' if result.state == 'solved' else _steps(exercise)}</div>",
        f"exercise {exercise.name}: {state}\n{plain(str(result.message))}" + (f"\n{text}" if text else ""),
    )


def _steps(exercise: Exercise) -> str:
    """Return the hints, each inside the one before: opening one is needed to see the next."""
    nested = ""
    for number, hint in reversed(list(enumerate(exercise.hints, start=1))):
        label = _TEXTS["hint"].format(number=number)
        nested = f"<details><summary>{label.html()}</summary>{hint.block()}{nested}</details>"
    return nested
