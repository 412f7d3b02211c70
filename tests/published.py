"""The exercises as the notebooks publish them: stub, checked expression, solution, and the room's wrong answers."""

import ast
import atexit
import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import torch
from lesson_cells import cells
from torch import nn
from torch.utils.data import Dataset

from course_utils.exercises import Exercise, exercises_of
from tools.written import MINE, script_in


@dataclass(frozen=True)
class Published:
    """An exercise with the cell of its stub, what is checked in it, its solution, and its typical wrong answers."""

    lesson: str
    exercise: Exercise
    stub: str
    checked: str
    solution: str
    wrong: list[tuple[str, ...]]  # source, key of the hint
    file: str = ""  # that a cell with %%writefile writes, if the answer is a script

    def answer(self, source: str) -> Any:
        """Return the answer that a learner gives who replaces the stub with `source`."""
        if not self.file:
            return run(source, self.checked)
        path = Path(tempfile.mkdtemp(dir=_folder()), Path(self.file).name)
        path.write_text(source, encoding="utf-8")
        return str(path)


@cache
def _folder() -> str:
    """Return a folder for the files of answers, which is removed at the end."""
    atexit.register(rmtree, folder := tempfile.mkdtemp(), ignore_errors=True)
    return folder


def run(source: str, checked: str) -> Any:
    """Execute `source` as a cell of a lesson and return the value of the expression `checked`."""
    namespace: dict[str, Any] = {"torch": torch, "nn": nn, "Dataset": Dataset, "check": lambda *_: None}
    exec(compile(source, "<cell>", "exec"), namespace)
    return eval(checked, namespace)


def published() -> dict[str, Published]:
    """Return all exercises of the course, by ``"lesson/name"``."""
    found: dict[str, Published] = {}
    course = cells("code", "markdown")
    files: dict[tuple[str, str], str] = {}  # what the cells of a lesson write
    for cell, following in zip(course, [*course[1:], None], strict=True):
        if cell.kind == "code" and (script := script_in(cell.text)):
            files[cell.lesson, f"{MINE}/{script.name}"] = script.text
        if cell.kind != "code" or not re.search(r"^check\(", cell.text, re.M):  # not run.check()
            continue
        last = ast.parse(cell.text).body[-1]
        assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call), (
            f"{cell.id}: check(…) comes last"
        )
        name, checked = ast.literal_eval(last.value.args[0]), ast.unparse(last.value.args[1])
        assert following is not None and following.kind == "markdown", f"{cell.id}: no solution follows"
        fenced = re.search(r"<details>.*?\n```python\n(.*?)\n```\n.*</details>", following.text, re.DOTALL)
        assert fenced, f"{following.id}: no <details> with a ```python fence"
        key = f"{cell.lesson}/{name}"
        assert key not in found, f"{key} is checked twice"
        exercise = exercises_of(cell.lesson)[name]
        wrong = [(source, key) for key, sources in exercise.wrong.items() for source in sources]
        file = ast.literal_eval(checked) if checked.endswith(".py'") else ""
        stub, solved = cell.text, fenced[1]
        if file:
            assert (cell.lesson, file) in files, f"{cell.id}: no cell above writes {file}"
            stub, solved = files[cell.lesson, file], fenced[1] + "\n"
        found[key] = Published(cell.lesson, exercise, stub, checked, solved, wrong, file)
    return found


PUBLISHED = published()
