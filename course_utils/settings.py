"""What outlives a notebook: the chosen language, the solved exercises and the scoreboard.

They are JSON files in the user's own data folder, never in the repository. Losing them costs a click, so reading never
fails: a missing, unreadable or damaged file counts as empty. Of two notebooks that save at the same moment the last
one wins.
"""

import datetime
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def folder() -> Path:
    """Return the folder that holds the course's files for this user."""
    from platformdirs import user_data_dir

    return Path(os.environ.get("COURSE_DATA_DIR") or user_data_dir("pytorch-gpu-course", appauthor=False))


def read(name: str) -> dict[str, Any]:
    """Return what was saved under `name`, or an empty dictionary."""
    try:
        data = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def write(name: str, data: dict[str, Any]) -> bool:
    """Return whether `data` could be saved under `name`.

    The file is replaced in one step: a crash leaves the old one whole. A read-only or full disk must not stop a lesson.

    Args:
        name: ``"settings"``, ``"progress"`` or ``"scoreboard"``.
        data: JSON-serialisable.
    """
    target = folder() / f"{name}.json"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as beside:
            made = Path(beside, target.name)
            made.write_text(json.dumps(data, sort_keys=True), encoding="ascii")
            os.replace(made, target)
    except (OSError, RecursionError):  # the latter: a damaged file held something nested too deep to write
        return False
    return True


def solved(lesson: str) -> set[str]:
    """Return the names of the exercises of `lesson` that have been solved."""
    record = read("progress").get(lesson)
    return set(record) if isinstance(record, dict) else set()


def mark_solved(lesson: str, name: str) -> None:
    """Save that exercise `name` of `lesson` is solved, with the date of the first time."""
    progress = read("progress")
    record = progress.get(lesson)
    record = dict(record) if isinstance(record, dict) else {}
    record.setdefault(name, datetime.date.today().isoformat())
    write("progress", progress | {lesson: record})
