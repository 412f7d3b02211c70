"""Find the entry that explains a text: what an exception prints, or what somebody pasted.

A text may contain several messages: a wrapper and the error that it wraps, or the output of several ranks, of which one
failed first. An example of a text::

    [rank0]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:31617
    [rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.
    torch.distributed.elastic.multiprocessing.errors.ChildFailedError:

Here rank 1 has the cause (`oom`); `gloo-peer` (rank 0) and `torchrun-child` are consequences. A cause comes before a
symptom, a victim and a wrapper (see ``role`` in the catalogue).
"""

from __future__ import annotations

import codecs
import html
import re
import time
from dataclasses import dataclass

from torch_doctor.errors.catalogue import FORMS, ROLES, Entry, context, entries, form_table, hits, searches
from torch_doctor.errors.general import errors, filled, general, reading

MAX_CHARACTERS = 200_000  # of longer texts, the beginning and the end are read


@dataclass(frozen=True)
class Match:
    """An entry that was found in a text.

    Attributes:
        entry: The entry.
        start: Where its message begins in the cleaned text (characters).
        line: The line that contains it.
        rank: The rank that printed it, or None if the text does not say.
        clock: The time of day at which it was printed in seconds, or None.
    """

    entry: Entry
    start: int
    line: str
    rank: int | None
    clock: float | None


@dataclass(frozen=True)
class Finding:
    """The errors that were found in a text.

    Attributes:
        match: The first cause among the known errors, or None if none was found.
        others: The other known errors, in order of appearance.
        unknown: An unknown error, if all known errors are consequences.
        unknown_rank: The rank that printed it, or None.
        ranks: How many ranks printed something in the text.
        complains: Whether any line of the text looks like an error, known or not.
    """

    match: Match | None
    others: tuple[Match, ...] = ()
    unknown: str | None = None
    unknown_rank: int | None = None
    ranks: int = 0
    complains: bool = True


# --- from text to entries -----------------------------------------------------------------------------


def _unescaped(line: re.Match[str]) -> str:
    return reading("escape").sub(lambda part: part[1] or codecs.decode(part[0], "unicode_escape"), line[0])


