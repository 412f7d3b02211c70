"""What the clinic knows, as data: one TOML file per topic, one section per message.

Fields of a section:

``says``        the message in short, as the learner sees it.
``patterns``    regular expressions, one of which finds it; old and new wordings. A space stands for any white space.
``context``     (optional) what must stand anywhere in the same text, so that an everyday message is not claimed.
``role``        (optional) ``cause`` (the default), ``symptom`` (a rank that waited), ``victim`` (it suffers from another
                error), ``wrapper`` (it only passes another error on) or ``warning``.
``hides``       (optional) less precise entries that come along with this one.
``where``       what it takes to provoke it: ``cpu``, ``cpu_build``, ``cuda``, ``two_gpus`` or ``special``.
``verified``    ``ran`` (provoked and recognised in the tests), ``source`` (read in PyTorch's source) or ``seen`` (in public
                reports only). The last two are marked on the card.
``lesson``      where it is taught.    ``source``  where to read on.    ``alike``  entries that are mistaken for it.
``samples``     messages as they are printed, of several releases.
``provoke``     (optional) a program that provokes it; ``provoke_alone`` where it needs a process of its own,
                ``provoke_cuda`` where a GPU shows it better.
``means``, ``cause``, ``mend``, ``apart``  the card, in both languages.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from course_utils.language import Bilingual

ROLES = ("cause", "symptom", "victim", "wrapper", "warning")
PLACES = ("cpu", "cpu_build", "cuda", "two_gpus", "special")
EVIDENCE = ("ran", "source", "seen")
CARD = ("means", "cause", "mend", "apart")

_REQUIRED = {"says", "patterns", "where", "verified", "lesson", "source", "alike", "samples", *CARD}
_OPTIONAL = {"context", "role", "hides", "provoke", "provoke_alone", "provoke_cuda"}


@dataclass(frozen=True)
class Entry:
    """One message that the clinic knows; the fields are those of its section (see the module)."""

    name: str
    topic: Bilingual
    says: str
    patterns: tuple[str, ...]
    context: str | None
    role: str
    hides: tuple[str, ...]
    where: str
    verified: str
    lesson: str
    source: str
    alike: tuple[str, ...]
    samples: tuple[str, ...]
    provoke: str | None
    provoke_alone: str | None
    provoke_cuda: str | None
    means: Bilingual
    cause: Bilingual
    mend: Bilingual
    apart: Bilingual


def expression(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the catalogue: a space fits any white space, since messages are wrapped and indented."""
    return re.compile(pattern.replace(" ?", r"\s*").replace(" ", r"\s+"), re.DOTALL | re.MULTILINE)


def _entry(file: str, name: str, topic: Bilingual, given: dict[str, Any]) -> Entry:
    if missing := _REQUIRED - set(given):
        raise ValueError(f"{file}: [{name}] lacks {', '.join(sorted(missing))}.")
    if unknown := set(given) - _REQUIRED - _OPTIONAL:
        raise ValueError(f"{file}: [{name}] has unknown fields {', '.join(sorted(unknown))}.")
    role = given.get("role", "cause")
    for value, allowed in ((role, ROLES), (given["where"], PLACES), (given["verified"], EVIDENCE)):
        if value not in allowed:
            raise ValueError(f"{file}: [{name}] says {value!r}; possible are {', '.join(allowed)}.")
    return Entry(
        name=name,
        topic=topic,
        says=given["says"],
        patterns=tuple(given["patterns"]),
        context=given.get("context"),
        role=role,
        hides=tuple(given.get("hides", ())),
        where=given["where"],
        verified=given["verified"],
        lesson=given["lesson"],
        source=given["source"],
        alike=tuple(given["alike"]),
        samples=tuple(given["samples"]),
        provoke=given.get("provoke"),
        provoke_alone=given.get("provoke_alone"),
        provoke_cuda=given.get("provoke_cuda"),
        **{part: Bilingual(**given[part]) for part in CARD},
    )


def read(file: str, text: str) -> dict[str, Entry]:
    """Return the entries that one TOML file holds, by name.

    Args:
        file: Its name, for complaints.
        text: What stands in it.

    Raises:
        ValueError: A field is missing, unknown or of an unknown kind.
    """
    sections = tomllib.loads(text)
    topic = Bilingual(**sections.pop("topic"))
    return {name: _entry(file, name, topic, given) for name, given in sections.items()}


@cache
def entries() -> dict[str, Entry]:
    """Return everything the clinic knows, by name, in the order of the files.

    Raises:
        ValueError: A name stands twice, or a file is not in order.
    """
    found: dict[str, Entry] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            new = read(file.name, file.read_text(encoding="utf-8"))
            if twice := set(found) & set(new):
                raise ValueError(f"{file.name}: {', '.join(sorted(twice))} stands in another file already.")
            found |= new
    return found


@cache
def expressions(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the compiled patterns of the entry `name`."""
    return tuple(expression(pattern) for pattern in entries()[name].patterns)


@cache
def context(name: str) -> re.Pattern[str] | None:
    """Return what must stand beside the entry `name`, or None where it stands alone."""
    wanted = entries()[name].context
    return None if wanted is None else expression(wanted)
