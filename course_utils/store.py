"""Small facts that outlive a notebook: the language choice and the exercises solved.

They live as JSON in the user's own data folder, never in the repository. Losing them costs a click, so reading
never fails: a missing, unreadable or damaged file counts as empty.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def folder() -> Path:
    """Return the folder that holds the course's files for this user.

    The environment variable ``COURSE_DATA_DIR`` overrides it (tests and CI use that).
    """
    override = os.environ.get("COURSE_DATA_DIR")
    if override:
        return Path(override)
    from platformdirs import user_data_dir

    return Path(user_data_dir("pytorch-gpu-course", appauthor=False))


def read(name: str) -> dict[str, Any]:
    """Return what was saved under `name`, or an empty dictionary."""
    try:
        data = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def write(name: str, data: dict[str, Any]) -> bool:
    """Save `data` (JSON-serialisable) under `name`; return whether it could be saved.

    The file is replaced in one step, so that a crash in between leaves the old one whole. A read-only or full
    disk is no reason to stop a lesson: the answer is then False.
    """
    target = folder() / f"{name}.json"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{name}-", suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(json.dumps(data, sort_keys=True))
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except (OSError, RecursionError):  # the second: what a damaged file held may be nested too deep to write
        return False
    return True
