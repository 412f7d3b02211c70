"""How a diagnosis looks: in a terminal, in a notebook, and as JSON for a report. Names of people and hosts stay here."""

from __future__ import annotations

import getpass
import html
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_utils.doctor import dated
from course_utils.doctor.causes import Step
from course_utils.doctor.diagnose import Diagnosis, Verdict
from course_utils.doctor.evidence import PROBES, Line
from course_utils.language import Bilingual, measured, plain
from course_utils.terminal import columns, wrap

HEADINGS = {
    "cuda": Bilingual("Doctor: why is CUDA not available?", "診斷：為什麼不能用 CUDA？"),
    "slow": Bilingual("Doctor: why is it slow?", "診斷：為什麼這麼慢？"),
    "hang": Bilingual(
        "Doctor: why does training with several processes hang?", "診斷：多個行程的訓練為什麼卡住？"
    ),
}
SURENESS = {
    3: Bilingual("sure", "確定"),
    2: Bilingual("likely", "很可能"),
    1: Bilingual("possible", "有可能"),
}
MARKS = {"fine": "[ok]", "fault": "[!!]", "unknown": "[??]", "remark": "[--]"}
_COLOURS = {"fine": "32", "fault": "31", "unknown": "33", "remark": "36"}
LABELS = {
    "evidence": Bilingual("Evidence", "證據"),
    "next": Bilingual("Next step", "下一步"),
    "check": Bilingual("To make sure", "再確認"),
    "others": Bilingual("Less likely, and how to tell", "比較不像，以及怎麼分辨"),
    "beside": Bilingual("Also found", "另外還有"),
    "remarks": Bilingual("Worth knowing", "順便一提"),
    "asked": Bilingual("Asked", "問過"),
    "nothing": Bilingual("Nothing to do.", "什麼都不必做。"),
    "none": Bilingual("None.", "沒有。"),
    "details": Bilingual("What else was found, and who was asked", "其他發現，以及問過誰"),
}


# --- what must not be told ----------------------------------------------------------------------------


@cache
def _private() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return what is replaced in everything that is shown: home folder, user names, host names, card numbers."""
    rules = []
    homes = {os.path.expanduser("~"), os.environ.get("HOME", ""), os.environ.get("USERPROFILE", "")}
    homes |= {os.path.realpath(home) for home in homes if home}
    for home in sorted((home for home in homes if len(home.strip("/\\~")) > 1), key=len, reverse=True):
        rules.append((re.compile(re.escape(home) + r"(?![\w.-])"), "~"))
    names = {
        os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "JUPYTERHUB_USER")
    }
    names |= {os.path.basename(home) for home in homes}
    try:
        names.add(getpass.getuser())
    except (OSError, KeyError, ImportError):
        pass  # a container may run as a number without a name
    hosts = {platform.node(), os.environ.get("HOSTNAME", ""), os.environ.get("COMPUTERNAME", "")}
    hosts |= {host.split(".")[0] for host in hosts}
    for given, shown in ((names - {"root"}, "<user>"), (hosts - {"localhost"}, "<host>")):
        for name in sorted((name for name in given if len(name) > 1), key=len, reverse=True):
            rules.append((re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"), shown))
    rules.append((re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}[0-9a-f-]*(?:/\d+)*"), r"\1-<id>"))
    return tuple(rules)


def _address(found: re.Match[str]) -> str:
    # Releases of four numbers (cuDNN 9.10.2.21) begin with small ones.
    return "<address>" if 10 <= int(found[1]) <= 255 and int(found[1]) != 127 else found[0]


def clean(value: Any) -> Any:
    """Return `value` (a text, or plain data) without home folder, user, host, card numbers and addresses."""
    if isinstance(value, Mapping):
        return {clean(key): clean(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(inner) for inner in value]
    if not isinstance(value, str):
        return value
    for pattern, shown in _private():
        value = pattern.sub(shown, value)
    return re.sub(r"(?<![\d.])(\d{1,3})(?:\.\d{1,3}){3}(?![\d.])", _address, value)


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
        found = diagnosis.evidence.found
        told = [
            f"{_label(PROBES[name], self.language)} {found[name]['seconds']:.1f} s"
            + ("" if diagnosis.evidence.ended(name) == "answered" else f" ({diagnosis.evidence.ended(name)})")
            for name in PROBES
            if "seconds" in found.get(name, {}) and diagnosis.evidence.ended(name) != "absent"
        ]
        return wrap(", ".join(told), self.width, "  ")

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
        """Return the report as HTML. Its elements are the same for every machine; only marked texts differ."""
        diagnosis, first = self.diagnosis, self.diagnosis.first
        cause = first.cause

        def pair(make: Any, tag: str = "pre") -> str:
            parts = []
            for language, code in (("en", "en"), ("zh", "zh-Hant")):
                text = html.escape(make(Writer(language, 10_000), language), quote=False)
                inner = f'<{tag} class="{"course-console " if tag == "pre" else ""}measured">{text}</{tag}>'
                parts.append(f'<div lang="{code}">{inner}</div>')
            return "".join(parts)

        def title(_: Writer, language: str) -> str:
            sure = " " + _sure(first, language) if cause.kind == "fault" else ""
            return f"{MARKS[cause.kind]} {plain(clean(_label(cause.title, language)))}{sure}"

        def why(_: Writer, language: str) -> str:
            return plain(clean(_label(cause.why, language))) if cause.why else ""

        def evidence(writer: Writer, _: str) -> str:
            return "\n".join(writer.lines(first.lines, ""))

        def steps(writer: Writer, language: str) -> str:
            told = "\n".join(
                line.removeprefix("  ")
                for n, one in enumerate(cause.steps, 1)
                for line in writer.step(one, n)
            )
            return told or _label(LABELS["nothing"], language)

        def rest(writer: Writer, language: str) -> str:
            parts = []
            if cause.check:
                parts.append("\n".join([writer.heading(LABELS["check"]), *writer.check(first)]))
            for label, verdicts in others(diagnosis):
                parts.append("\n".join([writer.heading(label), *writer.others(verdicts)]))
            if diagnosis.remarks:
                parts.append("\n".join([writer.heading(LABELS["remarks"]), *writer.remarks(diagnosis)]))
            parts.append("\n".join([writer.heading(LABELS["asked"]), writer.asked(diagnosis)]))
            return "\n\n".join(parts)

        def named(label: str) -> str:
            return f'<p class="course-small">{LABELS[label].html()}</p>'

        return (
            '<div class="course-card course-doctor">'
            f'<p><span class="course-title">{HEADINGS[diagnosis.question].html()}</span></p>'
            f"{pair(title, 'span')}{pair(why, 'span')}"
            f"{named('evidence')}{pair(evidence)}{named('next')}{pair(steps)}"
            f"<details><summary>{LABELS['details'].html()}</summary>{pair(rest)}</details></div>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": measured(self.text())}
