"""A report: a diagnosis as a card, as plain text, and as JSON for a bug report (its form: ``report.schema.json``)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bilingual import joined, measured, only_language
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.card import card
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict
from torch_doctor.diagnosis.plain_text import PlainText
from torch_doctor.diagnosis.privacy import publishable
from torch_doctor.diagnosis.sections import SURENESS, in_notebook
from torch_doctor.errors.catalogue import errors_of
from torch_doctor.style import style
from torch_doctor.version import __version__

SCHEMA = 2  # grows when a field is removed or changes its meaning
# torch's own table is long and the same everywhere; the others quote files and job names of the user.
LEFT_OUT = {"pytorch": ("releases", "hides", "slows"), "interpreter": ("nccl_files",)}
_NAMES = ("TORCHELASTIC_RUN_ID",)  # variables whose value somebody has made up
# The values that variables of CUDA and of its libraries usually have; a path has been shortened before.
_USUAL = re.compile(
    r"(?:<\w+>|-?\d[\d.]*|0x[\da-f]+|(?:GPU|MIG)-<id>|[A-Za-z_]{1,30}\d{0,3}|[~$<][^\s,]*|/[^\s,]*)?", re.I
)


@dataclass(frozen=True)
class Report:
    """A diagnosis, ready to be shown: in a notebook, with ``print``, or as JSON."""

    diagnosis: Diagnosis

    def text(
        self, language: str = "both", width: int = 88, colour: bool = False, details: bool = False
    ) -> str:
        """Return the report as plain text.

        Args:
            language: ``"en"``, ``"zh"`` or ``"both"``.
            width: Columns of the terminal.
            colour: Whether to colour the mark and the headings.
            details: Whether to add what developers want to know: all causes with their evidence, and the probes.
        """
        text = PlainText(language, width, colour, in_notebook(self.diagnosis))
        return "\n".join(text.report(self.diagnosis, details))

    def __str__(self) -> str:
        text = self.text(only_language() or "both")
        return joined(text, text)

    def data(self) -> dict[str, Any]:
        """Return the report as plain data without private data (see ``report.schema.json``)."""
        found = self.diagnosis
        return {
            "schema": SCHEMA,
            "version": __version__,
            "tables": cuda_tables.AS_OF,
            "question": found.question,
            "kind": found.kind,
            "verdicts": [_verdict(verdict) for verdict in found.verdicts],
            "remarks": [_verdict(verdict) for verdict in found.remarks],
            "evidence": {name: _evidence(name, values) for name, values in found.evidence.found.items()},
        }

    def json(self) -> str:
        """Return :meth:`data` as JSON in ASCII, which every terminal and web form can show."""
        return json.dumps(self.data(), indent=1, sort_keys=False)

    def html(self) -> str:
        """Return the report as a card for a notebook."""
        return card(self.diagnosis)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": style() + self.html(), "text/plain": measured(self)}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    cause = verdict.cause
    told = {
        "cause": cause.name,
        "kind": cause.kind,
        "sure": SURENESS[verdict.sure].en,
        "title": cause.title.en,
        "why": cause.why.en if cause.why else None,
        "check": cause.check,
        "steps": [
            {"text": step.text.en, "run": step.run, "then": step.then.en if step.then else None, "costs": step.costs}
            for step in cause.steps
        ],
        "evidence": [{"probe": line.probe, "fact": publishable(line.fact)} for line in verdict.lines],
        "errors": [entry.name for entry in errors_of(cause.name)],
    }  # fmt: skip
    kept = ("cause", "kind", "sure", "evidence", "errors")  # the doctor's own words
    return publishable(told) | {key: told[key] for key in kept}


def _evidence(probe: str, values: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in values.items() if key not in LEFT_OUT.get(probe, ())}
    told: dict[str, Any] = publishable(kept)
    if "ended" in kept:
        told["ended"] = kept["ended"]
    if "environment" in told:
        told["environment"] = {name: _variable(name, value) for name, value in told["environment"].items()}
    for key in ("visible_at_start", "visible_now"):
        if isinstance(told.get(key), str):
            told[key] = _variable(key, told[key])
    return told


def _variable(name: str, value: Any) -> Any:
    """Return the value of a variable, or ``"<set>"`` if it is none of those that everybody has."""
    pieces = re.split(r"[,:;=\s]|/(?=\d)", str(value))
    return value if name not in _NAMES and all(map(_USUAL.fullmatch, pieces)) else "<set>"
