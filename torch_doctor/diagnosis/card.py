"""Render a report for a notebook: a card, whose details open with a click."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from bilingual import Bilingual, markup, spans
from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.evidence import PROBES, Line
from torch_doctor.diagnosis.privacy import clean
from torch_doctor.diagnosis.words import Word

from .sections import HEADINGS, LABELS, MARKS, Item, Section, details, sections, sureness, words


def _code(text: str) -> str:
    return html.escape(clean(text), quote=False)


@dataclass(frozen=True)
class _Html:
    """Renders a diagnosis in one language as HTML."""

    language: str  # "en" or "zh"

    def text(self, text: Bilingual) -> str:
        return markup(clean(getattr(text, self.language)))

    def small(self, text: Bilingual | None) -> str:
        return f'<span class="course-small">{self.text(text)}</span>' if text else ""

    def lines(self, lines: Iterable[Line]) -> str:
        rows = []
        for line in lines:
            fact = _code(line.said(self.language))
            shown = fact if line.zh else f"<code>{fact}</code>"  # what is the same in both languages is code
            rows.append(f"<tr><td>{self.text(PROBES[line.probe])}</td><td>{shown}</td></tr>")
        return f'<table class="course-table"><tbody>{"".join(rows)}</tbody></table>'

    def item(self, item: Item) -> str:
        text = f"<p>{self.text(item.text)}{self.small(item.sure)}</p>" if item.text else ""
        lines = self.lines(item.lines) if item.lines else ""
        place = f"<p>{self.small(item.place)}</p>" if item.place else ""
        command = f'<pre class="course-console">{_code(item.command)}</pre>' if item.command else ""
        then = f"<p>{self.text(item.then)}</p>" if item.then else ""
        return text + lines + place + command + then + "".join(map(self.item, item.items))

    def heading(self, label: Bilingual) -> str:
        return f'<p class="course-small">{self.text(label)}</p>'

    def section(self, section: Section) -> str:
        items = [self.item(item) for item in section.items]
        if section.form == "plain":
            return self.heading(section.label) + "".join(items)
        tag = "ol" if section.form == "numbers" else "ul"
        return f"{self.heading(section.label)}<{tag}>{''.join(f'<li>{item}</li>' for item in items)}</{tag}>"

    def verdict(self, diagnosis: Diagnosis) -> str:
        cause = diagnosis.first.cause
        why = f"<p>{self.text(cause.why)}</p>" if cause.why else ""
        title = f"<strong>{MARKS[cause.kind]} {self.text(cause.title)}</strong>"
        return f"<p>{title}{self.small(sureness(diagnosis.first))}</p>{why}"

    def words(self, words: list[Word]) -> str:
        rows = (
            f"<tr><td>{self.text(word.name)}</td><td>{self.text(word.meaning)}</td></tr>" for word in words
        )
        table = f'<table class="course-table course-small"><tbody>{"".join(rows)}</tbody></table>'
        return self.heading(LABELS["words"]) + table if words else ""

    def report(self, diagnosis: Diagnosis) -> str:
        parts = sections(diagnosis)
        shown = "".join(map(self.section, parts)) + self.words(words(diagnosis, parts, self.language))
        closed = "".join(map(self.section, details(diagnosis, self.language)))
        summary = f"<summary>{self.text(LABELS['details'])}</summary>"
        return f"{self.verdict(diagnosis)}{shown}<details>{summary}{closed}</details>"


def card(diagnosis: Diagnosis) -> str:
    """Return the card of a diagnosis as HTML, in both languages unless there is only one.

    All of it differs between machines: the notebook checks compare only what is outside of a ``measured-block``.
    """
    blocks = spans(*(_Html(language).report(diagnosis) for language in ("en", "zh")), "div", "measured-block")
    title = HEADINGS[diagnosis.question].html()
    return f'<div class="course-card course-doctor"><p><span class="course-title">{title}</span></p>{blocks}</div>'
