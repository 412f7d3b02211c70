"""How many minutes a lesson takes, computed from what is in it: ``python -m tools.minutes [--write]``.

A learner reads 200 English words or 15 lines of code in a minute, needs 20 seconds for a question and reads 0.6 of its
words, 10 seconds for a claim's card, and 3.5 minutes for an explorer. The exercises are stated beside that: 4, 8 or 15
minutes for an easy, medium or hard one, such that the sums are near to what two students needed who did all of them.
What is collapsed (solutions, going further) is not counted. ``--write`` puts the minutes into the notebooks' metadata
and first cells, and into README's and TEACHING's tables; the plans for a class are in :mod:`tools.classroom.syllabus`.
"""

import argparse
import re
from collections import Counter, defaultdict
from pathlib import Path

from bilingual import toml_of
from tools.classroom import syllabus
from tools.markdown_text import CODE, UNKNOWN, Visible, between
from tools.notebook_file import ROOT, Cell, canonical, cells, lessons, passages, read
from tools.written import CHECKED

README = ROOT / "README.md"
TEACHING = ROOT / "TEACHING.md"
BUDGETS = {"00": 15, **{f"0{number}": 125 for number in range(1, 8)}, "08": 150}  # minutes with the exercises
MOST_READING = 70  # minutes without them
MOST_WORDS = 2_700  # of prose, in a lesson that has a budget
NOT_COUNTED = {"09": "it is for looking things up, not for reading"}  # it states its minutes by hand
MINUTES = {
    "words": 1 / 200,
    "question words": 0.6 / 200,
    "questions": 20 / 60,
    "code": 1 / 15,
    "explorers": 3.5,
    "cards": 10 / 60,
}
EXERCISE = {"easy": 4, "medium": 8, "hard": 15, None: 8}
IN_CLASS = 0.5  # the part of these minutes that a plan gives to the exercises; the rest is homework

FIRST = re.compile(r"(\d+)( minutes\D+| 分鐘\D+)(\d+)(?= more| 分鐘)")  # the minutes in a first cell
_KINDS = {"heading": "words", "prose": "words", "question": "question words"}
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


class Amount(Counter):
    """How much of everything a lesson or a section holds, by the names of `MINUTES`; ``"solving"`` is in minutes."""

    @property
    def minutes(self) -> float:
        """The minutes to read, run and guess, without exercises and what is collapsed."""
        return sum(each * self[name] for name, each in MINUTES.items())

    @property
    def solving(self) -> int:
        """The minutes for the exercises."""
        return self["solving"]


def _in_cell(cell: Cell, levels: dict[str, str], answers: set[str]) -> dict[str, int]:
    """Return how much is in a cell besides its prose; a script that an exercise checks takes the exercise's time."""
    if cell.script:
        return {"code": lines(cell.script.text) if cell.script.name not in answers else 0}
    if not cell.code:
        return {"code": sum(lines(fence[1]) for fence in _FENCE.finditer(_DETAILS.sub("", cell.source)))}
    stub = _STUB.search(cell.source)
    return {
        "solving": EXERCISE[levels.get(stub[1])] if stub else 0,
        "code": 0 if stub else lines(cell.source),
        "questions": len(re.findall(r"\bpredict\(", cell.source)),
        "explorers": len(re.findall(r"(?:\bEXPLORER|\bexplorer\(.*\))\.show\(", cell.source)),
        "cards": len(re.findall(r"^\s*claim\(", cell.source, re.M)),
    }


def by_section(path: Path) -> dict[str, Amount]:
    """Return how much of everything is in each section of a lesson; "" stands for what comes before the first."""
    file, found = path.parent / f"lesson_{path.name[:2]}" / "exercises.toml", cells(path)
    exercises = toml_of(file) if file.exists() else {}
    levels = {name: exercise["level"] for name, exercise in exercises.items()}
    answers = {name for cell in found if cell.code for name in CHECKED.findall(cell.source)}
    parts: dict[str, Amount] = defaultdict(Amount)
    for cell in found:
        parts[cell.section].update(_in_cell(cell, levels, answers))
    for passage in passages(path):
        if kind := _KINDS.get(passage.kind):
            parts[passage.cell.section][kind] += words(passage.en)
    return dict(parts)


def amounts(path: Path) -> Amount:
    """Return how much of everything is in a lesson."""
    amount = Amount()
    for part in by_section(path).values():
        amount.update(part)
    return amount


def rounded(amount: Amount) -> dict[str, int]:
    """Return the minutes that a lesson states: to read, run and guess, and for the exercises; both rounded to 5."""
    return {"reading": 5 * round(amount.minutes / 5), "exercises": 5 * round(amount.solving / 5)}


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


# --- the command --------------------------------------------------------------------------------------


def main() -> None:
    """Print a table; with ``--write``, first correct what the notebooks and README state."""
    parser = argparse.ArgumentParser(prog="python -m tools.minutes", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--write", action="store_true", help="put the minutes into the metadata, README and TEACHING"
    )
    if parser.parse_args().write:
        write()
    row = "{:>7} {:>6.0f} {:>8} {:>7} {:>6} {:>5}  {}".format
    print("lesson reading  solving  stated budget words  in it")
    for number, path in lessons().items():
        amount = amounts(path)
        said, budget = "{reading}+{exercises}".format(**stated(path)), BUDGETS.get(number, "–")
        counted = ", ".join(f"{amount[name]} {name}" for name in MINUTES if name != "words")
        print(row(number, amount.minutes, amount.solving, said, budget, amount["words"], counted))


if __name__ == "__main__":
    main()
