"""The claims of the lessons, and what the recorded machines say about them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bilingual import Bilingual, pair
from course_utils import lesson, recordings
from course_utils.needs import NAMES
from course_utils.recordings import runs
from course_utils.units import number
from tools.claim_summary import claims_in


@dataclass
class Claim:
    """A claim of a lesson, and what became of it on each recorded machine."""

    id: str  # "1.3-loops"
    statement: str  # its sentence as HTML
    limit: str  # "≥ 100", or "" for an exact fact
    needs: str  # what it needs, as HTML; "" for nothing
    # For each machine its verdict and its value. The verdict is "holds", "unclear", "fails"; "changed" if the claim had
    # another limit then; "" if it was not measured.
    results: list[tuple[str, str]]


def _result(run: dict[str, Any], id: str, limits: recordings.Limits) -> tuple[str, str]:  # noqa: A002
    values = recordings.of_claim(run, id, limits)
    if values is None:
        older = run["claims"].get(id, {}).get("verdict")
        return {**dict.fromkeys(recordings.MEASURED, "changed"), "model": "model"}.get(older, ""), ""
    value = values.get("value")
    return values["verdict"], "" if value is None or isinstance(value, bool) else number(value)


def _needed(needs: str | None) -> str:
    if needs not in NAMES:  # nothing, or what is decided when the cell runs
        return ""
    what = NAMES[needs]
    gap = " " if what.zh[0].isascii() else ""
    return Bilingual(f"needs {what.en}", f"需要{gap}{what.zh}").html()


def claims(path: Path) -> list[Claim]:
    """Return the claims of a lesson in order, in the language that was chosen."""
    found = []
    for name, claim in claims_in(path).items():
        limit = ", ".join(
            f"{sign} {value:g}" for sign, value in zip("≥≤", claim.limits, strict=True) if value is not None
        )
        statement = pair(lesson.all_texts(path.name[:2])["claim"][name]).html()
        results = [_result(run, name, claim.limits) for run in runs()]
        found.append(Claim(name, statement, limit, _needed(claim.needs), results))
    return found
