"""What no GPU has confirmed yet: derived from the lessons, the clinic and the evidence, so that the list stays true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from course_utils import evidence
from course_utils.clinic.catalogue import entries
from course_utils.texts import texts
from tools.verify_gpu.ranks import cases

TWO_GPUS = "two_gpus"
# What a claim needs that says something about a CPU only.
ON_CPU = ("cpu_only", "x86_cpu_only", "cpu_bf16", "cpu_matrix_units", "cpu_without_fp16")


def needs() -> dict[str, str | None]:
    """Return what each claim needs (see :func:`course_utils.devices.missing`), as the recorded runs noted it."""
    return {
        id: values.get("needs")
        for run in reversed(evidence.runs())  # the newest run's word counts
        for id, values in run["claims"].items()  # noqa: A001
    }


def seen(run: dict[str, Any] | None, id: str) -> str | None:  # noqa: A002
    """Return what a GPU run says about a claim, or None if it did not measure it."""
    values = (run or {}).get("claims", {}).get(id)
    if values is None or values["verdict"] == "needs":
        return None
    value = values["value"]
    return (
        values["verdict"] if value is None or isinstance(value, bool) else f"{values['verdict']}: {value:.4g}"
    )


def table(run: dict[str, Any] | None, clinic: dict[str, str | None], ranks: dict[str, Any]) -> str:
    """Return what a GPU has to confirm and what was seen, as a table in Markdown.

    Args:
        run: The evidence of a GPU machine; None if there is none.
        clinic: Name of each provoked entry → the entry that the clinic recognised.
        ranks: What became of each case of :mod:`tools.verify_gpu.ranks`.
    """
    rows, needed = [], needs()
    for id, sentence in sorted(texts("claim").items()):  # noqa: A001
        if needed.get(id) not in ON_CPU:
            lacking = "not yet run (two GPUs)" if needed.get(id) == TWO_GPUS else "not yet run"
            rows.append((f"claim {id}", sentence["en"], seen(run, id) or lacking))
    for name, entry in entries().items():
        if entry.where == "special" or (entry.where in ("cpu", "cpu_build") and not entry.provoke_cuda):
            continue
        found = clinic.get(name, "")
        lacking = "not yet provoked" + (" (two GPUs)" if entry.where == TWO_GPUS else "")
        rows.append((f"clinic {name}", entry.says, lacking if found == "" else f"recognised as {found}"))
    for name, case in cases(2).items():
        lacking = "not yet run" + (" (two GPUs)" if case.gpus > 1 else "")
        rows.append(("ranks", name, ranks[name]["wrong"] or "as expected" if name in ranks else lacking))
    lines = ["| what | statement | seen on a GPU |", "|---|---|---|"]
    lines += [
        "| " + " | ".join(part.replace("|", "\\|").replace("\n", " ") for part in row) + " |" for row in rows
    ]
    open_ = sum("not yet" in row[2] for row in rows)
    return "\n".join(lines) + f"\n\n{len(rows)} statements, {open_} not seen on a GPU yet.\n"


def of_the_course() -> str:
    """Return the table with what the course's own evidence holds (the archives of past runs are not kept)."""
    return table(evidence.gpu_run(), {}, {})


def of_a_run(folder: Path, run: dict[str, Any] | None) -> str:
    """Return the table with what one run of the command left in `folder`."""

    def read(name: str) -> dict[str, Any]:
        file = folder / name
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    return table(run, read("clinic.json"), read("ranks.json"))
