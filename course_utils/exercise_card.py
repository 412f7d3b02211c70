"""`check` of the lessons: the card with the verdict on an answer, its hint, and what the learner's code did."""

from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual, plain, texts
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
    display(Card(exercise, result, *shown))


@dataclass(frozen=True)
class Card:
    """How the answer to an exercise looks in a notebook."""

    exercise: Exercise
    result: Answer
    page: str = ""  # what the exercise shows of the answer
    text: str = ""  # the same as plain text

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        state = _TEXTS["state"][self.result.state]
        title = _TEXTS["title"].format(title=self.exercise.title)
        steps = "" if self.result.state == "solved" else self._steps()
        level = LEVELS[self.exercise.level].html()
        below = f'<div class="course-seen">{self.page}</div>' if self.page else ""
        return {
            "text/html": (
                f'<div class="course-card course-exercise course-{self.result.state}">'
                f'<p><span class="course-title">{title.html()}</span> <span class="course-level">{level}</span>'
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
            label = _TEXTS["hint"].format(number=number)
            nested = f"<details><summary>{label.html()}</summary>{hint.block()}{nested}</details>"
        return nested
