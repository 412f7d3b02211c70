"""List what no GPU has confirmed yet, from the lessons, the error catalogue and the recorded runs."""

from typing import Any

from course_utils import lesson, recordings
from tools.evidence import claims_of_today
from tools.notebook_file import lessons
from tools.verify_gpu.ranks import cases
from torch_doctor.errors.catalogue import entries

TWO_GPUS = "two_gpus"


def sentences() -> dict[str, str]:
    """Return the claims of all lessons in English by id."""
    texts = [lesson.all_texts(number)["claim"] for number in lessons()]
    return {key: text["en"] for claims in texts for key, text in claims.items()}


def seen(run: dict[str, Any] | None, key: str, limits: recordings.Limits) -> str | None:
    """Return what a GPU run says about a claim as it is now, or None if it did not measure it."""
    values = run and recordings.of_claim(run, key, limits)
    if not values:
        return None
    value, verdict = values["value"], values["verdict"]
    return verdict if value is None or isinstance(value, bool) else f"{verdict}: {value:.4g}"


def table(run: dict[str, Any] | None) -> str:
    """Return what a GPU has to confirm, and what was seen in a recorded run, as a table in Markdown."""
    rows, statements = [], sentences()
    for key, claim in sorted(claims_of_today().items()):
        lacking = f"not yet run{' (two GPUs)' * (claim.needs == TWO_GPUS)}"
        rows.append((f"claim {key}", statements[key], seen(run, key, claim.limits) or lacking))
    for name, entry in entries().items():
        if entry.requires in ("cuda", TWO_GPUS) or (entry.provoke_cuda and entry.requires != "special"):
            lacking = f"not yet provoked{' (two GPUs)' * (entry.requires == TWO_GPUS)}"
            rows.append((f"clinic {name}", entry.message, lacking))
    for name, case in cases(2).items():
        rows.append(("ranks", name, f"not yet run{' (two GPUs)' * (case.gpus > 1)}"))
    lines = ["| what | statement | seen on a GPU |", "|---|---|---|"]
    for row in rows:
        lines.append("| " + " | ".join(part.replace("|", "\\|").replace("\n", " ") for part in row) + " |")
    open_ = sum("not yet" in row[2] for row in rows)
    return "\n".join(lines) + f"\n\n{len(rows)} statements, {open_} not seen on a GPU yet.\n"


def of_the_course() -> str:
    """Return the table for the newest recorded run of a GPU machine, which holds claims only."""
    return table(next((run for run in recordings.runs() if run["machine"]["gpus"]), None))
