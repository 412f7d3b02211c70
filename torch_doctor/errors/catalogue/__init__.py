"""The catalogue of known errors, as data: one TOML file per topic, one section per error.

The fields of a section:

``message``     the message in short, as the user sees it.
``patterns``    regular expressions, one of which matches it, in old and new wordings. A space matches any white space.
``context``     (optional) a pattern that must also match somewhere in the same text, so that an everyday message is not
                taken for this error.
``role``        (optional) ``cause`` (the default), ``symptom`` (a rank that waited for another one), ``victim`` (a
                consequence of another error), ``wrapper`` (it only passes another error on), ``warning`` or ``general``
                (it leaves the cause open); ``form`` and ``other``: the form of an error, asked where no entry knows its
                cause (see ``../general.py``).
``where``       (optional) the places that raise it, for a form: ``own``, ``package``, ``torch``, ``compile`` …
``supersedes``  (optional) less precise entries that match together with this one and are then left out.
``causes``      (optional) the causes of the diagnosis (``../../diagnosis/texts``) that print it: the machine is at fault.
``requires``    what is needed to provoke it: ``cpu``, ``cpu_build``, ``cuda``, ``two_gpus`` or ``special``.
``verified``    ``ran`` (provoked and recognized in the tests), ``source`` (read in PyTorch's source) or ``seen`` (in public
                reports only). The last two are marked on the card.
``lesson``      the lesson that teaches it.
``source``      where to read more (an address).
``similar``     entries that are mistaken for it.
``samples``     whole messages as they are printed, of several releases.
``provoke``     (optional) a program that provokes it; ``provoke_alone`` where it needs a process of its own,
                ``provoke_cuda`` where a GPU shows it better.
``meaning``, ``cause``, ``fix``, ``distinguish``  the texts of the card, in both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bilingual import Bilingual
from torch_doctor.data import read_folder

ROLES = ("cause", "general", "form", "symptom", "victim", "wrapper", "warning", "other")
FORMS = ("form", "other")
REQUIREMENTS = ("cpu", "cpu_build", "cuda", "two_gpus", "special")
VERIFICATIONS = ("ran", "source", "seen")
CARD = ("meaning", "cause", "fix", "distinguish")

_REQUIRED = {"message", "patterns", "requires", "verified", "lesson", "source", "similar", "samples", *CARD}
_OPTIONAL = {"context", "role", "where", "supersedes", "causes", "provoke", "provoke_alone", "provoke_cuda"}
_TOKEN = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)((?:[?*+]|\{\d*,?\d*\})\??)?", re.S)
_PLAIN = re.compile(r"\\([^\w'\"`])|([^\\ .^$|()'\"`])")
_LISTS = ("patterns", "where", "supersedes", "causes", "similar", "samples")


@dataclass(frozen=True)
class Entry:
    """One known error; the fields are those of its section (see the module)."""

    name: str
    topic: Bilingual
    message: str
    patterns: tuple[str, ...]
    requires: str
    verified: str
    lesson: str
    source: str
    similar: tuple[str, ...]
    samples: tuple[str, ...]
    meaning: Bilingual
    cause: Bilingual
    fix: Bilingual
    distinguish: Bilingual
    context: str | None = None
    role: str = "cause"
    where: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    provoke: str | None = None
    provoke_alone: str | None = None
    provoke_cuda: str | None = None

    @property
    def question(self) -> str | None:
        """Which question to the doctor finds the machine's fault (``"cuda"``, ``"slow"``, ``"hang"``); None: there is none."""
        kinds = {"slow-": "slow", "hang-": "hang"}
        return kinds.get(self.causes[0][:5], "cuda") if self.causes else None


