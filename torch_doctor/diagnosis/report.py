"""A report: a diagnosis as a card, as plain text and as JSON, without names of users and hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from torch_doctor.bilingual import measured
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.card import card
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict
from torch_doctor.diagnosis.plain_text import plain_text
from torch_doctor.diagnosis.privacy import clean
from torch_doctor.diagnosis.sections import SURENESS
from torch_doctor.style import style


def _data(verdict: Verdict) -> dict[str, Any]:
    return {
        "cause": verdict.cause.name,
        "sure": SURENESS[verdict.sure].en,
        "title": verdict.cause.title.en,
        "evidence": [[line.probe, line.fact] for line in verdict.lines],
    }


@dataclass(frozen=True)
class Report:
    """A diagnosis, ready to be shown: in a notebook, with ``print``, or as JSON."""

    diagnosis: Diagnosis

    def text(self, language: str = "both", width: int = 88, colour: bool = False) -> str:
        """Return the report as plain text.

        Args:
            language: ``"en"``, ``"zh"`` or ``"both"``.
            width: Columns of the terminal.
            colour: Whether to colour the mark and the headings.
        """
        return plain_text(self.diagnosis, language, width, colour)

    def __str__(self) -> str:
        return self.text()

    def data(self) -> dict[str, Any]:
        """Return the report as plain data, without names of users and hosts."""
        found = {name: dict(values) for name, values in self.diagnosis.evidence.found.items()}
        found.get("pytorch", {}).pop(
            "releases", None
        )  # torch's own table, which is long and the same everywhere
        return clean(
            {
                "doctor": 1,
                "tables": cuda_tables.AS_OF,
                "question": self.diagnosis.question,
                "kind": self.diagnosis.kind,
                "verdicts": [_data(verdict) for verdict in self.diagnosis.verdicts],
                "remarks": [_data(verdict) for verdict in self.diagnosis.remarks],
                "evidence": found,
            }
        )

    def json(self) -> str:
        """Return :meth:`data` as JSON in ASCII, which every terminal and web form can show."""
        return json.dumps(self.data(), indent=1, sort_keys=False)

    def html(self) -> str:
        """Return the report as a card for a notebook."""
        return card(self.diagnosis)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": style() + self.html(), "text/plain": measured(self.text())}
