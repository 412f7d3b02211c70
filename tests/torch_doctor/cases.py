"""The table of cases (the folder ``cases``): a machine or what the probes found there, and what the doctor must answer.

A case has one of these, which says where it happens:

- ``machine``: the steps that build a machine (:mod:`staging`), on which the real probes run;
- ``healthy``, ``broken``, ``without_gpu``, ``on_windows``: what the probes found, laid over that of :mod:`made_up_evidence`;
- ``evidence``: all that the probes found.

With ``of``, the answer is that cause there, whatever the rules say. ``question`` and ``patience`` say how it is asked.
Everything else is a property of the answer: a key of :data:`PROPERTIES`. A case with a cause that says nothing about
``sure`` is sure.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fake_machines import Machine
from made_up_evidence import broken, healthy, laid_over, on_windows, without_gpu
from staging import build, plain

from torch_doctor.diagnosis.causes import Cause
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict, diagnose
from torch_doctor.diagnosis.evidence import Evidence

FOLDER = Path(__file__).with_name("cases")
SURENESS = {"sure": 3, "likely": 2, "possible": 1}
WORDS = {number: word for word, number in SURENESS.items()}
BASES: dict[str, Callable[..., dict[str, dict[str, Any]]]] = {
    "healthy": healthy, "broken": broken, "without_gpu": without_gpu, "on_windows": on_windows,
    "evidence": lambda **more: laid_over({}, more),
}  # fmt: skip
HOW = {"name", "of", "question", "patience", "machine", *BASES}


def tables(file: str, kind: str = "case") -> list[dict[str, Any]]:
    """Return the tables ``[[KIND]]`` of ``cases/FILE.toml`` as they stand there."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8"))[kind]
    return found


@dataclass(frozen=True)
class Case:
    """One case, and how it is asked."""

    table: dict[str, Any]

    @property
    def name(self) -> str:
        of = f"steps of {self.table.get('of')}"
        return str(self.table.get("name", self.table.get("cause", of)))

    @property
    def question(self) -> str:
        return str(self.table.get("question", "cuda"))

    @property
    def on_a_machine(self) -> bool:
        return not BASES.keys() & self.table.keys()

    @property
    def expected(self) -> dict[str, Any]:
        """What the answer must be: the keys of :data:`PROPERTIES` with what the case says about them."""
        sure = {"sure": "sure"} if "cause" in self.table else {}
        return {**sure, **{key: value for key, value in self.table.items() if key not in HOW}}

    def evidence(self) -> dict[str, dict[str, Any]]:
        """Return what the probes found, where it is not found on a machine."""
        (base,) = BASES.keys() & self.table.keys()
        return BASES[base](
            **{path.replace(".", "__"): plain(value) for path, value in self.table[base].items()}
        )

    def answer(self, machine: Callable[[], Machine]) -> Diagnosis:
        """Return the doctor's answer; `machine` makes a new machine, if this is a case of one."""
        if "of" in self.table:
            e = Evidence(self.evidence())
            return Diagnosis(self.question, (Verdict(Cause.of(self.table["of"], e), 3, ()),), (), e)
        if not self.on_a_machine:
            return diagnose(self.evidence(), self.question)
        made = build(machine(), self.table.get("machine", {}))
        return made.diagnosis(self.question, self.table.get("patience", 1.0))


def cases(*files: str) -> list[Case]:
    """Return the cases of these files."""
    return [Case(table) for file in files for table in tables(file)]


# --- the properties of an answer ------------------------------------------------------------------------


def told(found: Diagnosis) -> dict[str, str]:
    """Return the names of all verdicts, and how sure they are, in their order."""
    return {verdict.cause.name: WORDS[verdict.sure] for verdict in found.verdicts}


def steps(found: Diagnosis, cause: str = "") -> list[str]:
    """Return the steps of a verdict (of the first one, if none is named): command, text and what follows, a line each."""
    chosen = next(one for one in found.verdicts if cause in ("", one.cause.name))
    return [
        "\n".join([step.run, step.text.en, step.then.en if step.then else ""]) for step in chosen.cause.steps
    ]


def _said(found: Diagnosis) -> str:
    cause = found.first.cause
    texts = [cause.title, cause.why, cause.check_text]
    return "\n".join([cause.check, *[text.en for text in texts if text]])


def _facts(found: Diagnosis) -> str:
    return "\n".join(line.fact for line in found.first.lines)


def _below(found: Diagnosis) -> list[tuple[str, str]]:
    return list(told(found).items())[1:]


def _each(patterns: list[str], text: Callable[[Diagnosis], str], found: Diagnosis) -> bool:
    return all(re.search(pattern, text(found), re.MULTILINE) for pattern in patterns)


def _any(patterns: list[str], text: Callable[[Diagnosis], str], found: Diagnosis) -> bool:
    return any(re.search(pattern, text(found), re.MULTILINE) for pattern in patterns)


def _steps_of(found: Diagnosis, case: Case) -> str:
    return "\n".join(steps(found, case.table.get("steps_of", "")))


# What a case says about a property, the answer, and the case → whether it is so. Patterns are regular expressions.
PROPERTIES: dict[str, Callable[[Any, Diagnosis, Case], bool]] = {
    # the first verdict
    "cause": lambda name, found, case: found.first.cause.name == name and bool(found.first.lines),
    "sure": lambda word, found, case: WORDS[found.first.sure] == word,
    "kind": lambda kind, found, case: found.kind == kind,
    # the others: all of them in their order, the first of them, some of them
    "below": lambda causes, found, case: _below(found) == list(causes.items()),
    "next": lambda causes, found, case: _below(found)[: len(causes)] == list(causes.items()),
    "has": lambda causes, found, case: causes.items() <= told(found).items(),
    "lacks": lambda names, found, case: not set(names) & told(found).keys(),
    "remarks": lambda names, found, case: [one.cause.name for one in found.remarks] == names,
    # what is said: patterns that are all found, or none
    "remark_says": lambda patterns, found, case: _each(
        patterns, lambda one: one.remarks[0].cause.title.en, found
    ),
    "steps": lambda patterns, found, case: _each(patterns, lambda one: _steps_of(one, case), found),
    "no_steps": lambda patterns, found, case: not _any(patterns, lambda one: _steps_of(one, case), found),
    "steps_of": lambda name, found, case: name in told(found),
    "first_run": lambda run, found, case: next(one.run for one in found.first.cause.steps if one.run) == run,
    "check": lambda check, found, case: found.first.cause.check == check,
    "first_step": lambda pattern, found, case: bool(re.search(pattern, steps(found)[0])),
    "count": lambda count, found, case: len(found.first.cause.steps) == count,
    "costs_last": lambda costs, found, case: found.first.cause.steps[-1].costs is costs,
    "says": lambda patterns, found, case: _each(patterns, _said, found),
    "no_says": lambda patterns, found, case: not _any(patterns, _said, found),
    "facts": lambda patterns, found, case: _each(patterns, _facts, found),
    "no_facts": lambda patterns, found, case: not _any(patterns, _facts, found),
    "found": lambda values, found, case: all(found.evidence.get(path) == one for path, one in values.items()),
}


def problems(case: Case, found: Diagnosis) -> Iterator[str]:
    """Yield each property that the answer does not have."""
    for key, expected in case.expected.items():
        if not PROPERTIES[key](expected, found, case):
            yield f"{key}: expected {expected!r}"
