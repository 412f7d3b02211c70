"""The room of the current lesson: its texts and its exercises.

A room is the package ``lesson_NN`` beside the notebooks. ``setup("02")`` names the lesson; from then on ``predict``,
``claim``, ``check`` and the figures look their texts up in ``lesson_02``. This is the only module of the package that
imports from the notebooks' folder.
"""

from __future__ import annotations

import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS = ("question", "claim", "figure")

_current: str | None = None


def room(number: str) -> str:
    """Return the package name of a lesson's room: ``"02"`` → ``"lesson_02"``."""
    return f"lesson_{number}"


def notebooks() -> Path:
    """Return the folder with the notebooks and their rooms.

    The kernel of a notebook starts in its own folder; some editors start it in the repository's root instead, so the
    folder ``notebooks`` of the working directory and of its parents is searched as well.

    Raises:
        FileNotFoundError: No folder in question holds a room.
    """
    here = Path.cwd()
    for folder in (here, *(parent / "notebooks" for parent in (here, *here.parents))):
        if any(folder.glob(room("[0-9][0-9]"))):
            return folder
    raise FileNotFoundError(
        f"the folders of the lessons ({room('00')}, {room('01')} …) are not beside this notebook ({here}). Put the "
        "notebook back into the folder `notebooks` of the course, and run this cell again. · 這份筆記本旁邊沒有課程的"
        f"資料夾（{room('00')}、{room('01')} 等）。請把筆記本放回課程的 `notebooks` 資料夾，再執行一次。"
    )


def use(number: str | None) -> None:
    """Make lesson `number` the current one; None is for a notebook without a room.

    Args:
        number: Two digits, such as ``"02"``.

    Raises:
        FileNotFoundError: The folder of the notebooks is not found.
        ValueError: There is no room for this lesson.
    """
    global _current
    if number is not None:
        folder = notebooks()
        if not (folder / room(number)).is_dir():
            known = ", ".join(sorted(path.name[-2:] for path in folder.glob(room("[0-9][0-9]"))))
            raise ValueError(f"setup({number!r}): there is no lesson {number!r}; there are {known}.")
        if str(folder) not in sys.path and folder != Path.cwd():
            sys.path.append(str(folder))
    _current = number


def current() -> str:
    """Return the number of the current lesson.

    Raises:
        RuntimeError: The set-up cell was not run.
    """
    if _current is None:
        raise RuntimeError(
            "run the notebook's first code cell (with `setup(…)`) first · 請先執行筆記本的第一個程式碼儲存格（`setup(…)`）"
        )
    return _current


@cache
def all_texts(number: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the texts of a lesson by kind (``question``, ``claim``, ``figure``) and name.

    Args:
        number: Two digits.

    Raises:
        ValueError: The file has a section of another kind.
    """
    file = notebooks() / room(number) / "texts.toml"
    sections = tomllib.loads(file.read_text(encoding="utf-8"))
    if unknown := set(sections) - set(KINDS):
        raise ValueError(
            f"{room(number)}/texts.toml: section {sorted(unknown)} is not known; use {', '.join(KINDS)}."
        )
    return {kind: sections.get(kind, {}) for kind in KINDS}


def text(kind: str, name: str) -> dict[str, Any]:
    """Return the text called `name` of the current lesson.

    Args:
        kind: ``"question"``, ``"claim"`` or ``"figure"``.
        name: The name that the notebook's cell uses.

    Raises:
        RuntimeError: The set-up cell was not run.
        ValueError: There is no such text.
    """
    number = current()
    known = all_texts(number)[kind]
    if name not in known:
        raise ValueError(
            f"there is no {kind} {name!r} in {room(number)}/texts.toml; there are {', '.join(sorted(known))}."
        )
    return known[name]


def exercises(number: str | None = None) -> dict[str, Any]:
    """Return the exercises of a lesson by name.

    Args:
        number: Two digits; the current lesson if not given.

    Returns:
        The entries of ``EXERCISES`` in the room's module ``checks`` (see :class:`course_utils.exercises.Exercise`).

    Raises:
        RuntimeError: No lesson is given and the set-up cell was not run.
    """
    found = import_module(f"{room(number or current())}.checks").EXERCISES
    return {exercise.name: exercise for exercise in found}
