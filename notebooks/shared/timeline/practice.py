"""A timeline of practice GPUs, from their log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from course_utils import lesson_gpus
from shared.timeline.spans import Span, Timeline

if TYPE_CHECKING:
    from practice_gpu.simulation import Entry


def recorded(action: Callable[[], Any]) -> Timeline | None:
    """Run `action` and return what the practice GPUs did meanwhile; None if the lesson has none, or it uses none.

    Args:
        action: Called without arguments; what it queues is waited for.
    """
    if (watched := log_of(action)) is None:
        return None
    _, entries = watched
    return from_log(entries) if any(e.kind != "wait" for e in entries) else None


def log_of(action: Callable[[], Any]) -> tuple[float, list[Entry]] | None:
    """Run `action` and return when it began, by the practice GPUs' clock, and their log of it; None without any.

    Args:
        action: Called without arguments where there are practice GPUs; what it queues is waited for.
    """
    if (begin := lesson_gpus.clock()) is None:
        return None
    import practice_gpu

    action()
    done = lesson_gpus.clock(wait=False)
    lesson_gpus.clock()  # waits for what is queued; that is no part of `action`
    entries = [entry for entry in practice_gpu.log() if entry.start >= begin]
    return begin, [entry for entry in entries if entry.kind != "wait" or entry.start < done]


def from_log(entries: Sequence[Entry]) -> Timeline:
    """Return the timeline of some lines of the log, with the lanes of a recording; its times are modelled.

    Streams are numbered from 1, in the order in which they were made.

    Args:
        entries: Lines of ``practice_gpu.log()``, at least one.

    Raises:
        ValueError: There is none.
    """
    entries = sorted(entries, key=lambda entry: (entry.device, entry.stream, entry.kind, entry.start))
    first = min((float(entry.start) for entry in entries), default=0.0)
    streams = list(dict.fromkeys((e.device, e.stream) for e in entries if e.device >= 0))
    several = len({device for device, _ in streams}) > 1
    spans = []
    for entry in entries:
        lane = "host 1"
        if entry.device >= 0:
            device = f"practice:{entry.device} " if several else ""
            number = 1 + [s for d, s in streams if d == entry.device].index(entry.stream)
            lane = f"GPU {device}stream {number} {'copy' if entry.kind == 'copy' else 'work'}"
        name = "wait" if entry.kind == "wait" else entry.name
        spans.append(Span(lane, name, float(entry.start) - first, float(entry.end) - first))
    return Timeline(spans, modelled=True)
