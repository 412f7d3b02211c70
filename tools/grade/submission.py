"""A handed-in notebook: which lesson it is, the learner's answers in it, and what a teacher should look at."""

import ast
import json
import re
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from tools.grade import code, course
from tools.grade.course import Task
from tools.written import MINE, script_in

LARGEST = 50_000_000  # bytes of a notebook: the course's have less than one million
MOST_TRIES = 3  # cells with the same exercise that are examined, the last ones


class Unreadable(Exception):
    """The file is no notebook of a lesson; the argument is the reason, a key of the report's texts."""


@dataclass
class Answer:
    """A learner's answer to an exercise."""

    task: Task
    source: str  # the cell, without magics
    before: list[str]  # statements that define names which the cell uses: the course's, or the learner's own
    scripts: dict[str, str]  # what the notebook's cells write into ``mine/``, by path
    expression: str  # what is examined

    @property
    def text(self) -> str:
        """What the learner wrote: the cell, or the script."""
        if not self.task.script:
            return self.source
        try:
            return self.scripts.get(str(ast.literal_eval(self.expression)), "")
        except (ValueError, SyntaxError):
            return self.scripts.get(self.task.script, "")

    @property
    def fingerprint(self) -> str:
        """Alike for answers that differ in comments and layout only."""
        return sha256(code.normal(self.text).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def untouched(self) -> bool:
        """Whether the answer is what the course supplied."""
        return code.normal(self.text) == code.normal(code.python(self.task.stub))

    @property
    def published(self) -> bool:
        """Whether the answer is the published solution."""
        return code.normal(self.text) == code.normal(self.task.solution)


@dataclass
class Submission:
    """A notebook that was handed in."""

    lesson: str  # two digits
    answers: dict[str, list[Answer]] = field(default_factory=dict)  # by exercise; none for an untouched stub
    stored: set[str] = field(default_factory=set)  # exercises that are solved according to the stored outputs
    overwrites: bool = False  # whether a cell gives ``check`` another meaning


def read(path: Path) -> list[dict[str, Any]]:
    """Return the metadata of a notebook and then its cells, with their sources as texts, or raise `Unreadable`."""
    try:
        if not path.is_file():
            raise Unreadable("no_file")
        if path.stat().st_size > LARGEST:
            raise Unreadable("too_large")
        book = json.loads(path.read_text(encoding="utf-8-sig"))
        cells = [
            {
                "id": str(cell.get("id") or ""),
                "code": cell["cell_type"] == "code",
                "source": "".join(cell["source"]),
                "solved": set(re.findall(r"exercise (\w+): solved", json.dumps(cell.get("outputs")))),
            }
            for cell in book["cells"]
        ]
        return [book.get("metadata") or {}, *cells]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
        raise Unreadable("no_notebook") from None


def _lesson(metadata: dict[str, Any], cells: list[dict[str, Any]]) -> str:
    """Return the lesson's number, by the notebook's metadata or by its set-up cell."""
    about = metadata.get("course")
    named = str(about.get("lesson")) if isinstance(about, dict) else ""
    written = "\n".join(cell["source"] for cell in cells if cell["code"])
    setup = re.search(r"""^setup\(["'](\d\d)["']""", written, re.M)
    number = named if named in course.lessons() else setup[1] if setup else ""
    if number not in course.lessons():
        raise Unreadable("no_lesson")
    return number


def open_submission(path: Path) -> Submission:
    """Return what a handed-in notebook has to examine, or raise `Unreadable` if it is no notebook of a lesson."""
    metadata, *cells = read(path)
    number = _lesson(metadata, cells)
    tasks, found = course.tasks(number), Submission(number)
    ids = {task.cell: name for name, task in tasks.items()}
    parsed = [(cell, code.parsed(code.python(cell["source"]))) for cell in cells if cell["code"]]
    scripts = {f"{MINE}/{s.name}": s.text for cell, _ in parsed if (s := script_in(cell["source"]))}
    statements = [[s for s in tree.body if not code.is_check(s)] if tree else [] for _, tree in parsed]
    for place, (cell, tree) in enumerate(parsed):
        found.stored |= cell["solved"]
        examined = code.checks(tree) if tree else {}
        found.overwrites |= bool(tree) and _rebinds_check(tree)
        names = {*examined, *([ids[cell["id"]]] if cell["id"] in ids else [])} & set(tasks)
        for name in sorted(names):
            expression = ast.unparse(examined[name]) if name in examined else tasks[name].expression
            answer = Answer(tasks[name], code.python(cell["source"]), [], scripts, expression)
            if answer.untouched:
                continue
            above = _statements(number, tasks[name].cell)
            own = sum(statements[place + 1 :] + statements[:place], [])  # what is above counts most
            others = above + _own(own, above, code.used(expression))
            if asked := _asked(tasks[name]):
                others = [s for s in others if not code.bound(s) & asked or ast.dump(s) not in _dumps(number)]
            answer.before = code.definitions(tree, others) if tree else []
            found.answers.setdefault(name, []).append(answer)
    found.answers = {name: tries[-MOST_TRIES:] for name, tries in found.answers.items()}
    return found


def _asked(task: Task) -> set[str]:
    """Return the names that an answer gives a meaning to, and that are examined.

    What a cell of the course calls so is no answer: the figure of lesson 01 measures a product of matrices `on_gpu`.
    """
    return (
        set() if task.script else code.bound(ast.parse(code.python(task.stub))) & code.used(task.expression)
    )


def _rebinds_check(tree: ast.Module) -> bool:
    own = [s for s in tree.body if not (isinstance(s, ast.ImportFrom) and s.module == "course_utils")]
    return any("check" in code.bound(statement) for statement in own)


def _own(statements: list[ast.stmt], above: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """Return a submission's statements that the course does not give above, or that give what is examined otherwise."""
    known = set().union(*map(code.bound, above))
    same = {ast.dump(statement) for statement in above}

    def counts(statement: ast.stmt) -> bool:
        given = code.bound(statement)
        return not given <= known or bool(given & names) and ast.dump(statement) not in same

    return [statement for statement in statements if counts(statement)]


@cache
def _dumps(number: str) -> set[str]:
    """Return all statements of a lesson, without those for answers, as texts that can be compared."""
    return {ast.dump(statement) for statement in _statements(number, "")}


@cache
def _statements(number: str, cell: str) -> list[ast.stmt]:
    """Return the statements of the course above a cell, without those for answers."""
    found: list[ast.stmt] = []
    for other in course.cells(number):
        if other.id == cell:
            break
        tree = ast.parse(other.source if other.code else "")
        found += [] if code.checks(tree) else tree.body
    return found
