"""Write what the lessons measured on a machine into the recorded runs: one JSON file per machine.

A file holds the machine's facts, the date, every claim's verdict and values, and the points of every curve with
its lesson. It is written by ``make record`` and never by hand.
"""

import datetime
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course_utils import recordings
from course_utils.machine import machine_facts
from tools.claim_summary import Declared, claims_in
from tools.notebook_file import ROOT, lessons

FOLDER = ROOT / "recordings"


def claims_of_today(notebooks: Iterable[Path] | None = None) -> dict[str, Declared]:
    """Return the claims of the notebooks by id, as their cells say now; without an argument, of all lessons."""
    paths = lessons().values() if notebooks is None else notebooks
    return {id: claim for path in sorted(paths) for id, claim in claims_in(path).items()}  # noqa: A001


def device_name(run: dict[str, Any]) -> str:
    """Return the device of a run: "2 × NVIDIA T4", or the name of its CPU."""
    gpus = run["machine"]["gpus"]
    if not gpus:
        return run["machine"]["cpu"]
    return f"{len(gpus)} × {gpus[0]['name']}" if len(gpus) > 1 else gpus[0]["name"]


def counts(run: dict[str, Any], claims: dict[str, Declared]) -> dict[str, int]:
    """Return how many of the claims hold, are unclear and fail in a run.

    "model": a practice GPU showed them. "other": neither measured as they are now, nor shown.
    """
    found = [recordings.of_claim(run, id, claim.limits) for id, claim in claims.items()]  # noqa: A001
    verdicts = [values["verdict"] for values in found if values]
    number = {verdict: verdicts.count(verdict) for verdict in recordings.MEASURED}
    modelled = [run["claims"][id]["verdict"] for id in claims if id in run["claims"]].count("model")  # noqa: A001
    return number | {"model": modelled, "other": len(claims) - len(verdicts) - modelled}


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
    anew: bool = False,
) -> Path:
    """Write the lines of a journal to the file of a machine.

    What was not measured this time is kept from the machine's older file, if PyTorch is the same: the claims that the
    lessons still make, and the curves of lessons that were not run. Of a claim noted twice the later note counts.

    Args:
        lines: What :func:`course_utils.run_mode.note` wrote.
        folder: Where the file goes.
        date: When it was measured, ``"2026-11-22"``; today if not given.
        facts: The machine, as :func:`course_utils.machine.machine_facts` describes it; this one if not given.
        anew: Whether nothing is kept, because all lessons were run.
    """
    facts = facts or machine_facts()
    path = folder / f"{slug(facts)}.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if anew or old.get("machine", {}).get("torch") != facts["torch"]:
        old = {}
    today = claims_of_today()
    ran, drawn_in = {line.get("lesson") for line in lines} - {None}, old.get("drawn_in", {})
    kept = {key: values for key, values in old.get("curves", {}).items() if drawn_in.get(key) not in ran}
    run: dict[str, Any] = {
        "machine": facts,
        "date": date or datetime.date.today().isoformat(),
        "claims": {id: values for id, values in old.get("claims", {}).items() if id in today},  # noqa: A001
        "curves": kept,
        "drawn_in": {key: number for key, number in drawn_in.items() if key in kept},
    }
    for line in lines:
        run[f"{line['kind']}s"][line["key"]] = line["values"]
        if line["kind"] == "curve" and line.get("lesson"):
            run["drawn_in"][line["key"]] = line["lesson"]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path
