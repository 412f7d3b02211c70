"""From an exception or a pasted text to the entry that explains it.

A text may hold several messages: a wrapper and what it wraps, or the output of several ranks, of which one failed
and the others noticed. The cause goes before what waited for it, suffered from it or passed it on.
"""

from __future__ import annotations

import html
import re
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.clinic.catalogue import ROLES, Entry, context, entries, expressions

LONGEST = 200_000  # characters that are looked at; of longer texts the beginning and the end
LIMIT_SECONDS = 0.5  # for the card below a traceback: no card is better than a late one
_CHAIN = 8  # causes of causes
_FRAMES = 40

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+(?=\S)|^[ \t]*[│|❱][ \t]?|│[ \t]*$", re.M)
# Web pages turn straight marks into typographic ones, and bold messages keep their asterisks.
_TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "：": ":", "，": ","})
_RANK = re.compile(r"^[ \t]*\[(?:\w+:)?(?:rank|default|Rank )[ \t]?(\d+)\]:?[ \t]?", re.M)
_NUMBERED = re.compile(r"^(\d{1,4}): ?(?=\S| {2})", re.M)
_ACTOR = re.compile(r"^\([\w.:]*[ ]?(?:pid|rank)=(\d+)[^)\n]{0,60}\)[ \t]?", re.M)
_INNER_RANK = re.compile(r"\[(?:\w+ )*[Rr]ank (\d+)\]")
_CLOCK = re.compile(r"\b(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")

_ERROR_LINE = re.compile(
    r"^[ \t]*((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure))(?::[ \t]+(\S.*)|:?[ \t]*)$",
    re.M,
)
_PASSES_ON = {
    "ChildFailedError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "CalledProcessError",
    "SignalException",
    "SystemExit",
}


@dataclass(frozen=True)
class Match:
    """Where an entry was found: the line that says it, and the rank that printed it, where the text tells."""

    entry: Entry
    start: int
    end: int
    line: str
    rank: int | None
    clock: float | None


@dataclass(frozen=True)
class Finding:
    """What a text says.

    Attributes:
        match: The first cause, as far as the catalogue knows; None where it knows nothing.
        others: What else was found, in order.
        unknown: An error that the catalogue does not know, where all that it knows are consequences.
        unknown_rank: The rank that printed it, where the text tells.
        ranks: How many ranks speak in the text.
    """

    match: Match | None
    others: tuple[Match, ...] = ()
    unknown: str | None = None
    unknown_rank: int | None = None
    ranks: int = 0


# --- reading ------------------------------------------------------------------------------------------


def _part(value: object) -> str | None:
    """Return an argument of an exception if that costs nothing: the text of an unknown object may take for ever."""
    if isinstance(value, str):
        return str.__str__(value)
    return str(value) if type(value) in (int, float, bool) else None


