"""Recorded runs: what the lessons measured on other machines, one JSON file per machine.

A file holds the machine's facts, the date, every claim's verdict and values, and the points of every curve. It is
written by ``make record`` and never by hand. Nothing is shown that was not measured: where no file holds a value,
the lesson says so.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.devices import machine_facts
from course_utils.language import Bilingual

FOLDER = Path(__file__).parent

NOT_RECORDED = Bilingual("not recorded yet", "尚無紀錄")


def note(kind: str, key: str, values: dict[str, Any]) -> None:
    """Append one measured result to the journal that ``make record`` collects.

    Args:
        kind: ``"claim"`` or ``"curve"``.
        key: The claim's id or the curve's name.
        values: JSON-serialisable values, in SI units.

    Without the environment variable ``COURSE_RECORD`` (the journal's path) nothing is written.
    """
    journal = os.environ.get("COURSE_RECORD")
    if journal:
        line = json.dumps({"kind": kind, "key": key, "values": values}, ensure_ascii=False)
        with open(journal, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def slug(facts: dict[str, Any]) -> str:
    """Return the file name (without suffix) for the machine described by `facts`."""
    gpus = facts["gpus"]
    name = gpus[0]["name"] if gpus else f"cpu-{facts['cpu']}"
    if len(gpus) > 1:
        name = f"{len(gpus)}x-{name}"
    name = re.sub(r"\((R|TM|C)\)|@.*", " ", name, flags=re.IGNORECASE)  # trade marks and clock rates
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def write(
    lines: list[dict[str, Any]],
    folder: Path = FOLDER,
    *,
    date: str | None = None,
    facts: dict[str, Any] | None = None,
) -> Path:
    """Write the collected journal `lines` as a machine's evidence file and return its path.

    Claims and curves of lessons that were not run this time are kept from the older file of the same machine,
    as long as PyTorch is the same; of a claim noted twice the later note counts.

    Args:
        lines: What :func:`note` wrote.
        folder: Where the file goes.
        date: When it was measured, ``"2026-11-22"``; today if not given.
        facts: The machine, as :func:`course_utils.devices.machine_facts` describes it; this one if not given.

    Raises:
        ValueError: There is nothing to write.
    """
    if not lines:
        raise ValueError("no claim and no curve was noted; run the notebooks with COURSE_RECORD set first.")
    facts = facts or machine_facts()
    path = folder / f"{slug(facts)}.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    same = old.get("machine", {}).get("torch") == facts["torch"]
    evidence: dict[str, Any] = {
        "machine": facts,
        "date": date or datetime.date.today().isoformat(),
        "claims": dict(old.get("claims", {})) if same else {},
        "curves": dict(old.get("curves", {})) if same else {},
    }
    for line in lines:
        evidence[f"{line['kind']}s"][line["key"]] = line["values"]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(evidence, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    return path


def read(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return all recorded runs as the files hold them now, newest first; a rehearsal's figures are none."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return sorted((run for run in found if "rehearsal" not in run), key=lambda run: run["date"], reverse=True)


@cache
def runs() -> list[dict[str, Any]]:
    """Return all recorded runs of the course, newest first; read once."""
    return read()


def gpu_run() -> dict[str, Any] | None:
    """Return the newest run recorded on a CUDA machine, or None."""
    return next((run for run in runs() if run["machine"]["gpus"]), None)


def label(run: dict[str, Any]) -> str:
    """Name a run: device, PyTorch version, date."""
    machine = run["machine"]
    device = machine["gpus"][0]["name"] if machine["gpus"] else machine["cpu"]
    return f"{device}, PyTorch {machine['torch'].split('+')[0]}, {run['date']}"


def recorded(key: str) -> dict[str, Any] | None:
    """Return what the newest recorded GPU run measured for `key`, or None if nothing is recorded yet.

    Args:
        key: A claim's id (``"2.2"``) or a curve's name (``"crossover"``).

    Returns:
        The values, plus ``"run"``: a line naming GPU, PyTorch version and date.
    """
    run = gpu_run()
    if run is None:
        return None
    values = run["claims"].get(key) or run["curves"].get(key)
    return None if values is None else {**values, "run": label(run)}
