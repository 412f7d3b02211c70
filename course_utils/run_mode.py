"""The environment variables that change how a lesson runs. Learners need none of them; tests and tools set them.

=================== =================================================================================================
``COURSE_STRICT``   ``1``: a claim that does not hold raises :class:`~course_utils.claims.ClaimError`.
``COURSE_RECORD``   Path of a journal: each claim and each curve is appended to it as one line of JSON.
``COURSE_REPEAT``   Number of further measurements of each claim, noted in the journal (read by ``claims``).
``COURSE_TRACES``   Folder for the profiler's whole traces of recorded timelines (read by ``shared.timeline``).
``COURSE_DATA_DIR`` Folder for language and progress instead of the user's own (read by ``course_utils.settings``).
``COURSE_LANGUAGE`` ``en``, ``zh-TW`` or ``zh-CN``: one language, without a switch (read by ``setup``).
``COURSE_CARD``     The card on which practice GPUs are modelled, ``T4`` if not given (read by ``lesson_gpus``).
``COURSE_CLINIC``   ``off``: no explanation below a known error (read by ``torch_doctor``).
``COURSE_MODE``     ``class``: for a projector. ``recorded``: recorded results, nothing is timed. ``class,recorded``: both.
=================== =================================================================================================
"""

import json
import os
from typing import Any

from course_utils import lesson


def on(mode: str) -> bool:
    """Return whether ``COURSE_MODE`` names `mode`, ``"class"`` or ``"recorded"``.

    Raises:
        ValueError: It names something else: a typing error would show up before the audience.
    """
    named = os.environ.get("COURSE_MODE", "").replace(",", " ").split()
    if unknown := set(named) - {"class", "recorded"}:
        raise ValueError(f"COURSE_MODE={', '.join(sorted(unknown))} is not known; choose class or recorded.")
    return mode in named


def strict() -> bool:
    """Return whether a claim that does not hold must raise."""
    return os.environ.get("COURSE_STRICT") == "1"


def note(kind: str, key: str, values: dict[str, Any]) -> None:
    """Append a measured result to the journal, if there is one, with the lesson that measured it.

    Args:
        kind: ``"claim"`` or ``"curve"``.
        key: The claim's id or the figure's name.
        values: JSON-serialisable values, in SI units.
    """
    if journal := os.environ.get("COURSE_RECORD"):
        found = {"kind": kind, "key": key, "values": values, "lesson": lesson.number()}
        line = json.dumps(found, ensure_ascii=False)
        with open(journal, "a", encoding="utf-8") as file:
            file.write(line + "\n")
