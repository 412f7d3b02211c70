"""Recorded runs: what was measured on other machines, shown beside what is measured here.

Each machine has one JSON file in the course's folder ``recordings``. The tools write them; this module only reads.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from course_utils import lesson, run_mode


def folder() -> Path:
    """Return the folder of the recorded runs, which is beside that of the notebooks."""
    return lesson.notebooks().parent / "recordings"


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the recorded runs in `folder`, newest first. Rehearsal runs are skipped."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return sorted((run for run in found if "rehearsal" not in run), key=lambda run: run["date"], reverse=True)


@cache
def runs() -> list[dict[str, Any]]:
    """Return all recorded runs of the course, newest first; read once."""
    return read(folder())


def label(run: dict[str, Any]) -> str:
    """Return the name of a run: device, PyTorch version, date."""
    machine = run["machine"]
    device = machine["gpus"][0]["name"] if machine["gpus"] else machine["cpu"]
    return f"{device}, PyTorch {machine['torch'].split('+')[0]}, {run['date']}"


def recorded(key: str) -> dict[str, Any] | None:
    """Return what the newest recorded GPU run measured for `key`, or None if nothing is recorded.

    Args:
        key: A claim's id (``"2.2"``) or a figure's name (``"crossover"``).

    Returns:
        The values, plus ``"run"``: a line with GPU, PyTorch version and date.
    """
    run = next((run for run in runs() if run["machine"]["gpus"]), None)
    if run is None:
        return None
    values = run["claims"].get(key) or run["curves"].get(key)
    return None if values is None else {**values, "run": label(run)}


def instead(key: str) -> dict[str, Any] | None:
    """Return what is shown instead of a measurement where ``COURSE_MODE=recorded``; None if nothing is, or elsewhere.

    It is the newest value that a GPU reached for `key`, or else the newest of a machine without one.

    Args:
        key: A claim's id or a figure's name.
    """
    if not run_mode.on("recorded"):
        return None
    found = (
        {**values, "run": label(run)}
        for run in sorted(runs(), key=lambda run: not run["machine"]["gpus"])
        if (values := run["claims"].get(key) or run["curves"].get(key)) and values.get("verdict") != "needs"
    )
    return next(found, None)
