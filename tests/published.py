"""The exercises as the notebooks publish them: stub, checked expression, solution, and the room's wrong answers."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from lesson_cells import cells
from torch import nn
from torch.utils.data import Dataset

from course_utils import lesson
from course_utils.exercises import Exercise


@dataclass(frozen=True)
class Published:
    """An exercise with the cell of its stub, what is checked in it, its solution, and its typical wrong answers."""

    lesson: str
    exercise: Exercise
    stub: str
    checked: str
    solution: str
    wrong: list[tuple[str, str, str]]  # source, English words of the hint, Chinese words

    def answer(self, source: str) -> Any:
        """Return the answer that a learner gives who replaces the stub with `source`."""
        return run(source, self.checked)


def run(source: str, checked: str) -> Any:
    """Execute `source` as a cell of a lesson and return the value of the expression `checked`."""
    namespace: dict[str, Any] = {"torch": torch, "nn": nn, "Dataset": Dataset, "check": lambda *_: None}
    exec(compile(source, "<cell>", "exec"), namespace)
    return eval(checked, namespace)


def published() -> dict[str, Published]:
    """Return all exercises of the course, by ``"lesson/name"``."""
    found: dict[str, Published] = {}
    course = cells("code", "markdown")
    for cell, following in zip(course, [*course[1:], None], strict=True):
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
        exercise = lesson.exercises(cell.lesson)[name]
        wrong = import_module(f"{lesson.room(cell.lesson)}.wrong_answers").WRONG[name]
        found[key] = Published(cell.lesson, exercise, cell.text, checked, fenced[1], wrong)
    return found


PUBLISHED = published()
