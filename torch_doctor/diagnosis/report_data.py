"""A diagnosis as plain data for a bug report; its form is described in ``report.schema.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.causes import Step
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict
from torch_doctor.diagnosis.privacy import publishable
from torch_doctor.diagnosis.sections import SURENESS
from torch_doctor.errors.catalogue import errors_of
from torch_doctor.version import __version__

SCHEMA = 2  # grows when a field is removed or changes its meaning
# torch's own table is long and the same everywhere; the others quote files and job names of the user.
LEFT_OUT = {"pytorch": ("releases", "hides", "slows")}
_NAMES = ("TORCHELASTIC_RUN_ID",)  # variables whose value somebody has made up
# The values that variables of CUDA and of its libraries usually have; a path has been shortened before.
_USUAL = re.compile(
    r"(?:<\w+>|-?\d[\d.]*|0x[\da-f]+|(?:GPU|MIG)-<id>|[A-Za-z_]{1,30}\d{0,3}|[~$<][^\s,]*|/[^\s,]*)?", re.I
)


def data(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return `diagnosis` as plain data without private data.

    Args:
        diagnosis: The diagnosis.
    """
    return {
        "schema": SCHEMA,
        "version": __version__,
        "tables": cuda_tables.AS_OF,
        "question": diagnosis.question,
        "kind": diagnosis.kind,
        "verdicts": [_verdict(verdict) for verdict in diagnosis.verdicts],
        "remarks": [_verdict(verdict) for verdict in diagnosis.remarks],
        "evidence": {name: _evidence(name, values) for name, values in diagnosis.evidence.found.items()},
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    cause = verdict.cause
    return {
        "cause": cause.name,
        "kind": cause.kind,
        "sure": SURENESS[verdict.sure].en,
        "title": publishable(cause.title.en),
        "why": publishable(cause.why.en) if cause.why else None,
        "check": publishable(cause.check),
        "steps": [_step(step) for step in cause.steps],
        "evidence": [{"probe": line.probe, "fact": publishable(line.fact)} for line in verdict.lines],
        "errors": [entry.name for entry in errors_of(cause.name)],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "text": publishable(step.text.en),
        "run": publishable(step.run),
        "then": publishable(step.then.en) if step.then else None,
        "costs": step.costs,
    }


def _evidence(probe: str, values: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in values.items() if key not in LEFT_OUT.get(probe, ())}
    told = publishable(kept)
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
    usual = name not in _NAMES and all(
        _USUAL.fullmatch(piece) for piece in re.split(r"[,:;=\s]|/(?=\d)", str(value))
    )
    return value if usual else "<set>"
