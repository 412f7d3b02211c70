"""A timeline: spans of time in lanes, and what can be counted in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KEPT = 400  # spans in a recording

Interval = tuple[float, float]


@dataclass(frozen=True)
class Span:
    """Something that took time: in which lane, its name, and from when to when (seconds from the first span)."""

    lane: str
    name: str
    start: float
    end: float


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge `intervals` that touch or overlap, in ascending order; what has no length is left out."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def intersection(one: Sequence[Interval], other: Sequence[Interval]) -> list[Interval]:
    """Return where two lists of merged intervals cover the same time."""
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start < end:
            found.append((start, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found


def total_length(intervals: Iterable[Interval]) -> float:
    """Return the sum of the lengths of `intervals`, in seconds."""
    return sum(end - start for start, end in intervals)


@dataclass(frozen=True)
class Timeline:
    """Spans in lanes, and what can be counted in them.

    Wherever a lane is asked for, give its name (``"GPU stream 1 copy"``) or some of its words in their order
    (``"GPU copy"``: the copies of all streams together).

    Attributes:
        spans: All spans; they may be nested.
        trace: The profiler's own file, packed, for :func:`save`; not part of a recording.
        modelled: Whether a practice GPU's clock gave the times.

    Raises:
        ValueError: There is no span.
    """

    spans: Sequence[Span]
    trace: bytes | None = field(default=None, repr=False, compare=False)
    modelled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "spans", tuple(self.spans))
        if not self.spans:
            raise ValueError(
                "there is nothing to draw: the timeline has no span. Let the recorded action call PyTorch, or wrap "
                'its parts in `with timeline.mark("name"):` (in other threads only marks are seen).'
            )

    def lanes(self) -> list[str]:
        """Return the names of all lanes, from top to bottom."""
        return list(dict.fromkeys(span.lane for span in self.spans))

    def seconds(self) -> float:
        """Return the time from the first start to the last end."""
        return max(span.end for span in self.spans) - min(span.start for span in self.spans)

    def _find(self, lane: str) -> set[str]:
        """Return the names of the lanes that `lane` stands for.

        Raises:
            ValueError: There is none.
        """
        names = self.lanes()
        if lane in names:
            return {lane}

        def fits(name: str) -> bool:
            words = iter(name.split())
            return all(word in words for word in lane.split())  # each is looked for after the one before

        found = {name for name in names if lane.split() and fits(name)}
        if not found:
            raise ValueError(f"the timeline has no lane {lane!r}; it has {', '.join(map(repr, names))}.")
        return found

    def intervals(self, lane: str) -> list[Interval]:
        """Return when `lane` is busy, as (start, end) in ascending order; nested spans are merged."""
        found = self._find(lane)
        return union((span.start, span.end) for span in self.spans if span.lane in found)

    def busy(self, lane: str) -> float:
        """Return for how many seconds `lane` is busy; what is nested counts once."""
        return total_length(self.intervals(lane))

    def busiest(self) -> tuple[str, ...]:
        """Return the two lanes worth comparing (or the only one): the busiest of the GPU, else of all lanes."""
        lanes = self.lanes()
        on_gpu = [lane for lane in lanes if lane.startswith("GPU")]
        ranked = sorted(on_gpu if len(on_gpu) > 1 else lanes, key=self.busy, reverse=True)[:2]
        return tuple(sorted(ranked, key=lanes.index))

    def both_busy(self, lane_a: str, lane_b: str) -> list[Interval]:
        """Return when both lanes are busy, as (start, end) in ascending order."""
        return intersection(self.intervals(lane_a), self.intervals(lane_b))

    def overlap_share(self, lane_a: str, lane_b: str) -> float:
        """Return for which share of the less busy lane's time both lanes are busy, 0 to 1."""
        shorter = min(self.busy(lane_a), self.busy(lane_b))
        return total_length(self.both_busy(lane_a, lane_b)) / shorter if shorter else 0.0

    def to_json(self, most: int = KEPT) -> dict[str, Any]:
        """Return what is recorded: the longest `most` spans (in microseconds), and numbers of all (in seconds)."""
        longest = sorted(self.spans, key=lambda span: span.start - span.end)[:most]
        kept = set(map(id, longest))
        pair = self.busiest()
        return {
            # One text per span: a recording is read by people, too, as the difference of two files.
            "spans": [
                f"{s.start * 1e6:.1f} {s.end * 1e6:.1f} {s.lane}: {s.name}"
                for s in self.spans
                if id(s) in kept
            ],
            "seconds": self.seconds(),
            "pair": list(pair),
            "overlap_share": self.overlap_share(*pair) if len(pair) == 2 else None,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Timeline":
        """Return the timeline that was recorded as `values`."""
        spans = []
        for line in values["spans"]:
            start, end, rest = line.split(" ", 2)
            spans.append(Span(*rest.split(": ", 1), float(start) / 1e6, float(end) / 1e6))
        return cls(spans)
