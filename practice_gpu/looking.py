"""What practice GPUs did: the clock, the log, waits and races, and a timeline as text."""

from collections import Counter

from practice_gpu import Seconds
from practice_gpu.ordering import Race
from practice_gpu.simulation import Entry
from practice_gpu.state import Place, state

_SIGNS = {"kernel": "#", "copy": "c", "wait": "w"}


def clock() -> Seconds:
    """Return the host's virtual clock: modelled seconds since `start`; the host's own work takes none of them."""
    return Seconds(state.machine.now)


def log() -> list[Entry]:
    """Return the kernels, copies and waits so far, in the order of their starts."""
    return [entry._replace(start=Seconds(entry.start), end=Seconds(entry.end)) for entry in state.machine.log]


def waits() -> Counter[Place]:
    """Return how often the host waited for a device, by line of the user's code."""
    return state.waits


def races() -> list[Race]:
    """Return the pairs of uses of one memory, one of them a write, that nothing orders."""
    return list(state.races.found.values())


def timeline(width: int = 72, since: float = 0.0) -> str:
    """Return the log as text: a row per stream and one for the host; ``#`` kernel, ``c`` copy, ``w`` the host waits.

    Args:
        width: Characters of a row.
        since: Where it begins, in seconds of the virtual clock.
    """
    entries = [entry for entry in log() if entry.start >= since]
    if not entries:
        return ""
    begin, end = min(entry.start for entry in entries), max(entry.end for entry in entries)
    scale = width / max(float(end - begin), 1e-12)
    rows: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.device < 0, entry.device, entry.stream)):
        name = "host" if entry.device < 0 else f"GPU {entry.device} stream {entry.stream}"
        row = rows.setdefault(name, [" "] * width)
        first = min(width - 1, int((entry.start - begin) * scale))
        last = max(first + 1, min(width, round(float((entry.end - begin) * scale))))
        row[first:last] = _SIGNS[entry.kind] * (last - first)
    lines = [f"{name:16}|{''.join(row)}|" for name, row in rows.items()]
    return "\n".join([*lines, f"{'':16} {Seconds(end - begin) * 1e3:.3f} ms"])
