"""How a diagnosis looks: in a terminal, in a notebook, and as JSON for a report. Names of people and hosts stay here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from course_utils.doctor import dated
from course_utils.doctor.causes import Step
from course_utils.doctor.diagnose import Diagnosis, Verdict
from course_utils.doctor.evidence import PROBES, Line
from course_utils.doctor.privacy import clean
from course_utils.language import Bilingual, measured
from course_utils.terminal import columns, wrap

HEADINGS = {
    "cuda": Bilingual("Doctor: does CUDA work here?", "診斷：這裡的 CUDA 能用嗎？"),
    "slow": Bilingual("Doctor: why is it slow?", "診斷：為什麼這麼慢？"),
    "hang": Bilingual(
        "Doctor: why does training with several processes hang?", "診斷：用多個行程訓練，為什麼卡住？"
    ),
}
SURENESS = {
    3: Bilingual("sure", "確定"),
    2: Bilingual("likely", "很可能"),
    1: Bilingual("possible", "有可能"),
}
ENDED = {  # of a probe that gave no full answer
    "slow": Bilingual("stopped at its time limit", "時間到，已中止"),
    "stuck": Bilingual("could not be stopped", "停不下來"),
    "failed": Bilingual("failed", "失敗"),
}
MARKS = {"fine": "[ok]", "fault": "[!!]", "unknown": "[??]", "remark": "[--]"}
_COLOURS = {"fine": "32", "fault": "31", "unknown": "33", "remark": "36"}
LABELS = {
    "evidence": Bilingual("Evidence", "證據"),
    "next": Bilingual("Next step", "下一步"),
    "check": Bilingual("To make sure", "怎麼確認"),
    "others": Bilingual("Less likely, and how to tell", "可能性較低的，以及怎麼分辨"),
    "beside": Bilingual("Also found", "另外還有"),
    "remarks": Bilingual("Worth knowing", "順便一提"),
    "asked": Bilingual("Asked", "問了誰"),
    "nothing": Bilingual("Nothing to do.", "什麼都不必做。"),
    "details": Bilingual("What else was found, and who was asked", "其他發現，以及問了誰"),
}


# --- plain text ---------------------------------------------------------------------------------------


def _pick(text: Bilingual, language: str) -> list[str]:
    both = [text.en, text.zh] if text.en != text.zh else [text.en]
    return {"en": [text.en], "zh": [text.zh]}.get(language, both)


def _label(text: Bilingual, language: str) -> str:
    return " · ".join(_pick(text, language))


def _sure(verdict: Verdict, language: str) -> str:
    text = _label(SURENESS[verdict.sure], language)
    return f"（{text}）" if language == "zh" else f"({text})"


@dataclass(frozen=True)
class Writer:
    """Writes a diagnosis as lines of plain text."""

    language: str = "both"
    width: int = 88
    colour: bool = False

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def _text(self, text: Bilingual, indent: str, first: str | None = None) -> Iterator[str]:
        for one in _pick(text, self.language):
            yield wrap(clean(one), self.width, indent, first)
            first = None

    def heading(self, label: Bilingual) -> str:
        """Return the title of a part."""
        return self._paint(wrap(_label(label, self.language), self.width), "1")

    def lines(self, lines: tuple[Line, ...], indent: str = "  ") -> Iterator[str]:
        """Yield the evidence: who said it, and what."""
        # A narrow terminal has no room for two names beside each fact.
        language = "en" if self.language == "both" and self.width < 60 else self.language
        names = [_label(PROBES[line.probe], language) for line in lines]
        margin = max(map(columns, names), default=0)
        for name, line in zip(names, lines, strict=True):
            start = indent + name + " " * (margin - columns(name) + 2)
            yield wrap(clean(line.fact), self.width, " " * columns(start), start)

    def command(self, run: str, indent: str) -> str:
        """Return commands as one types them, a line each, never broken."""
        return "\n".join(f"{indent}    {line}" for line in clean(run).splitlines())

    def step(self, step: Step, number: int) -> Iterator[str]:
        """Yield one thing to do: what it is, and the command."""
        yield from self._text(step.text, "     ", f"  {number}. ")
        if step.run:
            yield self.command(step.run, "     ")

    def check(self, verdict: Verdict, indent: str = "  ") -> Iterator[str]:
        """Yield how to confirm a verdict."""
        if verdict.cause.check_text:
            yield from self._text(verdict.cause.check_text, indent)
        if verdict.cause.check:
            yield self.command(verdict.cause.check, indent)

    def verdict(self, verdict: Verdict) -> Iterator[str]:
        """Yield what the verdict is, how sure, and why it is so."""
        kind = verdict.cause.kind
        mark = self._paint(MARKS[kind], _COLOURS[kind])
        title = list(self._text(verdict.cause.title, "     "))
        yield f"{mark} {title[0].lstrip()}"
        yield from title[1:]
        if kind == "fault":
            yield f"     {_sure(verdict, self.language)}"
        if verdict.cause.why:
            yield from self._text(verdict.cause.why, "     ")

    def others(self, verdicts: list[Verdict]) -> Iterator[str]:
        """Yield other verdicts, each with its evidence and the check that separates it."""
        for verdict in verdicts:
            yield from self._text(verdict.cause.title, "    ", "  - ")
            yield f"    {_sure(verdict, self.language)}"
            yield from self.lines(verdict.lines, "    ")
            yield from self.check(verdict, "    ")

    def remarks(self, diagnosis: Diagnosis) -> Iterator[str]:
        """Yield what is worth knowing beside."""
        for verdict in diagnosis.remarks:
            yield from self._text(verdict.cause.title, "    ", "  - ")

    def asked(self, diagnosis: Diagnosis) -> str:
        """Return who was asked, and how long each took."""
        return wrap(who_was_asked(diagnosis, self.language), self.width, "  ")

    def whole(self, diagnosis: Diagnosis) -> str:
        """Return the whole report."""
        first = diagnosis.first
        out = [self.heading(HEADINGS[diagnosis.question]), "", *self.verdict(first), ""]
        out += [self.heading(LABELS["evidence"]), *self.lines(first.lines), ""]
        if first.cause.steps:
            steps = [
                line for number, step in enumerate(first.cause.steps, 1) for line in self.step(step, number)
            ]
            out += [self.heading(LABELS["next"]), *steps, ""]
        if first.cause.check:
            out += [self.heading(LABELS["check"]), *self.check(first), ""]
        for label, verdicts in others(diagnosis):
            out += [self.heading(label), *self.others(verdicts), ""]
        if diagnosis.remarks:
            out += [self.heading(LABELS["remarks"]), *self.remarks(diagnosis), ""]
        return "\n".join([*out, self.heading(LABELS["asked"]), self.asked(diagnosis)])


def who_was_asked(diagnosis: Diagnosis, language: str) -> str:
    """Return which probes were asked, how long each took, and how it ended where it did not answer."""
    found = diagnosis.evidence.found
    told = [
        f"{_label(PROBES[name], language)} {found[name]['seconds']:.1f} s"
        + (
            f" ({_label(ENDED[ended], language)})"
            if (ended := diagnosis.evidence.ended(name)) in ENDED
            else ""
        )
        for name in PROBES
        if "seconds" in found.get(name, {}) and diagnosis.evidence.ended(name) != "absent"
    ]
    return ("、" if language == "zh" else ", ").join(told)


def others(diagnosis: Diagnosis) -> list[tuple[Bilingual, list[Verdict]]]:
    """Return the verdicts after the first: findings of their own, and what is only possible."""
    rest = diagnosis.verdicts[1:]
    parts = [
        ("beside", [one for one in rest if one.sure > 1]),
        ("others", [one for one in rest if one.sure == 1]),
    ]
    return [(LABELS[label], verdicts) for label, verdicts in parts if verdicts]


# --- the report ---------------------------------------------------------------------------------------


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
        return Writer(language, width, colour).whole(self.diagnosis)

    def __str__(self) -> str:
        return self.text()

    def data(self) -> dict[str, Any]:
        """Return the report as plain data, without names of people and hosts."""

        def one(verdict: Verdict) -> dict[str, Any]:
            return {
                "cause": verdict.cause.name,
                "row": verdict.cause.row,
                "sure": SURENESS[verdict.sure].en,
                "title": verdict.cause.title.en,
                "evidence": [[line.probe, line.fact] for line in verdict.lines],
            }

        found = {name: dict(told) for name, told in self.diagnosis.evidence.found.items()}
        found.get("pytorch", {}).pop("releases", None)  # torch's own table, the same for everybody
        return clean(
            {
                "doctor": 1,
                "tables": dated.AS_OF,
                "question": self.diagnosis.question,
                "kind": self.diagnosis.kind,
                "verdicts": [one(verdict) for verdict in self.diagnosis.verdicts],
                "remarks": [one(verdict) for verdict in self.diagnosis.remarks],
                "evidence": found,
            }
        )

    def json(self) -> str:
        """Return :meth:`data` as JSON in plain ASCII, which survives every terminal and form."""
        return json.dumps(self.data(), indent=1, sort_keys=False)

    def html(self) -> str:
        """Return the report as a card for a notebook."""
        from course_utils.doctor.card import card

        return card(self.diagnosis)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": measured(self.text())}
