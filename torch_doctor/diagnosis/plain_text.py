"""Render a report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bilingual import Bilingual
from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.evidence import PROBES, Line
from torch_doctor.diagnosis.privacy import clean
from torch_doctor.diagnosis.words import Word
from torch_doctor.terminal import columns, in_language, label, wrap

from .sections import LABELS, MARKS, Item, Section, details, more, sections, sureness, words

_COLOURS = {"fine": "32", "fault": "31", "unknown": "33", "remark": "36"}  # ANSI: green, red, yellow, cyan
_BOLD = "1"
MOST_LINES = 25  # of an answer in one language


@dataclass(frozen=True)
class PlainText:
    """Renders a diagnosis as lines.

    Attributes:
        language: ``"en"``, ``"zh"`` or ``"both"``.
        width: The most columns of a line.
        colour: Whether to colour the mark and the headings (ANSI escape sequences).
        notebook: Whether a notebook asked.
    """

    language: str
    width: int
    colour: bool
    notebook: bool

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def _heading(self, text: Bilingual) -> str:
        return self._paint(wrap(label(text, self.language), self.width), _BOLD)

    def _text(
        self, text: Bilingual, indent: str, first: str | None = None, behind: Bilingual | None = None
    ) -> Iterator[str]:
        """Yield `text`, indented; the first line begins with `first`, the end of the text is `behind`."""
        ends = in_language(behind, self.language) if behind else []
        for paragraph, end in zip(in_language(text, self.language), [*ends, "", ""]):
            yield wrap(clean(paragraph) + end, self.width, indent, first)
            first = None

    def _lines(self, lines: tuple[Line, ...], indent: str) -> Iterator[str]:
        """Yield the evidence in two columns: the probe and the fact. In both languages, each has a line of its own."""
        rows = []
        for line in lines:
            if self.language != "zh":
                rows.append((PROBES[line.probe].en, line.fact))
            if self.language == "zh" or (self.language == "both" and line.zh):
                rows.append((PROBES[line.probe].zh, line.said("zh")))
        margin = max((columns(name) for name, _ in rows), default=0)
        for name, fact in rows:
            start = indent + name + " " * (margin - columns(name) + 2)
            yield wrap(clean(fact), self.width, " " * columns(start), start)

    def _item(self, item: Item, indent: str, first: str) -> Iterator[str]:
        if item.text:
            yield from self._text(item.text, indent, first, item.sure)
        yield from self._lines(item.lines, indent)
        if item.place:
            yield from self._text(item.place, indent)
        # A command is never broken, so that it can be copied. In a terminal it must work as it stands there; a notebook
        # is saved and shared.
        for command in (clean(item.command) if self.notebook else item.command).splitlines():
            yield f"{indent}    {command}"
        if item.then:
            yield from self._text(item.then, indent)
        for inner in item.items:
            yield from self._item(inner, indent + "  ", indent + "  ")

    def _section(self, section: Section) -> Iterator[str]:
        yield self._heading(section.label)
        for number, item in enumerate(section.items, 1):
            first = {"plain": "  ", "numbers": f"  {number}. ", "bullets": "  - "}[section.form]
            yield from self._item(item, " " * len(first), first)

    def _verdict(self, diagnosis: Diagnosis, why: bool) -> Iterator[str]:
        cause = diagnosis.first.cause
        mark = self._paint(MARKS[cause.kind], _COLOURS[cause.kind])
        title = list(self._text(cause.title, "     ", behind=sureness(diagnosis.first)))
        yield f"{mark} {title[0].lstrip()}"
        yield from title[1:]
        if cause.why and why:
            yield from self._text(cause.why, "     ")

    def _words(self, words: list[Word]) -> Iterator[str]:
        yield self._heading(LABELS["words"])
        for word in words:
            if self.language != "zh":
                yield wrap(f"{word.name.en}: {word.meaning.en}", self.width, "    ", "  ")
            if self.language != "en":
                again = self.language == "both" and word.name.en == word.name.zh
                name = "  " if again else f"{word.name.zh}："
                yield wrap(name + word.meaning.zh, self.width, "    ", "  ")

    def report(self, diagnosis: Diagnosis, everything: bool) -> Iterator[str]:
        """Yield the whole report; without `everything`, what matters least is left out until it fits a terminal."""
        most = MOST_LINES * (2 if self.language == "both" else 1)
        for left_out in range(5):
            lines = list(self._report(diagnosis, everything, left_out))
            if everything or sum(line.count("\n") + 1 for line in lines) <= most:
                break
        yield from lines

    def _report(self, diagnosis: Diagnosis, everything: bool, left_out: int) -> Iterator[str]:
        parts = sections(diagnosis)
        if left_out > 1:  # of other causes, their first step, then only their titles
            kept = max(3 - left_out, 0)
            shorter = [tuple(replace(item, items=item.items[:kept]) for item in part.items) for part in parts]
            parts = [replace(part, items=items) for part, items in zip(parts, shorter)]
        explained = [] if left_out else words(diagnosis, parts, self.language)
        yield from (*self._verdict(diagnosis, left_out < 4), "")
        # Headings stand out by themselves: what is below them is indented.
        for section in parts:
            yield from self._section(section)
        if explained:
            yield from self._words(explained)
        if everything:
            yield ""
            for section in details(diagnosis, self.language):
                yield from self._section(section)
        hint = more(diagnosis, bool(left_out))
        if hint and not everything:
            yield from ("", *self._text(hint, ""))