@cache
def expression(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the catalogue: a space matches any white space, a quotation mark any one or none (both vary)."""
    quotes = form_table("quotes")
    pattern = re.sub(quotes["find"], lambda part: quotes.get(part.lastgroup, part[0]), pattern)
    return re.compile(pattern.replace(" ?", r"\s*").replace(" ", r"\s+"), re.DOTALL | re.MULTILINE)


def literal(pattern: str) -> str:
    """Return the longest text that is in whatever `pattern` matches, "" if none is found: looking for it first is quick.

    Groups and classes are left out, so what they contain is not found.
    """
    if pattern.startswith("(?i)"):
        return ""
    runs, depth = [""], 0
    for token, follows in _TOKEN.findall(pattern):
        if token == "|" and not depth:
            return ""
        depth += (token == "(") - (token == ")")
        plain = _PLAIN.fullmatch(token)
        if depth or not plain or follows[:1] in ("?", "*", "{"):
            runs.append("")
            continue
        runs[-1] += plain[plain.lastindex]
        runs += [""] * bool(follows)
    return max(runs, key=len)


def read(file: str, sections: Mapping[str, Any]) -> dict[str, Entry]:
    """Return the entries of one file by name.

    Args:
        file: Its name, for error messages.
        sections: Its content.

    Raises:
        ValueError: A field is missing or unknown, or has a value that is not allowed.
    """
    found, topic = {}, Bilingual(**sections["topic"])
    for name, fields in sections.items():
        if "message" not in fields:  # a table for all entries
            continue
        place = f"{file}: [{name}]"
        if missing := _REQUIRED - set(fields):
            raise ValueError(f"{place} lacks {', '.join(sorted(missing))}.")
        if unknown := set(fields) - _REQUIRED - _OPTIONAL:
            raise ValueError(f"{place} has unknown fields {', '.join(sorted(unknown))}.")
        for key, allowed in (("role", ROLES), ("requires", REQUIREMENTS), ("verified", VERIFICATIONS)):
            if fields.get(key, allowed[0]) not in allowed:
                raise ValueError(f"{place} has {key} = {fields[key]!r}; possible are {', '.join(allowed)}.")
        lists = {key: tuple(fields[key]) for key in _LISTS if key in fields}
        texts = {key: Bilingual(**fields[key]) for key in CARD}
        found[name] = Entry(name=name, topic=topic, **{**fields, **lists, **texts})
    return found


@cache
def entries() -> dict[str, Entry]:
    """Return all known errors by name, in the order of the files.

    Raises:
        ValueError: A name is used twice, or a field is wrong.
    """
    found: dict[str, Entry] = {}
    for file, sections in read_folder("torch_doctor.errors.catalogue").items():
        new = read(file, sections)
        if twice := set(found) & set(new):
            raise ValueError(f"{file}: {', '.join(sorted(twice))} is in another file already.")
        found |= new
    return found


@cache
def messages() -> dict[str, Entry]:
    """Return the entries that know a message: all but the forms, whose texts are filled in from an error."""
    return {name: entry for name, entry in entries().items() if entry.role not in FORMS}


def form_table(name: str) -> dict[str, Any]:
    """Return a table that the forms of errors share, such as ``reading``."""
    return read_folder("torch_doctor.errors.catalogue")["z_general"][name]


def errors_of(cause: str) -> tuple[Entry, ...]:
    """Return the errors that a machine with `cause` prints.

    Args:
        cause: The name of a cause in ``diagnosis/texts/*.toml``.
    """
    return tuple(entry for entry in entries().values() if cause in entry.causes)


@cache
def searches() -> dict[str, list[tuple[str, str]]]:
    """Return the patterns of each entry, each with its literal."""
    return {name: [(p, literal(p)) for p in entry.patterns] for name, entry in entries().items()}


def hits(name: str, text: str) -> Iterator[re.Match[str]]:
    """Yield where the patterns of the entry `name` match in `text`; only those are compiled that can match."""
    for pattern, contained in searches()[name]:
        if contained in text:
            yield from expression(pattern).finditer(text)


@cache
def context(name: str) -> re.Pattern[str]:
    """Return the compiled context of the entry `name`, which matches any text if it has none."""
    return expression(entries()[name].context or "")
