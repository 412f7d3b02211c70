"""The table of cases (the folder ``cases``): a machine or what the probes found there, and what the doctor must answer.

A case has one of these, which says where it happens:

- ``machine``: the steps that build a machine (:mod:`staging`), on which the real probes run;
- ``healthy``, ``broken``, ``without_gpu``, ``on_windows``: what the probes found, laid over that of :mod:`made_up_evidence`;
- ``evidence``: all that the probes found.

With ``of``, the answer is that cause there, whatever the rules say. ``question`` and ``patience`` say how it is asked.
Everything else is a property of the answer: one of :data:`KEYS`. A case with a cause that says nothing about
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
        """What the answer must be: properties of the answer (:data:`KEYS`) with what the case says about them."""
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


def _below(found: Diagnosis) -> list[tuple[str, str]]:
    return list(told(found).items())[1:]


# What a case says about a property, and the answer → whether it is so.
PROPERTIES: dict[str, Callable[[Any, Diagnosis], bool]] = {
    # the first verdict
    "cause": lambda name, found: found.first.cause.name == name and bool(found.first.lines),
    "sure": lambda word, found: WORDS[found.first.sure] == word,
    "kind": lambda kind, found: found.kind == kind,
    # the others: all of them in their order, the first of them, some of them
    "below": lambda causes, found: _below(found) == list(causes.items()),
    "next": lambda causes, found: _below(found)[: len(causes)] == list(causes.items()),
    "has": lambda causes, found: causes.items() <= told(found).items(),
    "lacks": lambda names, found: not set(names) & told(found).keys(),
    "remarks": lambda names, found: [one.cause.name for one in found.remarks] == names,
    "steps_of": lambda name, found: name in told(found),
    "first_run": lambda run, found: next(one.run for one in found.first.cause.steps if one.run) == run,
    "check": lambda check, found: found.first.cause.check == check,
    "first_step": lambda pattern, found: bool(re.search(pattern, steps(found)[0])),
    "count": lambda count, found: len(found.first.cause.steps) == count,
    "costs_last": lambda costs, found: found.first.cause.steps[-1].costs is costs,
    "found": lambda values, found: all(found.evidence.get(path) == one for path, one in values.items()),
}
# What is said. Of the patterns (regular expressions) that a case has for it, each must be found, of no_… none.
TEXTS: dict[str, Callable[[Diagnosis, Case], str]] = {
    "says": lambda found, case: _said(found),
    "steps": lambda found, case: "\n".join(steps(found, case.table.get("steps_of", ""))),
    "facts": lambda found, case: "\n".join(line.fact for line in found.first.lines),
    "remark_says": lambda found, case: found.remarks[0].cause.title.en,
}
KEYS = {*PROPERTIES, *TEXTS, *(f"no_{key}" for key in TEXTS)}


def problems(case: Case, found: Diagnosis) -> Iterator[str]:
    """Yield each property that the answer does not have."""
    for key, expected in case.expected.items():
        if key in PROPERTIES:
            right = PROPERTIES[key](expected, found)
        else:
            text = TEXTS[key.removeprefix("no_")](found, case)
            hits = [bool(re.search(pattern, text, re.MULTILINE)) for pattern in expected]
            right = not any(hits) if key.startswith("no_") else all(hits)
        if not right:
            yield f"{key}: expected {expected!r}"