def _message(error: BaseException) -> str:
    kind = type(error)
    name = (
        kind.__qualname__
        if kind.__module__ in ("builtins", "__main__")
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    parts = [part for part in map(_part, error.args) if part is not None]
    if isinstance(error, OSError) and len(parts) >= 2:
        text = f"[Errno {parts[0]}] {parts[1]}"
        if isinstance(getattr(error, "winerror", None), int):
            text = f"[WinError {error.winerror}] {parts[1]}"
    elif isinstance(error, KeyError) and parts:
        text = repr(parts[0])  # as Python shows it
    else:
        text = ", ".join(parts)
    notes = [note for note in getattr(error, "__notes__", None) or () if isinstance(note, str)]
    return "\n".join([f"{name}: {text}" if text else name, *notes])


def _frames(error: BaseException) -> Iterator[str]:
    kept = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        kept.append(f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}')
        if len(kept) > 2 * _FRAMES:
            del kept[_FRAMES]
    yield from kept


def text_of(error: BaseException) -> str:
    """Return what Python prints of `error` and its causes, without source lines.

    It runs nothing of the error's own, as a slow or broken ``__str__`` would be: only texts and numbers are taken.
    """
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain and len(chain) < _CHAIN:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n".join("\n".join([*_frames(one), _message(one)]) for one in reversed(chain))


def _clean(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return `text` without colours, quotation marks and the ranks before its lines, and which line is whose."""
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]
    text = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _QUOTE.sub("", text).translate(_TYPOGRAPHY)
    if "&" in text:
        text = html.unescape(text)
    prefixes = [_RANK, _ACTOR]
    if len(set(_NUMBERED.findall(text))) >= 2:  # `srun --label`; a single "1: " is somebody's list
        prefixes.append(_NUMBERED)
    lines, owners, at = [], [], 0
    for line in text.split("\n"):
        for prefix in prefixes:
            if found := prefix.match(line):
                if prefix is not _ACTOR:
                    owners.append((at, int(found[1])))
                line = line[found.end() :]
        lines.append(line)
        at += len(line) + 1
    return "\n".join(lines), owners


# --- finding ------------------------------------------------------------------------------------------


def _line_at(text: str, at: int) -> str:
    low, high = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return text[low : high if high >= 0 else None].strip()


def _rank_at(text: str, at: int, owners: list[tuple[int, int]]) -> int | None:
    low = text.rfind("\n", 0, at) + 1
    for start, rank in owners:
        if start == low:
            return rank
    inner = _INNER_RANK.search(_line_at(text, at))
    return int(inner[1]) if inner else None


def _clock_at(text: str, at: int) -> float | None:
    low = text.rfind("\n", 0, at) + 1
    found = _CLOCK.search(text, low, at)
    if not found:
        return None
    hours, minutes, seconds, rest = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + (float(f"0.{rest}") if rest else 0.0)


def matches(text: str, *, deadline: float | None = None) -> list[Match]:
    """Return every entry that `text` holds, each once, in order of appearance.

    Args:
        text: A message, a traceback, or the output of a whole job.
        deadline: When to give up, as ``time.monotonic()`` counts.

    Raises:
        TimeoutError: The time is up.
    """
    cleaned, owners = _clean(text)
    return _matches(cleaned, owners, deadline)


def _matches(text: str, owners: list[tuple[int, int]], deadline: float | None) -> list[Match]:
    found = []
    for name, entry in entries().items():
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("the clinic took too long to read this text")
        hits = [hit for hit in (pattern.search(text) for pattern in expressions(name)) if hit]
        if not hits:
            continue
        beside = context(name)
        if beside is not None and not beside.search(text):
            continue
        hit = min(hits, key=lambda one: one.start())
        found.append(
            Match(
                entry,
                hit.start(),
                max(one.end() for one in hits if one.start() == hit.start()),
                _line_at(text, hit.start()),
                _rank_at(text, hit.start(), owners),
                _clock_at(text, hit.start()),
            )
        )
    hidden = {name for match in found for name in match.entry.hides}
    return sorted((one for one in found if one.entry.name not in hidden), key=lambda one: one.start)


def _first(found: list[Match]) -> Match | None:
    """Return the match that explains the others: by its role first, then by the clock, then by its place."""
    if not found:
        return None
    best = min(ROLES.index(match.entry.role) for match in found)
    same = [match for match in found if ROLES.index(match.entry.role) == best]
    if all(match.clock is not None for match in same):
        return min(same, key=lambda match: (match.clock, match.start))
    return same[0]


def _unknown(text: str, found: list[Match]) -> tuple[str, int] | None:
    """Return the first error in `text` that no entry accounts for, and where it stands."""
    for line in _ERROR_LINE.finditer(text):
        kind = line[1].rpartition(".")[2]
        # A message may begin on the line below its type (mp.spawn), so a little more than the line is looked at.
        accounted = any(line.start() <= match.end and match.start <= line.end() + 3 for match in found)
        if kind not in _PASSES_ON and not accounted and (line[2] or "." not in line[1]):
            return line[0].strip()[:300], line.start(1)
    return None


def diagnose(text: str, *, seconds: float | None = None) -> Finding:
    """Return what `text` says: the first cause, what else is in it, and whether something unknown came before.

    Args:
        text: A message, a traceback, or the mixed output of several ranks.
        seconds: Time limit; None for none.

    Raises:
        TimeoutError: The time is up.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    cleaned, owners = _clean(text)
    found = _matches(cleaned, owners, deadline)
    first = _first(found)
    ranks = {rank for _, rank in owners} | {match.rank for match in found if match.rank is not None}
    others = tuple(match for match in found if match is not first)
    stranger = None
    if first is not None and first.entry.role != "cause":
        stranger = _unknown(cleaned, found)
    if stranger is None:
        return Finding(first, others, ranks=len(ranks))
    return Finding(first, others, stranger[0], _rank_at(cleaned, stranger[1], owners), len(ranks))