def _clean(text: str) -> tuple[str, dict[int, str]]:
    """Remove from `text` what a terminal, a log, a web page or a quotation adds.

    Returns:
        The cleaned text, and the prefixes of its lines, by the start of the line in the cleaned text.
    """
    if len(text) > MAX_CHARACTERS:
        text = text[: MAX_CHARACTERS // 2] + "\n" + text[-MAX_CHARACTERS // 2 :]
    for _ in range(2 if "\\" in text else 0):  # a repr may contain another one
        text = reading("escaped").sub(_unescaped, text)
    text = re.sub(r"\r+\n?", "\n", reading("colour").sub("", html.unescape(text)))
    text = text.translate({ord(a): b for b, many in form_table("typography").items() for a in many})
    labelled = len(set(reading("numbered").findall(text))) >= 2  # a single "1: " is an item of a list
    lines, removed, at = [], {}, 0
    for line in text.split("\n"):
        line = line.rstrip(" \t│┃║|*`")
        for prefix in ("prefix", "numbered")[: 1 + labelled]:
            if found := reading(prefix).match(line):
                removed[at] = found[0]
                line = line[found.end() :]
        lines.append(line)
        at += len(line) + 1
    return "\n".join(lines), removed


def _unwrapped(text: str) -> str | None:
    """Return `text` without the line breaks of a narrow terminal, which cuts words; None if it seems to have none."""
    lines = text[:8_000].splitlines()
    width = max(map(len, lines), default=0)
    joined = "".join(line + "\n" * (len(line) < width) for line in lines)
    wrapped = 60 <= width <= 250 and len(text) <= 8_000 and width in map(len, lines[:-1])
    return joined if wrapped else None


def _line_at(text: str, at: int) -> str:
    low, high = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return text[low : high if high >= 0 else None].strip()


def _rank_at(text: str, at: int, prefixes: dict[int, str]) -> int | None:
    """Return the rank that printed the line at `at`: by the prefix of the line, or by a rank inside the line."""
    prefix = prefixes.get(text.rfind("\n", 0, at) + 1, "")
    found = reading("rank").search(f"{prefix}\n{_line_at(text, at)}")
    return int(found[found.lastindex]) if found else None


def _clock_at(text: str, at: int, prefixes: dict[int, str]) -> float | None:
    """Return the time of day (seconds) before `at` in the same line: ``[E1118 12:00:05.000 x.cpp:1] CUDA error``."""
    low, clock = text.rfind("\n", 0, at) + 1, reading("clock")
    if not (found := clock.search(text, low, at) or clock.search(prefixes.get(low, ""))):
        return None
    hours, minutes, seconds, rest = found.groups("0")
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{rest}")


def _matches(
    text: str, prefixes: dict[int, str], deadline: float | None
) -> tuple[list[Match], list[tuple[int, int]]]:
    """Return every entry that `text` contains, each once and in order, and start and end of whatever their patterns match."""

    def match(entry: Entry, start: int) -> Match:
        line, rank = _line_at(text, start), _rank_at(text, start, prefixes)
        return Match(entry, start, line, rank, _clock_at(text, start, prefixes))

    found, known = [], []  # several ranks may print one message
    for name, entry in entries().items():
        if deadline is not None and time.thread_time() > deadline:
            raise TimeoutError("matching this text takes too long")
        title = text.find(entry.message)  # copied from the clinic's own list
        title = title if title >= 0 and _line_at(text, title) == entry.message else -1
        form = entry.role in FORMS  # only by its title; `general` asks for its patterns
        where = [hit.span() for hit in hits(name, text)] if not form else []
        spans = [span for span in where if not reading("without").search(_line_at(text, span[0]))]
        if title < 0 and not (spans and context(name).search(text)):
            continue
        spans = spans or [(title, title + len(entry.message))]
        known += spans
        found.append(match(filled(entry, {}) if form else entry, min(spans)[0]))
    superseded = {name for one in found for name in one.entry.supersedes}
    kept = [one for one in found if one.entry.name not in superseded]
    if deadline is None and not any(one.entry.role in ("cause", "general") for one in kept):
        kept += [match(*one) for one in general(text, known)]
    return sorted(kept, key=lambda one: one.start), known


def _first(found: list[Match]) -> Match | None:
    """Return the first cause: by role, then by time of day, then by position in the text."""
    best = min((ROLES.index(match.entry.role) for match in found), default=0)
    same = [match for match in found if ROLES.index(match.entry.role) == best]
    clocks = [match.clock for match in same]
    return same[0 if None in clocks else clocks.index(min(clocks))] if same else None


def find_cause(text: str, *, seconds: float | None = None) -> Finding:
    """Find the first cause in `text`, the other errors in it, and an unknown error that may have come before.

    Args:
        text: A message, a traceback, or the mixed output of several ranks.
        seconds: Time limit of this thread's work, so that a busy machine changes nothing; None for none. With a limit, as
            below every traceback of a notebook, only known errors are named, and no form of an error.

    Raises:
        TimeoutError: The time limit has passed.
    """
    searches()  # the first time, it reads the catalogue, which is not counted
    deadline = None if seconds is None else time.thread_time() + seconds
    cleaned, prefixes = _clean(text)
    found, known = _matches(cleaned, prefixes, deadline)
    first = _first(found)
    if seconds is None and (first is None or first.entry.role in FORMS) and (whole := _unwrapped(text)):
        again = find_cause(whole)
        if again.match and again.match.entry.role == "cause":
            return again
    ranks = {*(_rank_at(cleaned, at, prefixes) for at in prefixes), *(match.rank for match in found)} - {None}
    others = tuple(match for match in found if match is not first and match.entry.role != "other")
    line = rank = None
    consequence = first is not None and first.entry.role not in ("cause", *FORMS)
    if consequence and (unknown := next(errors(cleaned, known), None)) is not None:
        line, rank = _line_at(cleaned, unknown)[:300], _rank_at(cleaned, unknown, prefixes)
    complains = bool(first or reading("complaint").search(cleaned))
    return Finding(first, others, line, rank, len(ranks), complains)
