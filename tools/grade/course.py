"""The exercises of the course, as its notebooks set them: cells, what is checked, levels and published solutions."""

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from course_utils.exercises import Exercise, exercises_of
from tools import notebook_file
from tools.grade import code
from tools.notebook_file import NOTEBOOKS, ROOT, Cell, lessons
from tools.written import MINE

IMPORTABLE = (ROOT, NOTEBOOKS, NOTEBOOKS / "workers" / "forecast")
_SOLUTION = re.compile(r"<details>.*?\n```python\n(.*?)\n```\n.*</details>", re.S)


@dataclass(frozen=True)
class Task:
    """An exercise of a lesson."""

    lesson: str  # two digits
    exercise: Exercise  # how an answer is examined
    cell: str  # id of the cell that ends in ``check(…)``
    expression: str  # what that cell checks
    stub: str  # the answer that the course supplies: the cell, or the script that a cell above it writes
    solution: str  # the published one, or ""
    script: str = ""  # path of the learner's script below the notebook's folder, if the answer is one

    @property
    def key(self) -> str:
        """The lesson and the name of the exercise: ``"01/on_gpu"``."""
        return f"{self.lesson}/{self.exercise.name}"


def make_importable() -> None:
    """Put the rooms of the lessons on Python's path, for this process and those that it starts."""
    sys.path[:] = [path for path in sys.path if path] + [
        str(path) for path in IMPORTABLE if str(path) not in sys.path
    ]


@cache
def cells(number: str) -> list[Cell]:
    """Return the cells of a lesson."""
    return notebook_file.cells(lessons()[number])


@cache
def gpus(number: str) -> int:
    """Return how many GPUs a lesson's set-up cell asks for."""
    code_cells = "\n".join(cell.source for cell in cells(number) if cell.code)
    found = re.search(r'^setup\("\d\d".*\bgpus=(\d)', code_cells, re.M)
    return int(found[1]) if found else 0


@cache
def tasks(number: str) -> dict[str, Task]:
    """Return the exercises of a lesson by name, in the order of the notebook."""
    known, found, scripts = exercises_of(number), {}, {}
    for cell, following in pairwise([*cells(number), None]):
        if cell.script:
            scripts[f"{MINE}/{cell.script.name}"] = cell.script.text
        for name, checked in code.checks(ast.parse(cell.source)).items() if cell.code else ():
            file = checked.value if isinstance(checked, ast.Constant) else ""
            solution = _SOLUTION.search(following.source) if following else None
            found[name] = Task(
                number, known[name], cell.id, ast.unparse(checked), scripts.get(file, cell.source),
                solution[1] if solution else "", file,
            )  # fmt: skip
    return found
