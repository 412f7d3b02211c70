"""Explain an error that no entry knows, by its form and by the place that raised it.

Entries with the role ``form`` or ``other`` are asked in order where no cause was found. Their texts hold ``‹placeholders›``:
the named groups of their patterns, and what the frames of the traceback tell::

      File "/venv/lib/python3.12/site-packages/trl/trainer/sft_trainer.py", line 9, in train
    AttributeError: module 'transformers' has no attribute 'HybridCache'

Here ‹package› is trl, ‹module› transformers, ‹name› HybridCache. The expressions stand in ``catalogue/z_general.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from bilingual import Bilingual
from torch_doctor.errors.catalogue import CARD, FORMS, Entry, entries, form_table, hits

_HANDLED = "During handling of the above exception, another exception occurred"


@cache
def reading(name: str) -> re.Pattern[str]:
    """Return the compiled expression `name` of the table ``reading``."""
    return re.compile(form_table("reading")[name], re.M)


def _pip(module: str) -> str:
    top = module.split(".")[0]
    return form_table("pip").get(top, top.replace("_", "-"))


def _place(path: str) -> tuple[str, str]:
    """Return where a file lies (``own``, ``python``, ``package``, ``node``, or a part of PyTorch) and its package, or ""."""
    for place, pattern in form_table("places").items():
        if found := re.search(pattern, path.replace("\\", "/")):
            return place, found[found.lastindex] if found.lastindex else ""
    return "own", ""


def errors(text: str, spans: list[tuple[int, int]], *, inline: bool = False) -> Iterator[int]:
    """Yield where errors begin in `text` that are in none of the known `spans` and wrap no other one.

    Args:
        text: The cleaned text.
        spans: Start and end of what is known in it.
        inline: Whether to yield those in the middle of a line instead of those at its beginning.
    """
    for line in re.finditer(".+", text):
        error = reading("error").search(line[0])
        if error is None or bool(line[0][: error.start(1)].strip()) != inline:
            continue
        # A message may begin on the line below its type (mp.spawn), therefore the 8 characters after the line.
        known = any(line.start() <= stop and start <= line.end() + 8 for start, stop in spans)
        left_out = [reading("wrapper"), reading("harmless")] if inline else [reading("wrapper")]
        if not known and not any(pattern.search(line[0]) for pattern in left_out):
            yield line.start() + error.start(1)


def _candidates(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Yield position and text of what may be the error: errors with their type, else lines that name none."""
    starts = typed = [*errors(text, spans)] or [*errors(text, spans, inline=True)]
    if not typed and not spans:
        lines = [line for line in re.finditer(".+", text) if reading("bare").search(line[0])][-200:]
        others = reading("harmless"), reading("error")
        starts = [line.start() for line in lines if not any(other.search(line[0]) for other in others)]
    ends = [*starts[1:], len(text)]
    # An error that was being handled when another one came is asked only if there is nothing else.
    for start in [start for start, end in zip(starts, ends) if _HANDLED not in text[start:end]] or starts:
        error = reading("end").split(text[start : start + 900].lstrip())[0]
        error = error if typed else "\n".join(error.splitlines()[:2])
        yield start, re.sub(r"\A([\w.]+:)\s+", r"\1 ", error)


def _frames(text: str, at: int) -> dict[str, str]:
    """Return what the frames of the error at `at` tell: where, package, caller, file; absent if they do not."""
    begin = max(text.rfind("Traceback (most recent call last)", 0, at), at - 60_000, 0)
    frames = [*reading("frame").finditer(text, begin, at)] or [*reading("frame").finditer(text, at)]
    lines = [(frame[1] or frame[3] or frame[5], frame[2] or frame[4]) for frame in frames]
    places = [(*_place(path), path, number) for path, number in lines if path]
    known = [place for place in places if place[0] != "python"]
    if not known:  # the words tell the part, not the place
        told = [kind for kind in ("compile", "distributed") if reading(kind).search(text[at : at + 900])]
        return {"where": told[0], "place": "unknown"} if told else {}
    where, package, *_ = known[-1]
    found = {"where": "environ" if re.search(r"\bos(?:\.py)?>?$", places[-1][2]) else where}
    callers = [other for _, other, *_ in known if other not in ("torch", package, "")]
    if package:
        found["package"] = package if where == "node" else _pip(package)
    if package and callers:
        found["caller"] = _pip(callers[-1])
    if own := [(path, number) for place, _, path, number in known if place == "own"]:
        path, number = own[-1]
        found["file"] = re.split(r"[\\/]", path)[-1] + (f":{number}" if number else "")
        found.setdefault("caller", found["file"])
    return found


def general(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[Entry, int]]:
    """Yield the entry for the form of the error in `text`, its texts filled in, and start of the error; or nothing.

    Args:
        text: The cleaned text.
        spans: Start and end of what is known in it.
    """
    forms = [entry for entry in entries().values() if entry.role in FORMS]
    for at, error in _candidates(text, spans):
        words = _frames(text, at)
        where = words.get("where", "unknown").replace("node", "package")
        for entry in (entry for entry in forms if not entry.where or where in entry.where):
            for hit in hits(entry.name, error):
                named = {key.rstrip("234"): word for key, word in hit.groupdict().items() if word}
                yield filled(entry, words | named), at
                return


def filled(entry: Entry, words: dict[str, str]) -> Entry:
    """Return `entry` with a sentence about the place before its meaning, and with its ‹placeholders› filled in."""
    where, module = words.get("where", "unknown"), words.get("module", "")
    given = ["" if where == "node" else words.get("package"), words.get("caller"), _pip(module)]
    packages = dict.fromkeys(name for name in given if name and not reading("no-package").search(name))
    words = {"asker": words.get("package", ""), "pip": _pip(module), "top": module.split(".")[0]} | words
    words["packages"] = " ".join(packages)
    called = "-called" if words.get("package") and "caller" in words else ""
    place, default = form_table("place").get(words.get("place", where + called)), form_table("words")

    def fill(part: str, language: str) -> str:
        before = place[language] + " " * (language == "en") if place and part == "meaning" else ""
        text = (before + getattr(getattr(entry, part), language)).strip()
        word = {name: words.get(name) or pair[language] for name, pair in default.items()}
        return re.sub(r"‹(\w+)›", lambda hole: word[hole[1]].replace("`", "'"), text)

    return replace(entry, **{part: Bilingual(fill(part, "en"), fill(part, "zh")) for part in CARD})
