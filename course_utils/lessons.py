"""The map of the course: which lessons there are, how long they take, and how far this learner has come."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_utils import progress
from course_utils.exercises import exercises
from course_utils.language import Bilingual, measured

PATTERN = "[0-9][0-9]_*.ipynb"
REPOSITORY = Path(__file__).parents[1] / "notebooks"

# What is being written. A line goes when its notebook comes: the notebook itself says the rest.
PLANNED = {
    "07": Bilingual("Capstone project", "總結專題"),
}


@dataclass(frozen=True)
class Lesson:
    """One line of the map.

    Attributes:
        number: Two digits.
        title: As in the notebook's heading.
        file: The notebook's file name, or None while the lesson is being written.
        minutes: How long it takes.
        needs: What hardware adds what.
        exercises: How many it has.
        solved: How many of them this learner has solved.
    """

    number: str
    title: Bilingual
    file: str | None = None
    minutes: int | None = None
    needs: Bilingual | None = None
    exercises: int = 0
    solved: int = 0


def notebooks() -> Path:
    """Return the folder of the lessons: the current one if it holds any, otherwise the repository's."""
    here = Path.cwd()
    return here if any(here.glob(PATTERN)) else REPOSITORY


def _read(path: Path) -> Lesson | None:
    """Return the lesson that a notebook holds, or None where it is damaged or none of ours."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))["metadata"]["course"]
        number = str(about["lesson"])
        names = {exercise.name for exercise in exercises().values() if exercise.lesson == number}
        return Lesson(
            number,
            Bilingual(**about["title"]),
            path.name,
            int(about["minutes"]),
            Bilingual(**about["needs"]),
            len(names),
            len(names & progress.solved(number)),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def lessons(folder: Path | None = None) -> list[Lesson]:
    """Return the lessons of the course in order: those that the notebooks hold, and those that are planned.

    Args:
        folder: Where the notebooks are; by default see :func:`notebooks`. A learner's copies of a lesson
            ("…-Copy1.ipynb") and notebooks that are none of ours are left out.
    """
    found = {number: Lesson(number, title) for number, title in PLANNED.items()}
    # The longest name first: of several notebooks of one lesson the shortest, which is no copy, stays.
    for path in sorted((folder or notebooks()).glob(PATTERN), key=lambda p: (-len(p.name), p.name)):
        lesson = _read(path)
        if lesson is not None:
            found[lesson.number] = lesson
    return sorted(found.values(), key=lambda lesson: lesson.number)


_HEAD = (
    Bilingual("Lesson", "課程"),
    Bilingual("Minutes", "分鐘"),
    Bilingual("Solved", "完成"),
)
_COMING = Bilingual("coming", "準備中")


def _solved(lesson: Lesson) -> Bilingual:
    if not lesson.exercises:
        return Bilingual("–", "–")
    done = " ✓" if lesson.solved == lesson.exercises else ""
    text = f"{measured(f'{lesson.solved}{done}')} / {lesson.exercises}"
    return Bilingual(text, text)


@dataclass(frozen=True)
class Map:
    """How the lessons look in a notebook: a table whose titles open them."""

    lessons: Sequence[Lesson]

    def _row(self, lesson: Lesson) -> str:
        title = f"{lesson.number} {lesson.title.html()}"
        if lesson.file is None or lesson.needs is None:
            return f'<tr><td>{title}</td><td colspan="2">{_COMING.html()}</td></tr>'
        link = f'<a href="{html.escape(lesson.file, quote=True)}">{title}</a>'
        needs = Bilingual(f"Needs: {lesson.needs.en}", f"硬體：{lesson.needs.zh}")
        return (
            f"<tr><td>{link}<br><small>{needs.html()}</small></td>"
            f"<td>{lesson.minutes}</td><td>{_solved(lesson).html()}</td></tr>"
        )

    def _line(self, lesson: Lesson) -> str:
        if lesson.file is None:
            return f"{lesson.number} {lesson.title}: {_COMING}"
        return f"{lesson.number} {lesson.title}: {lesson.minutes} min, {_solved(lesson)}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        head = "".join(f'<th style="white-space: nowrap">{text.html()}</th>' for text in _HEAD)
        rows = "".join(map(self._row, self.lessons))
        return {
            "text/html": (
                f'<div class="course-scroll"><table class="course-table">'
                f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
            ),
            "text/plain": "\n".join(map(self._line, self.lessons)),
        }


def show_map() -> None:
    """Show the lessons with their minutes, what they need, and how many of their exercises are solved."""
    from IPython.display import display

    display(Map(lessons()))
