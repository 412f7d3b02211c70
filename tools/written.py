"""Scripts that a lesson's cells write: ``%%writefile mine/NAME.py``, and the folder in which they are written.

``notebooks/mine/`` and ``notebooks/results/`` belong to the learner. Whatever executes a lesson for us does so in a folder that
looks like ``notebooks/`` and has both of its own: nothing of a learner is overwritten, no run finds what another one left, and
lessons that run at the same time do not write into each other's scripts.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

MINE = "mine"
LEARNERS = frozenset({MINE, "results"})  # folders of the learner; git ignores them
LONGEST = 48  # lines, the magic's included
WIDEST = 88  # characters

CHECKED = re.compile(rf'^check\("\w+", "{MINE}/(\w+\.py)"\)', re.M)  # the script that an exercise examines
_MAGIC = re.compile(rf"%%writefile {MINE}/(\w+\.py)\s*\Z")


@dataclass(frozen=True)
class Script:
    """What a cell writes: the file's name in ``mine/`` and its text, which begins at the second line of the cell."""

    name: str
    text: str


def script_in(source: str) -> Script | None:
    """Return the script that a cell with this source writes into ``mine/``, or None."""
    first, _, rest = source.partition("\n")
    found = _MAGIC.match(first)
    return Script(found[1], rest.rstrip("\n") + "\n") if found else None


def workers(notebooks: Path) -> list[Path]:
    """Return the files of ``workers/``, from `notebooks` on, in order: lessons 06 to 08 launch and show them by their path."""
    found = (
        path.relative_to(notebooks) for path in sorted((notebooks / "workers").rglob("*")) if path.is_file()
    )
    return [name for name in found if not any(part == "__pycache__" or part[0] == "." for part in name.parts)]


def workplace(notebooks: Path, scratch: Path) -> Path:
    """Return the working directory for the cells of the notebooks in a folder.

    It is in `scratch` and has links to all that is in `notebooks`, without the learner's folders, which the cells make
    themselves, and beside it the recorded runs; a folder that holds no lessons is its own.
    """
    if not any(notebooks.glob("lesson_[0-9][0-9]")):
        return notebooks
    place = scratch / "notebooks"
    place.mkdir(parents=True)
    for entry in notebooks.resolve().iterdir():
        if entry.name not in {*LEARNERS, "__pycache__"} and not entry.name.startswith("."):
            _link(entry, place / entry.name)
    if (recorded := notebooks.resolve().parent / "recordings").is_dir():  # the pictures show them
        _link(recorded, scratch / recorded.name)
    return place


def own_environment(journal: Path, scratch: Path) -> dict[str, str]:
    """Return the kernels' variables: nothing of the user's folders, and strict claims unless COURSE_STRICT says otherwise."""
    return {
        "COURSE_STRICT": os.environ.get("COURSE_STRICT", "1"),
        "COURSE_DATA_DIR": str(scratch / "data"),
        "COURSE_RECORD": str(journal),
        "IPYTHONDIR": str(scratch / "ipython"),  # start-up files of the user would change outputs
    }


def _link(entry: Path, place: Path) -> None:
    try:
        os.symlink(entry, place, target_is_directory=entry.is_dir())
    except OSError:  # Windows asks for a privilege
        copy = shutil.copytree if entry.is_dir() else shutil.copy
        copy(entry, place)
