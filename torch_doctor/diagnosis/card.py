"""Render a report for a notebook: a card, whose details open with a click."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from torch_doctor.bilingual import Bilingual, markup
from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.evidence import PROBES, Line
from torch_doctor.diagnosis.privacy import clean
from torch_doctor.diagnosis.sections import (
    HEADINGS,
    LABELS,
    MARKS,
    Item,
    Section,
    probes_asked,
    sections,
    sureness,
)  # fmt: skip


def _code(text: str) -> str:
    return html.escape(clean(text), quote=False)


@dataclass(frozen=True)
class _Html:
    """Renders a diagnosis in one language as HTML."""

    language: str  # "en" or "zh"

    def text(self, text: Bilingual) -> str:
        return markup(clean(getattr(text, self.language)))

    def sure(self, sure: int) -> str:
        return f'<span class="course-small">{sureness(sure, self.language)}</span>'

    def lines(self, lines: Iterable[Line]) -> str:
        rows = (
            f"<tr><td>{self.text(PROBES[line.probe])}</td><td><code>{_code(line.said(self.language))}</code></td></tr>"
            for line in lines
        )
        return f'<table class="course-table"><tbody>{"".join(rows)}</tbody></table>'

    def item(self, item: Item) -> str:
        text = self.text(item.text) if item.text else ""
        if item.sure is not None:
            text = f"<p>{text} {self.sure(item.sure)}</p>"
        note = f"<p>{self.text(item.note)}</p>" if item.note else ""
        command = f'<pre class="course-console">{_code(item.command)}</pre>' if item.command else ""
        return text + (self.lines(item.lines) if item.lines else "") + note + command

    def heading(self, label: Bilingual) -> str:
        return f'<p class="course-small">{self.text(label)}</p>'

    def section(self, section: Section) -> str:
        items = [self.item(item) for item in section.items]
        if not items:
            body = f"<p>{self.text(LABELS['nothing'])}</p>"
        elif section.form == "plain":
            body = "".join(items)
        else:
            tag = "ol" if section.form == "numbers" else "ul"
            body = f"<{tag}>{''.join(f'<li>{item}</li>' for item in items)}</{tag}>"
        return self.heading(section.label) + body

    def verdict(self, diagnosis: Diagnosis) -> str:
        cause = diagnosis.first.cause
        sure = f" {self.sure(diagnosis.first.sure)}" if cause.kind == "fault" else ""
        why = f"<p>{self.text(cause.why)}</p>" if cause.why else ""
        return f"<p><strong>{MARKS[cause.kind]} {self.text(cause.title)}</strong>{sure}</p>{why}"

    def report(self, diagnosis: Diagnosis) -> str:
        parts = sections(diagnosis)
        shown = "".join(self.section(part) for part in parts if not part.details)
        details = "".join(self.section(part) for part in parts if part.details)
        asked = f"{self.heading(LABELS['asked'])}<p>{_code(probes_asked(diagnosis, self.language))}</p>"
        summary = f"<summary>{self.text(LABELS['details'])}</summary>"
        return f"{self.verdict(diagnosis)}{shown}<details>{summary}{details}{asked}</details>"


def card(diagnosis: Diagnosis) -> str:
    """Return the card of a diagnosis in both languages as HTML.

    All of it differs between machines: the notebook checks compare only what is outside of a ``measured-block``.
    """
    blocks = "".join(
        f'<div class="measured-block" lang="{code}">{_Html(language).report(diagnosis)}</div>'
        for language, code in (("en", "en"), ("zh", "zh-Hant"))
    )
    title = HEADINGS[diagnosis.question].html()
    return f'<div class="course-card course-doctor"><p><span class="course-title">{title}</span></p>{blocks}</div>'
