"""A report: a diagnosis as a card, as plain text and as JSON, without names of users and hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bilingual import joined, measured, only_language
from torch_doctor.diagnosis.card import card
from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.plain_text import plain_text
from torch_doctor.diagnosis.report_data import data
from torch_doctor.style import style


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
            details: Whether to add all causes with their evidence, and the probes.
        """
        return plain_text(self.diagnosis, language, width, colour, details)

    def __str__(self) -> str:
        text = self.text(only_language() or "both")
        return joined(text, text)

    def data(self) -> dict[str, Any]:
        """Return the report as plain data without private data (see ``report.schema.json``)."""
        return data(self.diagnosis)

    def json(self) -> str:
        """Return :meth:`data` as JSON in ASCII, which every terminal and web form can show."""
        return json.dumps(self.data(), indent=1, sort_keys=False)

    def html(self) -> str:
        """Return the report as a card for a notebook."""
        return card(self.diagnosis)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": style() + self.html(), "text/plain": measured(self)}
