"""List what no GPU has confirmed yet, from the lessons, the error catalogue and the recorded runs."""

import json
from pathlib import Path
from typing import Any

from course_utils import lesson, recordings
from tools.evidence import claims_of_today
from tools.verify_gpu.ranks import cases
from torch_doctor.errors.catalogue import entries

TWO_GPUS = "two_gpus"


def claims() -> dict[str, dict[str, Any]]:
    """Return the texts of the claims of all lessons by id."""
    rooms = sorted(lesson.notebooks().glob(lesson.room("[0-9][0-9]")))
    return {id: text for room in rooms for id, text in lesson.all_texts(room.name[-2:])["claim"].items()}  # noqa: A001


def seen(run: dict[str, Any] | None, id: str, limits: recordings.Limits) -> str | None:  # noqa: A002
    """Return what a GPU run says about a claim as it is now, or None if it did not measure it."""
    values = run and recordings.of_claim(run, id, limits)
    if not values:
        return None
    value, verdict = values["value"], values["verdict"]
    return verdict if value is None or isinstance(value, bool) else f"{verdict}: {value:.4g}"


def table(run: dict[str, Any] | None, clinic: dict[str, str | None], ranks: dict[str, Any]) -> str:
    """Return what a GPU has to confirm and what was seen (in a recorded run, clinic.json, ranks.json), as Markdown."""
    rows, sentences = [], claims()
    for id, claim in sorted(claims_of_today().items()):  # noqa: A001
        lacking = "not yet run (two GPUs)" if claim.needs == TWO_GPUS else "not yet run"
        rows.append((f"claim {id}", sentences[id]["en"], seen(run, id, claim.limits) or lacking))
    for name, entry in entries().items():
        if entry.requires == "special" or (entry.requires in ("cpu", "cpu_build") and not entry.provoke_cuda):
            continue
        found = clinic.get(name, "")
        lacking = "not yet provoked" + (" (two GPUs)" if entry.requires == TWO_GPUS else "")
        rows.append((f"clinic {name}", entry.message, lacking if found == "" else f"recognised as {found}"))
    for name, case in cases(2).items():
        lacking = "not yet run" + (" (two GPUs)" if case.gpus > 1 else "")
        rows.append(("ranks", name, ranks[name]["wrong"] or "as expected" if name in ranks else lacking))
    lines = ["| what | statement | seen on a GPU |", "|---|---|---|"]
    for row in rows:
        lines.append("| " + " | ".join(part.replace("|", "\\|").replace("\n", " ") for part in row) + " |")
    open_ = sum("not yet" in row[2] for row in rows)
    return "\n".join(lines) + f"\n\n{len(rows)} statements, {open_} not seen on a GPU yet.\n"


def of_the_course() -> str:
    """Return the table for the newest recorded run of a GPU machine (the archives of past runs are not kept)."""
    return table(next((run for run in recordings.runs() if run["machine"]["gpus"]), None), {}, {})


def of_a_run(folder: Path, run: dict[str, Any] | None) -> str:
    """Return the table with what one run of the command left in `folder`."""

    def read(name: str) -> dict[str, Any]:
        file = folder / name
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    return table(run, read("clinic.json"), read("ranks.json"))
