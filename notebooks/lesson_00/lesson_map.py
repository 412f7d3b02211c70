"""The map of the course: the lessons, how long they take, and which exercises this learner has solved."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from bilingual import Bilingual, measured, measured_both, texts
from course_utils import lesson, settings

PATTERN = "[0-9][0-9]_*.ipynb"
_CHECK = re.compile(r"^check\(\"(\w+)\"", re.M)


@dataclass(frozen=True)
class Lesson:
    """One line of the map.

    Attributes:
        number: Two digits.
        title: As in the notebook's heading.
        file: The notebook's file name.
        minutes: How many to read, run and guess, and how many more for the exercises: "40 + 30".
        exercises: How many it has.
        solved: How many of them this learner has solved.
    """

    number: str
    title: Bilingual
    file: str
    minutes: str
    exercises: int
    solved: int


def _read(path: Path) -> Lesson | None:
    """Return the lesson in the notebook at `path`, or None if it is damaged or does not belong to the course."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        about = notebook["metadata"]["course"]
        code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        names = {name for source in code for name in _CHECK.findall(source)}
        number = str(about["lesson"])
        return Lesson(
            number,
            Bilingual(**about["title"]),
            path.name,
            "{reading:d} + {exercises:d}".format(**about["minutes"]).removesuffix(" + 0"),
            len(names),
            len(names & settings.solved(number)),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def lessons(folder: Path | None = None) -> list[Lesson]:
    """Return the lessons of the course in order.

    Args:
        folder: Folder of the notebooks; by default :func:`course_utils.lesson.notebooks`. A learner's copies of a lesson
            ("…-Copy1.ipynb") and notebooks that do not belong to the course are left out.
    """
    found: dict[str, Lesson] = {}
    # Longest name first: of several notebooks of one lesson the last one stays, and copies have longer names.
    for path in sorted((folder or lesson.notebooks()).glob(PATTERN), key=lambda p: (-len(p.name), p.name)):
        entry = _read(path)
        if entry is not None:
            found[entry.number] = entry
    return sorted(found.values(), key=lambda entry: entry.number)


_HEAD = (
    Bilingual("Lesson", "課程"),
    Bilingual("Minutes", "分鐘"),
    Bilingual("Solved", "完成"),
)


_HERE = texts(Path(__file__).with_name("here.toml"))


def here(number: str, gpus: int) -> Bilingual | None:
    """Return what a lesson does on a machine with so many CUDA GPUs; None where there is nothing to say.

    Args:
        number: The lesson, ``"05"``.
        gpus: How many.
    """
    known: dict[str, Bilingual] = _HERE.get(number, {})
    return known.get(("none", "one", "more")[min(gpus, 2)]) or known.get("one")


def _solved(entry: Lesson) -> Bilingual:
    """Return "solved / exercises"; the first number is marked, because it differs between learners."""
    if not entry.exercises:
        return Bilingual("–", "–")
    done = " ✓" if entry.solved == entry.exercises else ""
    text = f"{measured(f'{entry.solved}{done}')} / {entry.exercises}"
    return Bilingual(text, text)


@dataclass(frozen=True)
class Map:
    """The lessons as a table whose titles are links."""

    lessons: Sequence[Lesson]

    def _row(self, entry: Lesson) -> str:
        title = f"{entry.number} {entry.title.html()}"
        link = f'<a href="{html.escape(entry.file, quote=True)}">{title}</a>'
        said = here(entry.number, torch.cuda.device_count())
        below = f"<br><small>{measured_both(said).html()}</small>" if said else ""
        return f"<tr><td>{link}{below}</td><td>{entry.minutes}</td><td>{_solved(entry).html()}</td></tr>"

    def _line(self, entry: Lesson) -> str:
        return f"{entry.number} {entry.title}: {entry.minutes} min, {_solved(entry)}"

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
    """Show the lessons with their minutes, what they do on this machine, and how many of their exercises are solved."""
    from IPython.display import display

    display(Map(lessons()))
