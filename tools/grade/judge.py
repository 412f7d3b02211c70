"""Execute a learner's answer and let the course's own check examine it, inside the sandbox."""

import builtins
import math
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from bilingual import Bilingual
from course_utils.exercises import Exercise, examine
from course_utils.lesson_gpus import ready
from course_utils.limits import TimeUp, limited
from tools.grade import course
from tools.grade.submission import Answer
from tools.grade.texts import TEXTS

CELL_SECONDS = 10.0  # for what stands in a cell outside of functions
COURSE = ("bilingual", "course_utils", "torch_doctor", "notebook_torchrun", "shared", "lesson_")
LIBRARIES = (math, operator, torch, torch.nn, torch.nn.functional, torch.testing)
CLASSES = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)


def _parts(owners: Iterable[Any]) -> dict[tuple[str, int], Any]:
    """Return what can be called in modules, classes and an exercise, and its code, by its name and its owner's id."""
    found = {}
    for owner in owners:
        for name, value in list(vars(owner).items()):
            label = f"{getattr(owner, '__name__', 'exercise')}.{name}"
            if callable(value) or isinstance(value, types.ModuleType):
                found[label, id(owner)] = value
            if isinstance(value, types.FunctionType):
                found[f"{label}()", id(owner)] = value.__code__
    return found


def changes(exercise: Exercise) -> Callable[[], list[str]]:
    """Return a function that names what has been replaced since now in the course, Python's built-ins and PyTorch."""
    own = [module for name, module in list(sys.modules.items()) if name.startswith(COURSE)]
    own += [part for module in own for part in vars(module).values()
            if isinstance(part, type) and part.__module__ == module.__name__]  # fmt: skip
    owners, classes = [exercise, *own, *LIBRARIES, *CLASSES], {*map(id, CLASSES)}
    before, python = _parts(owners), dict(vars(builtins))

    def find() -> list[str]:
        if names := [name for name, value in python.items() if vars(builtins).get(name) is not value]:
            vars(builtins).update(python)  # or nothing works any more
            return [f"builtins.{name}" for name in names]
        now = _parts(owners)
        changed = {part for part, value in before.items() if now.get(part) is not value}
        added = {part for part in now.keys() - before.keys() if part[1] in classes}  # hides an inherited one
        return sorted({label for label, _ in changed | added})

    return find


def _watch(remarks: dict[str, list[str]]) -> None:
    """Note attempts to write outside the folder and to reach other machines; Python has no way to end this."""
    inside = (os.getcwd() + os.sep, "/dev/", "/proc/self/")

    def note(kind: str, what: object) -> None:
        if len(remarks.setdefault(kind, [])) < 5 and str(what)[:200] not in remarks[kind]:
            remarks[kind].append(str(what)[:200])

    def outside(path: object) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        return not (os.path.realpath(os.fsdecode(path)) + os.sep).startswith(inside)

    def hook(event: str, given: tuple) -> None:
        with suppress(Exception):
            if event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and outside(given[0]):
                note("outside", given[0])
            elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.rmtree", "os.chmod"):
                for path in given[: 2 if event == "os.rename" else 1]:
                    if outside(path):
                        note("outside", path)
            elif event == "socket.connect" and isinstance(given[1], tuple):
                if not str(given[1][0]).startswith(("127.", "::1", "localhost")):
                    note("network", f"{given[1][0]}:{given[1][1]}")
            elif event == "socket.getaddrinfo" and given[0] not in (None, "localhost", b"localhost"):
                note("network", given[0])

    sys.addaudithook(hook)


def judge(answer: Answer) -> dict[str, Any]:
    """Return the verdict on an answer: ``state``, ``en``, ``zh``, and ``remarks`` by kind.

    The state is ``"solved"``, ``"notyet"`` or ``"wrong"`` as in the lesson, or ``"error"`` where the cell itself does not run.
    """
    exercise, remarks = answer.task.exercise, {}
    for file, text in answer.scripts.items():
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(text, encoding="utf-8", errors="replace")

    def verdict(state: str, message: Bilingual) -> dict[str, Any]:
        return {"state": state, "en": message.en, "zh": message.zh, "remarks": remarks}

    def error(name: str, **values: object) -> dict[str, Any]:
        return verdict("error", TEXTS["judge"][name].format(**values))

    ready(max(1, course.gpus(answer.task.lesson)))  # a practice GPU replaces parts of PyTorch, too
    changed = changes(exercise)
    _watch(remarks)
    try:
        with limited(CELL_SECONDS):
            given = _run(answer)
    except TimeUp:
        return error("slow", seconds=CELL_SECONDS)
    except BaseException as raised:
        return error("error", kind=type(raised).__name__, text=_first_line(raised))
    if names := changed():
        return error("changed", names=", ".join(names[:5]))
    found = examine(exercise, given)
    if names := changed():
        return error("changed", names=", ".join(names[:5]))
    return verdict(found.state, found.message)


def _run(answer: Answer) -> Any:
    """Execute what an answer uses and the answer itself, and return what is to be examined."""
    space: dict[str, Any] = {"__name__": "__main__", "check": _ignored, "display": _ignored}
    for statement in answer.before:
        with suppress(Exception):  # then the answer says which name it misses
            exec(compile(statement, "<cell>", "exec"), space)
    space |= {"check": _ignored, "display": _ignored}
    exec(compile(answer.source, "<cell>", "exec"), space)
    return eval(compile(answer.expression, "<cell>", "eval"), space)


def _ignored(*_: object, **__: object) -> None:
    """Stand for the `check` and `display` of the notebook."""


def _first_line(error: BaseException) -> str:
    try:
        return (str(error).strip().splitlines() or [""])[0][:300].replace("`", "'")
    except BaseException:
        return ""
