"""The log, drawn as text."""

from __future__ import annotations

from collections.abc import Sequence

from practice_gpu.modelled import Seconds
from practice_gpu.simulation import Entry

_SIGNS = {"kernel": "#", "copy": "c", "wait": "w"}


def drawn(entries: Sequence[Entry], width: int) -> str:
    """Return entries as text, a row per stream and one for the host, over the time that they span."""
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
