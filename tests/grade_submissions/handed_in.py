"""Notebooks as students hand them in: made from the course's own notebooks, solutions and typical wrong answers."""

import copy
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from published import PUBLISHED

from tools.grade import course
from tools.grade.grading import POINTS

Cells = list[dict[str, Any]]


def notebook(number: str) -> dict[str, Any]:
    """Return the notebook of a lesson with sources as texts and without outputs."""
    book = json.loads(course.lessons()[number].read_text(encoding="utf-8"))
    for cell in book["cells"]:
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    return book


def answered(number: str, answers: dict[str, str]) -> dict[str, Any]:
    """Return the notebook of a lesson in which somebody has written `answers`, by name of the exercise."""
    book = notebook(number)
    for name, source in answers.items():
        entry, task = PUBLISHED[f"{number}/{name}"], course.tasks(number)[name]
        if entry.file:
            begin = f"%%writefile {entry.file}\n"
            cell = next(c for c in book["cells"] if c["source"].startswith(begin))
            cell["source"] = begin + source
        else:
            cell = next(c for c in book["cells"] if c["id"] == task.cell)
            ending = "" if 'check("' in source else f'\n\ncheck("{name}", {task.expression})'
            cell["source"] = source + ending
    return book


def cell_of(book: dict[str, Any], number: str, name: str) -> dict[str, Any]:
    """Return the cell of an exercise."""
    return next(c for c in book["cells"] if c.get("id") == course.tasks(number)[name].cell)


def write(book: dict[str, Any], path: Path) -> Path:
    """Write a notebook to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(book), encoding="utf-8")
    return path


def cells_only(number: str) -> list[str]:
    """Return the names of a lesson's exercises whose answers are cells, not scripts."""
    return [name for name in course.tasks(number) if not PUBLISHED[f"{number}/{name}"].file]


def worth(number: str, names: list[str]) -> int:
    """Return the points of some exercises."""
    return sum(POINTS[PUBLISHED[f"{number}/{name}"].exercise.level] for name in names)


# --- ways in which a right notebook is changed before it is handed in ---------------------------------------


def without_ids(book: dict[str, Any]) -> None:
    """Colab gives cells other ids."""
    for number, cell in enumerate(book["cells"]):
        cell["id"] = f"x{number}"


def without_metadata(book: dict[str, Any]) -> None:
    """Some editors drop what they do not know."""
    book["metadata"] = {}
    for cell in book["cells"]:
        cell["metadata"] = {}


def one_language(book: dict[str, Any]) -> None:
    """An edition has other comments, and another set-up cell."""
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = re.sub(r'(setup\("\d\d")\)', r'\1, language="zh-TW")', cell["source"])
            cell["source"] = re.sub(r"  # .*", "  # 中文註解", cell["source"])


def timed(book: dict[str, Any]) -> None:
    """Every cell of an exercise is timed."""
    for cell in book["cells"]:
        if cell["cell_type"] == "code" and re.search(r"^check\(", cell["source"], re.M):
            cell["source"] = f"%%time\n{cell['source']}\n%matplotlib inline"


def tried_twice(book: dict[str, Any]) -> None:
    """The stub stays, and the answer is in a copy of its cell."""
    number = book["metadata"]["course"]["lesson"]
    stubs = {cell["id"]: cell for cell in notebook(number)["cells"]}
    made: Cells = []
    for cell in book["cells"]:
        if cell["cell_type"] == "code" and re.search(r"^check\(", cell["source"], re.M):
            made += [stubs[cell["id"]], cell | {"id": f"{cell['id']}-2"}]
        else:
            made.append(cell)
    book["cells"] = made


def through_helpers(book: dict[str, Any]) -> None:
    """Each answer stands in a cell of its own, which the cell with the check needs."""
    made: Cells = []
    for cell in book["cells"]:
        above, found, check = cell["source"].rpartition("\ncheck(")
        if cell["cell_type"] == "code" and found and above.strip() and "\n" not in check:
            made.append(cell | {"source": above, "id": f"{cell['id']}-1"})
            cell["source"] = found.strip() + check
        made.append(cell)
    book["cells"] = made


def other_cells_broken(book: dict[str, Any]) -> None:
    """What the course's own cells have become does not matter."""
    for cell in book["cells"]:
        kept = cell["cell_type"] != "code" or cell["source"].startswith(("%%", "from", "import"))
        if not kept and not re.search(r"^check\(", cell["source"], re.M):
            cell["source"] = "1 / 0"


def as_lines(book: dict[str, Any]) -> None:
    """Sources as lists of lines, the form in which Jupyter saves them."""
    for cell in book["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)


EDITS: tuple[Callable[[dict[str, Any]], None], ...] = (
    without_ids, without_metadata, one_language, timed, tried_twice, through_helpers, other_cells_broken, as_lines,
)  # fmt: skip


def class_of(
    kind: str, count: int, lessons: tuple[str, ...]
) -> list[tuple[dict[str, Any], str, dict[str, str]]]:
    """Return "right", "wrong" or "edited" submissions with their lesson and the right verdict for each exercise."""
    made = []
    for student in range(count):
        draw, number = random.Random(f"{kind} {student}"), lessons[student % len(lessons)]
        known = cells_only(number)
        names = draw.sample(known, k=draw.randint(min(2, len(known)), len(known)))
        answers, verdicts = {}, dict.fromkeys(course.tasks(number), "not_tried")
        for name in names:
            entry = PUBLISHED[f"{number}/{name}"]
            wrong = kind == "wrong" and draw.random() < 0.7
            answers[name] = draw.choice(entry.wrong)[0] if wrong else entry.solution
            verdicts[name] = "wrong" if wrong else "solved"
        book = copy.deepcopy(answered(number, answers))
        if kind == "edited":
            EDITS[student % len(EDITS)](book)
        made.append((book, number, verdicts))
    return made
