"""How many minutes a lesson takes, computed from what is in it: ``python -m tools.minutes [--write]``.

A learner reads 200 English words or 15 lines of code in a minute, needs 20 seconds for a question and reads 0.6 of its
words, 10 seconds for a claim's card, and 3.5 minutes for an explorer. The exercises are stated beside that: 4, 8 or 15
minutes for an easy, medium or hard one, such that the sums are near to what two students needed who did all of them.
What is collapsed (solutions, going further) is counted apart. ``--write`` puts the minutes into the notebooks' metadata
and first cells, and into README's and TEACHING's tables; the plans for a class are in :mod:`tools.classroom.syllabus`.
"""

import argparse
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.classroom import syllabus
from tools.markdown_text import CODE, UNKNOWN, Visible, between
from tools.notebook_file import Cell, Passage, canonical, cells, passages, read
from tools.written import CHECKED

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
README = ROOT / "README.md"
TEACHING = ROOT / "TEACHING.md"
BUDGETS = {"00": 15, **{f"0{number}": 125 for number in range(1, 8)}, "08": 150}  # minutes with the exercises
MOST_READING = 70  # minutes without them
MOST_WORDS = 2_700  # of prose, in a lesson that has a budget
NOT_COUNTED = {"09": "it is for looking things up, not for reading"}  # it states its minutes by hand
EXERCISE = {"easy": 4, "medium": 8, "hard": 15, None: 8}
IN_CLASS = 0.5  # the part of these minutes that a plan gives to the exercises; the rest is homework

FIRST = re.compile(r"(\d+)( minutes\D+| 分鐘\D+)(\d+)(?= more| 分鐘)")  # the minutes in a first cell
_STUB = re.compile(r'^check\("(\w+)"', re.M)
_FENCE = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
_DETAILS = re.compile(r"<details\b.*?</details>", re.S)


def words(text: str) -> int:
    """Return how many words an English text has; a piece of code or a number counts as one."""
    visible = re.sub(f"[{CODE}{UNKNOWN}]+", "x", Visible.of(_FENCE.sub("", text)).text)
    return len(re.findall(r"\w[\w'’.,-]*", visible))


def lines(code: str) -> int:
    """Return how many lines of code there are, without empty ones."""
    return sum(bool(line.strip()) for line in code.splitlines())


@dataclass
class Amount:
    """How much of everything a lesson or a section holds."""

    cells: int = 0
    words: int = 0
    code: int = 0
    question_words: int = 0
    questions: int = 0
    exercises: list[str | None] = field(default_factory=list)
    explorers: int = 0
    cards: int = 0
    apart_words: int = 0
    apart_code: int = 0

    @property
    def minutes(self) -> float:
        """The minutes to read, run and guess, without exercises and what is collapsed."""
        return (
            self.words / 200
            + self.question_words * 0.6 / 200
            + self.questions * 20 / 60
            + self.code / 15
            + self.explorers * 3.5
            + self.cards * 10 / 60
        )

    @property
    def solving(self) -> int:
        """The minutes for the exercises."""
        return sum(EXERCISE[level] for level in self.exercises)

    @property
    def apart(self) -> float:
        """The minutes for what is collapsed."""
        return self.apart_words / 200 + self.apart_code / 15

    def add_cell(self, cell: Cell, levels: dict[str, str | None], answers: Container[str] = ()) -> None:
        """Count a cell without its prose.

        Args:
            cell: The cell.
            levels: The level of each exercise of the lesson.
            answers: The names of the scripts that exercises check: their time is that of the exercise.
        """
        self.cells += 1
        if cell.script:
            self.code += lines(cell.script.text) if cell.script.name not in answers else 0
            return
        if not cell.code:
            for details in _DETAILS.finditer(cell.source):
                self.apart_code += sum(lines(fence[1]) for fence in _FENCE.finditer(details[0]))
            self.code += sum(lines(fence[1]) for fence in _FENCE.finditer(_DETAILS.sub("", cell.source)))
            return
        if stub := _STUB.search(cell.source):
            self.exercises.append(levels.get(stub[1]))
        else:
            self.code += lines(cell.source)
        self.questions += len(re.findall(r"\bpredict\(", cell.source))
        self.explorers += len(re.findall(r"(?:\bEXPLORER|\bexplorer\(.*\))\.show\(", cell.source))
        self.cards += len(re.findall(r"^\s*claim\(", cell.source, re.M))

    def add_passage(self, passage: Passage) -> None:
        """Count the words of a text."""
        number = words(passage.en)
        if passage.kind in ("heading", "prose"):
            self.words += number
        elif passage.kind == "details":
            self.apart_words += number
        elif passage.kind == "question":
            self.question_words += number


def _levels(number: str) -> dict[str, str]:
    """Return the level of each exercise of a lesson."""
    file = NOTEBOOKS / f"lesson_{number}" / "exercises.toml"
    texts = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {name: exercise["level"] for name, exercise in texts.items()}


