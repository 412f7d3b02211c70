"""The exercises as the notebooks publish them: stub, checked expression, solution, and the room's wrong answers."""

import atexit
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

from course_utils.exercises import Exercise
from tools.grade import course
from tools.wrong_answers import wrong_answers


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
    """Return all exercises of the course, by ``"lesson/name"``, as the grader finds them in the notebooks."""
    found: dict[str, Published] = {}
    for task in (task for number in course.lessons() for task in course.tasks(number).values()):
        assert task.solution, f"{task.key}: no <details> with a ```python fence follows"
        made = wrong_answers(task.lesson, task.exercise.name)
        wrong = [(source, key) for key, sources in made.items() for source in sources]
        solution = task.solution + "\n" * bool(task.script)
        found[task.key] = Published(
            task.lesson, task.exercise, task.stub, task.expression, solution, wrong, task.script
        )
    return found


PUBLISHED = published()
