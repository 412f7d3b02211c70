"""The environment variables that change how a lesson runs. Learners need none of them; tests and tools set them.

=================== =================================================================================================
``COURSE_STRICT``   ``1``: a claim that does not hold raises :class:`~course_utils.claims.ClaimError`.
``COURSE_RECORD``   Path of a journal: each claim and each curve is appended to it as one line of JSON.
``COURSE_REPEAT``   Number of further measurements of each claim, noted in the journal (to see the spread).
``COURSE_TRACES``   Folder that gets the profiler's whole traces of recorded timelines.
``COURSE_DATA_DIR`` Folder for language and progress instead of the user's own data folder.
``COURSE_LANGUAGE`` ``en``, ``zh-TW`` or ``zh-CN``: one language, without a switch (read by ``setup``).
``COURSE_CLINIC``   ``off``: no explanation below a known error (read by ``torch_doctor``).
=================== =================================================================================================
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def strict() -> bool:
    """Return whether a claim that does not hold must raise."""
    return os.environ.get("COURSE_STRICT") == "1"


def repetitions() -> int:
    """Return how many further times each claim is to be measured."""
    return int(os.environ.get("COURSE_REPEAT", "0"))


def note(kind: str, key: str, values: dict[str, Any]) -> None:
    """Append a measured result to the journal, if there is one.

    Args:
        kind: ``"claim"`` or ``"curve"``.
        key: The claim's id or the figure's name.
        values: JSON-serialisable values, in SI units.
    """
    journal = os.environ.get("COURSE_RECORD")
    if journal:
        line = json.dumps({"kind": kind, "key": key, "values": values}, ensure_ascii=False)
        with open(journal, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def traces() -> Path | None:
    """Return the folder for whole profiler traces, or None."""
    folder = os.environ.get("COURSE_TRACES")
    return Path(folder) if folder else None


def data_folder() -> Path | None:
    """Return the folder for language and progress, or None for the user's own data folder."""
    folder = os.environ.get("COURSE_DATA_DIR")
    return Path(folder) if folder else None
