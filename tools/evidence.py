"""Write what the lessons measured on a machine into the recorded runs: one JSON file per machine.

A file holds the machine's facts, the date, every claim's verdict and values, and the points of every curve. It is
written by ``make record`` and never by hand.
"""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

from course_utils.machine import machine_facts

FOLDER = Path(__file__).parents[1] / "recordings"


def slug(facts: dict[str, Any]) -> str:
    """Return the file name, without its suffix, of the machine that `facts` describes."""
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
    """Write the lines of a journal to the file of a machine.

    Claims and curves of lessons that were not run this time are kept from the machine's older file, if PyTorch is the
    same. Of a claim noted twice the later note counts.

    Args:
        lines: What :func:`course_utils.run_mode.note` wrote, for example
            ``{"kind": "claim", "key": "2.2", "values": {"verdict": "holds", "value": 12.5}}``.
        folder: Where the file goes.
        date: When it was measured, ``"2026-11-22"``; today if not given.
        facts: The machine, as :func:`course_utils.machine.machine_facts` describes it; this one if not given.

    Returns:
        The path of the file.

    Raises:
        ValueError: There is nothing to write.
    """
    if not lines:
        raise ValueError("no claim and no curve was noted; run the notebooks with COURSE_RECORD set first.")
    facts = facts or machine_facts()
    path = folder / f"{slug(facts)}.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    same = old.get("machine", {}).get("torch") == facts["torch"]
    run: dict[str, Any] = {
        "machine": facts,
        "date": date or datetime.date.today().isoformat(),
        "claims": dict(old.get("claims", {})) if same else {},
        "curves": dict(old.get("curves", {})) if same else {},
    }
    for line in lines:
        run[f"{line['kind']}s"][line["key"]] = line["values"]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path
