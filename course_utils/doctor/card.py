"""How a diagnosis looks in a notebook: a card, whose details open with a click."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from course_utils.doctor.causes import Step
from course_utils.doctor.diagnose import Diagnosis, Verdict
from course_utils.doctor.evidence import PROBES, Line
from course_utils.doctor.privacy import clean
from course_utils.doctor.report import HEADINGS, LABELS, MARKS, SURENESS, others, who_was_asked
from course_utils.language import Bilingual, markup


def _code(text: str) -> str:
    return html.escape(clean(text), quote=False)


@dataclass(frozen=True)
class Card:
    """Writes a diagnosis in one language as HTML."""

    language: str  # "en" or "zh"

    def text(self, text: Bilingual) -> str:
        """Return a text in the card's language."""
        return markup(clean(getattr(text, self.language)))

    def sure(self, verdict: Verdict) -> str:
        """Return how sure a verdict is."""
        said = self.text(SURENESS[verdict.sure])
        return f'<span class="course-small">{f"({said})" if self.language == "en" else f"（{said}）"}</span>'

    def lines(self, lines: Iterable[Line]) -> str:
        """Return the evidence as a table: who said it, and what."""
        rows = (
            f"<tr><td>{self.text(PROBES[line.probe])}</td><td><code>{_code(line.fact)}</code></td></tr>"
            for line in lines
        )
        return f'<table class="course-table"><tbody>{"".join(rows)}</tbody></table>'

    def step(self, step: Step) -> str:
        """Return one thing to do, with its command."""
        return f"<li>{self.text(step.text)}{self.command(step.run)}</li>"

    def command(self, run: str) -> str:
        """Return commands as one types them."""
        return f'<pre class="course-console">{_code(run)}</pre>' if run else ""

    def check(self, verdict: Verdict) -> str:
        """Return how to confirm a verdict."""
        said = verdict.cause.check_text
        return (f"<p>{self.text(said)}</p>" if said else "") + self.command(verdict.cause.check)

    def heading(self, label: Bilingual) -> str:
        """Return the title of a part."""
        return f'<p class="course-small">{self.text(label)}</p>'

    def verdict(self, verdict: Verdict) -> str:
        """Return what the verdict is, how sure, and why it is so."""
        cause = verdict.cause
        sure = f" {self.sure(verdict)}" if cause.kind == "fault" else ""
        why = f"<p>{self.text(cause.why)}</p>" if cause.why else ""
        return f"<p><strong>{MARKS[cause.kind]} {self.text(cause.title)}</strong>{sure}</p>{why}"

    def other(self, verdict: Verdict) -> str:
        """Return a verdict that is not the first, with its evidence and the check that separates it."""
        title = f"<p>{self.text(verdict.cause.title)} {self.sure(verdict)}</p>"
        return f"<li>{title}{self.lines(verdict.lines)}{self.check(verdict)}</li>"

    def details(self, diagnosis: Diagnosis) -> str:
        """Return what else was found, and who was asked."""
        parts = []
        if diagnosis.first.cause.check:
            parts.append(self.heading(LABELS["check"]) + self.check(diagnosis.first))
        for label, verdicts in others(diagnosis):
            parts.append(self.heading(label) + f"<ul>{''.join(map(self.other, verdicts))}</ul>")
        if diagnosis.remarks:
            told = "".join(f"<li>{self.text(one.cause.title)}</li>" for one in diagnosis.remarks)
            parts.append(self.heading(LABELS["remarks"]) + f"<ul>{told}</ul>")
        parts.append(
            self.heading(LABELS["asked"]) + f"<p>{_code(who_was_asked(diagnosis, self.language))}</p>"
        )
        return f"<details><summary>{self.text(LABELS['details'])}</summary>{''.join(parts)}</details>"

    def whole(self, diagnosis: Diagnosis) -> str:
        """Return the whole report."""
        first = diagnosis.first
        steps = f"<ol>{''.join(map(self.step, first.cause.steps))}</ol>"
        if not first.cause.steps:
            steps = f"<p>{self.text(LABELS['nothing'])}</p>"
        return (
            f"{self.verdict(first)}{self.heading(LABELS['evidence'])}{self.lines(first.lines)}"
            f"{self.heading(LABELS['next'])}{steps}{self.details(diagnosis)}"
        )


def card(diagnosis: Diagnosis) -> str:
    """Return the card of a diagnosis in both languages.

    All of it differs between machines; the notebook checks know a ``measured-block`` and compare what is around it.
    """
    blocks = "".join(
        f'<div class="measured-block" lang="{code}">{Card(language).whole(diagnosis)}</div>'
        for language, code in (("en", "en"), ("zh", "zh-Hant"))
    )
    title = HEADINGS[diagnosis.question].html()
    return f'<div class="course-card course-doctor"><p><span class="course-title">{title}</span></p>{blocks}</div>'
