"""The claims of the lessons, and what the recorded machines say about them."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_utils import recordings
from course_utils.needs import names as needs_names
from course_utils.units import number
from tools.claim_summary import claims_in
from torch_doctor.bilingual import Bilingual

ROOT = Path(__file__).parents[2]
MEASURED = ("holds", "unclear", "fails")


@dataclass
class Claim:
    """A claim of a lesson, and what became of it on each recorded machine.

    Attributes:
        id: "1.3-loops".
        statement: Its sentence as HTML.
        limit: "≥ 100", or "" for an exact fact.
        needs: What it needs, as HTML; "" for nothing.
        results: For each machine its verdict and its value. The verdict is ``holds``, ``unclear``, ``fails``; ``changed``
            if the claim had another limit then; ``""`` if it was not measured.
    """

    id: str
    statement: str
    limit: str
    needs: str
    results: list[tuple[str, str]]


def runs() -> list[dict[str, Any]]:
    """Return the recorded runs, newest first."""
    return recordings.read(ROOT / "recordings")


def run_name(run: dict[str, Any]) -> str:
    """Return the device of a run: "2 × NVIDIA T4", or the name of its CPU."""
    gpus = run["machine"]["gpus"]
    if not gpus:
        return run["machine"]["cpu"]
    return f"{len(gpus)} × {gpus[0]['name']}" if len(gpus) > 1 else gpus[0]["name"]


@cache
def _sentences(path: Path) -> dict[str, dict[str, str]]:
    room = path.parent / f"lesson_{path.name[:2]}" / "texts.toml"
    return tomllib.loads(room.read_text(encoding="utf-8")).get("claim", {}) if room.exists() else {}


def _calls(path: Path) -> Iterator[ast.Call]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        code = re.sub(r"^(\s*)[%!].*$", r"\1pass", "".join(cell["source"]), flags=re.M)
        if cell["cell_type"] == "code" and "claim(" in code:
            yield from (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))


@cache
def _limits(path: Path) -> dict[str, tuple[float | None, float | None]]:
    """Return the limits of a lesson's claims as its cells say today: at least, at most."""
    found = {}
    for call in _calls(path):
        if isinstance(call.func, ast.Name) and call.func.id == "claim":
            words = {word.arg: word.value for word in call.keywords}
            limits = (
                ast.literal_eval(words[side]) if side in words else None for side in ("at_least", "at_most")
            )
            found[ast.literal_eval(call.args[0])] = tuple(limits)
    return found


def _result(values: dict[str, Any] | None, limits: tuple[float | None, float | None]) -> tuple[str, str]:
    if values is None or values["verdict"] not in MEASURED:
        return "", ""
    if (values.get("at_least"), values.get("at_most")) != limits:
        return "changed", ""
    value = values.get("value")
    return values["verdict"], "" if value is None or isinstance(value, bool) else number(value)


def _needed(needs: str | None) -> str:
    if needs not in needs_names():  # nothing, or what is decided when the cell runs
        return ""
    what = needs_names()[needs]
    gap = " " if what.zh[0].isascii() else ""
    return Bilingual(f"needs {what.en}", f"需要{gap}{what.zh}").html()


def claims(path: Path) -> list[Claim]:
    """Return the claims of a lesson in order, in the language that was chosen."""
    found = []
    for name, needs in claims_in(path).items():
        limits = _limits(path)[name]
        limit = ", ".join(
            f"{sign} {value:g}" for sign, value in zip("≥≤", limits, strict=True) if value is not None
        )
        sentence = _sentences(path)[name]
        statement = Bilingual(sentence["en"], sentence["zh"]).html()
        results = [_result(run["claims"].get(name), limits) for run in runs()]
        found.append(Claim(name, statement, limit, _needed(needs), results))
    return found


def counts(verdicts: list[str]) -> dict[str, int]:
    """Return how many claims hold, are unclear, fail, and how many were not measured as they are now ("other")."""
    numbers = {verdict: verdicts.count(verdict) for verdict in MEASURED}
    return numbers | {"other": len(verdicts) - sum(numbers.values())}
