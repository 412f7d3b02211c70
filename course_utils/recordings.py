"""Recorded runs: what was measured on other machines, shown beside what is measured here.

Each machine has one JSON file in the course's folder ``recordings``. The tools write them; this module only reads.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from course_utils import lesson, run_mode


class Limits(NamedTuple):
    """The limits within which a claim is true; None where it has none."""

    at_least: float | None = None
    at_most: float | None = None

    def allow(self, value: float) -> bool:
        """Return whether `value` is within them."""
        low, high = self
        return (low is None or value >= low) and (high is None or value <= high)


MEASURED = ("holds", "unclear", "fails")  # the verdicts that come from hardware


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the recorded runs in `folder`, newest first. Rehearsal runs are skipped."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return sorted((run for run in found if "rehearsal" not in run), key=lambda run: run["date"], reverse=True)


@cache
def runs() -> list[dict[str, Any]]:
    """Return all recorded runs of the course, newest first; read once, from the folder beside the notebooks."""
    return read(lesson.notebooks().parent / "recordings")


def label(run: dict[str, Any]) -> str:
    """Return the name of a run: device, PyTorch version, date."""
    machine = run["machine"]
    device = machine["gpus"][0]["name"] if machine["gpus"] else machine["cpu"]
    return f"{device}, PyTorch {machine['torch'].split('+')[0]}, {run['date']}"


def of_claim(run: dict[str, Any], id: str, limits: Limits) -> dict[str, Any] | None:  # noqa: A002
    """Return what a run measured for a claim as it is now; None if it did not, or under other limits.

    Args:
        run: A recorded run.
        id: The claim's id, ``"2.2"``.
        limits: What the claim asserts now: at least, at most.
    """
    values = run["claims"].get(id)
    if values is None or values["verdict"] not in MEASURED:
        return None
    # A verdict under other limits says nothing about the claim as it is now.
    return values if (values.get("at_least"), values.get("at_most")) == limits else None


def _measured(run: dict[str, Any], key: str, limits: Limits | None) -> dict[str, Any] | None:
    values = run["curves"].get(key) if limits is None else of_claim(run, key, limits)
    return None if values is None else {**values, "run": label(run)}


def recorded(key: str, limits: Limits | None = None) -> dict[str, Any] | None:
    """Return what the newest recorded GPU run measured for `key`, or None if nothing is recorded.

    Args:
        key: A figure's name (``"crossover"``) or, with `limits`, a claim's id (``"2.2"``).
        limits: What the claim asserts: at least, at most. A verdict under other limits does not count.

    Returns:
        The values, plus ``"run"``: a line with GPU, PyTorch version and date.
    """
    return next((_measured(run, key, limits) for run in runs() if run["machine"]["gpus"]), None)


def instead(key: str, limits: Limits | None = None) -> dict[str, Any] | None:
    """Return what is shown instead of a measurement where ``COURSE_MODE=recorded``; None if nothing is, or elsewhere.

    It is the newest value that a GPU reached for `key`, or else the newest of a machine without one.

    Args:
        key: A figure's name or, with `limits`, a claim's id.
        limits: As for :func:`recorded`.
    """
    if not run_mode.on("recorded"):
        return None
    newest = sorted(runs(), key=lambda run: not run["machine"]["gpus"])
    return next((values for run in newest if (values := _measured(run, key, limits))), None)
