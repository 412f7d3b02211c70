"""Explain an error that no entry knows, by its form and by the place that raised it.

Entries with the role ``form`` or ``other`` are asked in order where no cause was found. Their texts hold
``‹placeholders›``: the named groups of their patterns, and what the frames of the traceback tell::

      File "/venv/lib/python3.12/site-packages/trl/trainer/sft_trainer.py", line 9, in train
    AttributeError: module 'transformers' has no attribute 'HybridCache'

Here ‹package› is trl, ‹module› transformers, ‹name› HybridCache, and ‹packages› both. How errors, frames and places are
recognized stands in ``catalogue/z_general.toml``, with the entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from bilingual import Bilingual
from torch_doctor.data import read_folder
from torch_doctor.errors.catalogue import CARD, Entry, entries, expressions

_HANDLED = "During handling of the above exception, another exception occurred"


@cache
def _data() -> dict[str, Any]:
    return read_folder("torch_doctor.errors.catalogue")["z_general"]


@cache
def reading(name: str) -> re.Pattern[str]:
    """Return the compiled expression `name` of the table ``reading``."""
    return re.compile(_data()["reading"][name], re.M)


def _pip(module: str) -> str:
    """Return the name under which pip installs `module`."""
    top = module.split(".")[0]
    return _data()["pip"].get(top, top.replace("_", "-"))


def _place(path: str) -> tuple[str, str]:
    """Return where a file lies (``own``, ``python``, ``package``, ``node``, or a part of PyTorch) and its package, or ""."""
    path = path.replace("\\", "/")
    for place, pattern in _data()["places"].items():
        if found := re.search(pattern, path):
            return place, found[found.lastindex] if found.lastindex else ""
    return "own", ""


def errors(text: str, spans: list[tuple[int, int]], *, inline: bool = False) -> Iterator[int]:
    """Yield where errors begin in `text` that are in none of the known `spans` and wrap no other one.

    Args:
        text: The cleaned text.
        spans: Start and end of what is known in it.
        inline: Whether to yield those in the middle of a line instead of those at its beginning.
    """
    for error in reading("error").finditer(text):
        low, high = text.rfind("\n", 0, error.start(1)) + 1, text.find("\n", error.end(1))
        line = text[low : high if high >= 0 else None]
        # A message may begin on the line below its type (mp.spawn), therefore the 3 characters after the line.
        known = any(low <= stop and start <= low + len(line) + 3 for start, stop in spans)
        begins = not text[low : error.start(1)].strip()
        passed_on = reading("wrapper").search(line) or (inline and reading("harmless").search(line))
        if begins != inline and not known and not passed_on:
            yield error.start(1)


def _candidates(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """Return position and text of what may be the error: errors with their type, else lines that name none."""
    starts = [*errors(text, spans)] or [*errors(text, spans, inline=True)]
    if not starts and not spans:
        lines = [line for line in re.finditer(r"^.*\S.*$", text, re.M) if reading("bare").search(line[0])][-200:]
        passed_over = reading("harmless").search, reading("error").search
        return [
            (line.start(), line[0].lstrip()) for line in lines if not any(skip(line[0]) for skip in passed_over)
        ]
    handled = [_HANDLED in text[start:end] for start, end in zip(starts, [*starts[1:], len(text)])]
    last = [start for start, was in zip(starts, handled) if not was] or starts
    whole = [reading("end").split(text[start : start + 900])[0] for start in last]
    return [(start, re.sub(r"\A([\w.]+:)\s+", r"\1 ", error)) for start, error in zip(last, whole)]


def _frames(text: str, at: int) -> dict[str, str]:
    """Return what the frames of the error at `at` tell: where, package, caller, file; absent if they do not."""
    begin = max(text.rfind("Traceback (most recent call last)", 0, at), at - 60_000, 0)
    frames = [*reading("frame").finditer(text, begin, at)] or [*reading("frame").finditer(text, at)]
    paths = [frame[1] or frame[3] or frame[5] for frame in frames]
    places = [(*_place(path), path, frame[2] or frame[4]) for path, frame in zip(paths, frames)]
    known = [place for place in places if place[0] != "python"]
    if not known:
        return {"where": "compile"} if reading("compile").search(text) else {}
    where, name = known[-1][:2]
    found = {"where": "environ" if re.search(r"\bos(?:\.py)?>?$", places[-1][2]) else where}
    if name:
        found["package"] = name if where == "node" else _pip(name)
        others = [other for _, other, *_ in known if other not in ("torch", name, "")]
        found |= {"caller": _pip(others[-1])} if others else {}
    for _, _, path, number in [place for place in known if place[0] == "own"][-1:]:
        found["file"] = re.split(r"[\\/]", path)[-1] + (f":{number}" if number else "")
        found.setdefault("caller", found["file"])
    return found


def general(text: str, spans: list[tuple[int, int]]) -> tuple[Entry, int, int] | None:
    """Return the entry for the form of the error in `text`, its texts filled in, and start and end of the error; or None.

    Args:
        text: The cleaned text.
        spans: Start and end of what is known in it.
    """
    text = reading("prefix").sub(lambda prefix: " " * len(prefix[0]), text)
    forms = [entry for entry in entries().values() if entry.role in ("form", "other")]
    for at, error in _candidates(text, spans):
        words = _frames(text, at)
        for entry in forms:
            where = "package" if words.get("where") == "node" else words.get("where", "unknown")
            if entry.where and where not in entry.where:
                continue
            for hit in filter(None, (pattern.search(error) for pattern in expressions(entry.name))):
                named = {key.rstrip("234"): word for key, word in hit.groupdict().items() if word}
                return _filled(entry, words | named), at, at + len(error)
    return None


def _filled(entry: Entry, words: dict[str, str]) -> Entry:
    """Return `entry` with a sentence about the place before its meaning, and with its ‹placeholders› filled in."""
    where, module = words.get("where", "unknown"), words.get("module", "")
    given = ["" if where == "node" else words.get("package"), words.get("caller"), _pip(module)]
    packages = dict.fromkeys(name for name in given if name and ".py" not in name and "[" not in name)
    words = {"asker": words.get("package", ""), "pip": _pip(module), "top": module.split(".")[0]} | words
    words["packages"] = " ".join(packages)
    called = "-called" if words.get("package") and "caller" in words else ""
    place = _data()["place"].get(where + called, {"en": "", "zh": ""})
    standing = _data()["words"]

    def fill(part: str, language: str) -> str:
        text = getattr(getattr(entry, part), language)
        if part == "meaning":
            text = f"{place[language]}{' ' if language == 'en' else ''}{text}".strip()
        return re.sub(
            r"‹(\w+)›", lambda hole: (words.get(hole[1]) or standing[hole[1]][language]).replace("`", "'"), text
        )

    return replace(entry, **{part: Bilingual(fill(part, "en"), fill(part, "zh")) for part in CARD})
