"""Small facts that outlive a notebook: the language choice and the exercises solved.

They live as JSON in the user's own data folder, never in the repository. Losing them costs a click, so reading
never fails: a missing, unreadable or damaged file counts as empty.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST_WAIT = 10.0  # seconds for a lock that others hold for a millisecond


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


def update(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    """Save what `change` makes of what is saved under `name`; return whether it could be saved.

    Several notebooks may do this in the same moment, and none may lose what another one adds. They wait for each
    other by a lock on a file beside the saved one, which the system frees when its process ends. Where no lock can
    be had (a file system without locks, a lock that somebody keeps), saving is better than not saving.
    """
    from filelock import FileLock

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError):
            folder().mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder() / f".{name}.lock", timeout=LONGEST_WAIT)
            held.enter_context(lock.acquire(poll_interval=0.005))
        return write(name, change(read(name)))
