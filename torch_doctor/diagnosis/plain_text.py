"""Render a report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch_doctor.bilingual import Bilingual
from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.evidence import PROBES, Line
from torch_doctor.diagnosis.privacy import clean
from torch_doctor.diagnosis.sections import (
    HEADINGS,
    LABELS,
    MARKS,
    Item,
    Section,
    in_language,
    label,
    probes_asked,
    sections,
    sureness,
)  # fmt: skip
from torch_doctor.terminal import columns, wrap

_COLOURS = {"fine": "32", "fault": "31", "unknown": "33", "remark": "36"}  # ANSI: green, red, yellow, cyan
_BOLD = "1"


@dataclass(frozen=True)
class _Text:
    """Renders a diagnosis as lines of at most `width` columns."""

    language: str
    width: int
    colour: bool

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def heading(self, text: Bilingual) -> str:
        return self.paint(wrap(label(text, self.language), self.width), _BOLD)

    def text(self, text: Bilingual, indent: str, first: str | None = None) -> Iterator[str]:
        """Yield `text`, indented; the first line begins with `first`."""
        for paragraph in in_language(text, self.language):
            yield wrap(clean(paragraph), self.width, indent, first)
            first = None

    def lines(self, lines: tuple[Line, ...], indent: str) -> Iterator[str]:
        """Yield the evidence in two columns: the probe and the fact."""
        # In a narrow terminal there is no room for both languages beside each fact.
        language = "en" if self.language == "both" and self.width < 60 else self.language
        names = [label(PROBES[line.probe], language) for line in lines]
        margin = max(map(columns, names), default=0)
        for name, line in zip(names, lines, strict=True):
            start = indent + name + " " * (margin - columns(name) + 2)
            yield wrap(clean(line.said(language)), self.width, " " * columns(start), start)

    def item(self, item: Item, indent: str, first: str) -> Iterator[str]:
        if item.text:
            yield from self.text(item.text, indent, first)
        if item.sure is not None:
            yield indent + sureness(item.sure, self.language)
        yield from self.lines(item.lines, indent)
        if item.note:
            yield from self.text(item.note, indent)
        for command in clean(item.command).splitlines():  # never broken, so that it can be copied
            yield f"{indent}    {command}"

    def section(self, section: Section) -> Iterator[str]:
        yield self.heading(section.label)
        for number, item in enumerate(section.items, 1):
            indent, first = {
                "plain": ("  ", "  "),
                "numbers": ("     ", f"  {number}. "),
                "bullets": ("    ", "  - "),
            }[section.form]
            yield from self.item(item, indent, first)

    def verdict(self, diagnosis: Diagnosis) -> Iterator[str]:
        cause = diagnosis.first.cause
        mark = self.paint(MARKS[cause.kind], _COLOURS[cause.kind])
        title = list(self.text(cause.title, "     "))
        yield f"{mark} {title[0].lstrip()}"
        yield from title[1:]
        if cause.kind == "fault":
            yield f"     {sureness(diagnosis.first.sure, self.language)}"
        if cause.why:
            yield from self.text(cause.why, "     ")

    def report(self, diagnosis: Diagnosis) -> Iterator[str]:
        yield from (self.heading(HEADINGS[diagnosis.question]), "", *self.verdict(diagnosis), "")
        for section in sections(diagnosis):
            if section.items:
                yield from (*self.section(section), "")
        yield self.heading(LABELS["asked"])
        yield wrap(probes_asked(diagnosis, self.language), self.width, "  ")


def plain_text(diagnosis: Diagnosis, language: str = "both", width: int = 88, colour: bool = False) -> str:
    """Return the report of a diagnosis as plain text.

    Args:
        diagnosis: The diagnosis.
        language: ``"en"``, ``"zh"`` or ``"both"``.
        width: Columns of the terminal.
        colour: Whether to colour the mark and the headings (ANSI escape sequences).
    """
    return "\n".join(_Text(language, width, colour).report(diagnosis))
