"""The room of the current lesson, and its texts.

A room is the package ``lesson_NN`` beside the notebooks. ``setup("02")`` names the lesson; from then on ``predict``,
``claim``, ``check`` and the figures look their texts up in ``lesson_02``. Only this module and ``exercises`` use the
notebooks' folder.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

from bilingual import toml_of

KINDS = ("question", "claim", "figure")

_current: str | None = None


def room(number: str) -> str:
    """Return the package name of a lesson's room: ``"02"`` → ``"lesson_02"``."""
    return f"lesson_{number}"


def notebooks() -> Path:
    """Return the folder with the rooms: the working directory, ``notebooks`` in it or above it, or beside the package.

    The kernel of a notebook starts in its own folder; some editors start it in the repository's root instead. A copy of a
    notebook elsewhere uses the rooms of the clone that is installed, or those that an installed package carries.
    """
    here, package = Path.cwd(), Path(__file__).parent
    above = (parent / "notebooks" for parent in (here, *here.parents, package.parent))
    found = (folder for folder in (here, *above) if any(folder.glob(room("[0-9][0-9]"))))
    return next(found, package / "notebooks")


def _import_from(folder: Path) -> None:
    if str(folder) not in sys.path and folder != Path.cwd():
        sys.path.append(str(folder))


def use(number: str | None) -> None:
    """Make lesson `number` the current one; None is for a notebook without a room.

    Args:
        number: Two digits, such as ``"02"``.

    Raises:
        ValueError: There is no room for this lesson.
    """
    global _current
    if number is not None:
        folder = notebooks()
        if not (folder / room(number)).is_dir():
            known = ", ".join(sorted(path.name[-2:] for path in folder.glob(room("[0-9][0-9]"))))
            raise ValueError(f"setup({number!r}): there is no lesson {number!r}; there are {known}.")
        _import_from(folder)
    _current = number


def number() -> str | None:
    """Return the number of the current lesson, or None in a notebook without a room."""
    return _current


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
    """Return the texts of lesson `number`, two digits, by kind (``question``, ``claim``, ``figure``) and name."""
    sections = toml_of(notebooks() / room(number) / "texts.toml")
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


_import_from(notebooks())  # a set-up cell imports from its room before it calls `setup`