def by_section(path: Path) -> dict[str, Amount]:
    """Return how much of everything is in each section of a lesson; "" stands for what comes before the first."""
    levels, found = _levels(path.name[:2]), cells(path)
    answers = {name for cell in found if cell.code for name in CHECKED.findall(cell.source)}
    parts: dict[str, Amount] = defaultdict(Amount)
    for cell in found:
        parts[cell.section].add_cell(cell, levels, answers)
    for passage in passages(path):
        parts[passage.cell.section].add_passage(passage)
    return dict(parts)


def amounts(path: Path, section: str | None = None) -> Amount:
    """Return how much of everything is in a lesson, or in one of its sections ("1.2")."""
    parts, amount = by_section(path), Amount()
    for name, part in parts.items():
        if section in (None, name):
            for what, value in vars(part).items():
                setattr(amount, what, getattr(amount, what) + value)
    return amount


def rounded(amount: Amount) -> dict[str, int]:
    """Return the minutes that a lesson states: to read, run and guess, and for the exercises; both rounded to 5."""
    return {"reading": 5 * round(amount.minutes / 5), "exercises": 5 * round(amount.solving / 5)}


def positions(number: str) -> list[int]:
    """Return how often the right one of three choices is shown first, second and third in a lesson."""
    from course_utils import lesson
    from course_utils.questions import question

    try:
        lesson.use(number)
    except ValueError:  # a lesson without a room
        return [0, 0, 0]
    asked = [question(name) for name in lesson.all_texts(number)["question"]]
    found = Counter([choice.right for choice in q.choices].index(True) for q in asked if len(q.choices) == 3)
    return [found[position] for position in range(3)]


def lessons() -> dict[str, Path]:
    """Return the notebooks of the lessons by their number."""
    return {path.name[:2]: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))}


def stated(path: Path) -> dict[str, int]:
    """Return the minutes in a notebook's metadata."""
    return read(path).metadata.course.minutes


def first_cell(text: str, minutes: dict[str, int]) -> str:
    """Return the text of a lesson's first cell with its minutes, in both languages."""
    return FIRST.sub(rf"{minutes['reading']}\g<2>{minutes['exercises']}", text)


# --- README and TEACHING -------------------------------------------------------------------------------------------


def of_plans() -> dict[str, dict[str, float]]:
    """Return the minutes of each section in a class."""
    return {
        number: {name: part.minutes + IN_CLASS * part.solving for name, part in by_section(path).items()}
        for number, path in lessons().items()
    }


def readme(text: str, minutes: dict[str, dict[str, int]]) -> str:
    """Return README's text with the lessons' minutes in its two tables."""
    for number, value in minutes.items():
        cells = "{reading} | {exercises}".format(**value)
        text = re.sub(rf"^(\| {number} \| \[[^|]*\| )\d+ \| \d+(?= \|)", rf"\g<1>{cells}", text, flags=re.M)
    return text


def teaching(text: str) -> str:
    """Return TEACHING's text with the timetables between its marks, in both languages."""
    parts = of_plans()
    for language in ("en", "zh"):
        titles = {number: read(path).metadata.course.title[language] for number, path in lessons().items()}
        lines = "\n".join(["", *syllabus.tables(language, parts, titles)])
        text = between(text, f"timetables-{language}", lines)
    return text


def write() -> None:
    """Put the computed minutes into the notebooks, README's tables and TEACHING's timetables."""
    for number, path in lessons().items():
        if number in NOT_COUNTED:
            continue
        notebook = read(path)
        notebook.metadata.course.minutes = rounded(amounts(path))
        notebook.cells[0].source = first_cell(notebook.cells[0].source, notebook.metadata.course.minutes)
        path.write_text(canonical(notebook), encoding="utf-8", newline="\n")
    now = {number: stated(path) for number, path in lessons().items()}
    for document, filled in (README, lambda text: readme(text, now)), (TEACHING, teaching):
        if document.exists():
            document.write_text(filled(document.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


# --- the table ----------------------------------------------------------------------------------------

HEAD = (
    "lesson cells words lines questions exercises explorers cards reading solving stated budget apart right-choice-at"
).split()


def row(number: str, path: Path) -> list[Any]:
    """Return the line of one lesson."""
    amount = amounts(path)
    levels = Counter(level or "medium" for level in amount.exercises)
    return [
        number, amount.cells, amount.words, amount.code, amount.questions,
        "+".join(str(levels[level]) for level in ("easy", "medium", "hard")), amount.explorers, amount.cards,
        f"{amount.minutes:.0f}", amount.solving, "{reading}+{exercises}".format(**stated(path)), BUDGETS.get(number, "–"), f"{amount.apart:.0f}",
        "/".join(map(str, positions(number))),
    ]  # fmt: skip


def main() -> None:
    """Print the table; with ``--write``, first correct what the notebooks and README state."""
    parser = argparse.ArgumentParser(prog="python -m tools.minutes", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--write", action="store_true", help="put the minutes into the metadata, README and TEACHING"
    )
    options = parser.parse_args()
    if options.write:
        write()
    table = [HEAD, *(list(map(str, row(number, path))) for number, path in lessons().items())]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEAD))]
    for line in table:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))
    print(
        "\nexercises: easy+medium+hard; right-choice-at: how often the first/second/third of three choices is right"
    )


if __name__ == "__main__":
    main()
