"""Timelines: who was busy when, taken from PyTorch's profiler, so that overlap becomes a number.

A timeline has lanes, one per thread of the host and two per stream of the GPU (work and copies), and each lane has
spans of time. `record` makes one from what really ran; the explorers make theirs from a model and draw it in the
same way.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from matplotlib import ticker
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch.profiler import ProfilerActivity, profile, record_function, supported_activities

from course_utils import evidence, figures
from course_utils.language import Bilingual, measured
from course_utils.measure import synchronize
from course_utils.texts import text

# Some releases of the profiler log every start and stop to the terminal, past Python's own stderr. The variable is
# read when the first profiler of the process starts; 99 is above every level there is.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

_OWN = "course_utils.timeline"  # names of our own marks in a trace begin like this
_KEPT = 400  # spans in a recording

Interval = tuple[float, float]


@dataclass(frozen=True)
class Span:
    """Something that took time: in which lane, its name, and from when to when (seconds from the first span)."""

    lane: str
    name: str
    start: float
    end: float


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge `intervals` that touch or overlap, in ascending order; what has no length is left out."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _both(one: Sequence[Interval], other: Sequence[Interval]) -> list[Interval]:
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


def _length(intervals: Iterable[Interval]) -> float:
    return sum(end - start for start, end in intervals)


@dataclass(frozen=True)
class Timeline:
    """Spans in lanes, and what can be counted in them.

    Wherever a lane is asked for, give its name (``"GPU stream 1 copy"``) or some of its words in their order
    (``"GPU copy"``: the copies of all streams together).

    Attributes:
        spans: All spans; they may be nested.
        trace: The profiler's own file, packed, for :func:`save`; not part of a recording.

    Raises:
        ValueError: There is no span.
    """

    spans: Sequence[Span]
    trace: bytes | None = field(default=None, repr=False, compare=False)

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
        return _union((span.start, span.end) for span in self.spans if span.lane in found)

    def busy(self, lane: str) -> float:
        """Return for how many seconds `lane` is busy; what is nested counts once."""
        return _length(self.intervals(lane))

    def idle(self, lane: str) -> float:
        """Return for how many seconds, of all that the timeline lasts, `lane` is not busy."""
        return self.seconds() - self.busy(lane)

    def busiest(self) -> tuple[str, ...]:
        """Return the two lanes worth comparing (or the only one): the busiest of the GPU, else of all lanes."""
        lanes = self.lanes()
        on_gpu = [lane for lane in lanes if lane.startswith("GPU")]
        ranked = sorted(on_gpu if len(on_gpu) > 1 else lanes, key=self.busy, reverse=True)[:2]
        return tuple(sorted(ranked, key=lanes.index))

    def _pair(self, lane_a: str | None, lane_b: str | None) -> tuple[list[Interval], list[Interval]]:
        if lane_a is None or lane_b is None:
            lanes = self.busiest()
            if len(lanes) < 2:
                raise ValueError(f"overlap needs two lanes, but the timeline has one: {lanes[0]!r}.")
            lane_a, lane_b = lanes
        if shared := self._find(lane_a) & self._find(lane_b):
            raise ValueError(
                f"overlap of {lane_a!r} and {lane_b!r}: both mean {', '.join(map(repr, sorted(shared)))}. "
                f"Name two different lanes of {', '.join(map(repr, self.lanes()))}."
            )
        return self.intervals(lane_a), self.intervals(lane_b)

    def overlap(self, lane_a: str | None = None, lane_b: str | None = None) -> float:
        """Return for how many seconds both lanes are busy.

        Args:
            lane_a: A lane, or some words of its name; without it, the two of :meth:`busiest` are compared.
            lane_b: The other lane.

        Raises:
            ValueError: A lane is not there, or both are the same one.
        """
        return _length(_both(*self._pair(lane_a, lane_b)))

    def overlap_share(self, lane_a: str | None = None, lane_b: str | None = None) -> float:
        """Return :meth:`overlap` as a share of what could overlap: of the less busy lane's time, 0 to 1."""
        one, other = self._pair(lane_a, lane_b)
        shorter = min(_length(one), _length(other))
        return _length(_both(one, other)) / shorter if shorter else 0.0

    def to_json(self, most: int = _KEPT) -> dict[str, Any]:
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
    def from_json(cls, values: Mapping[str, Any]) -> Timeline:
        """Return the timeline that was recorded as `values`."""
        spans = []
        for line in values["spans"]:
            start, end, rest = line.split(" ", 2)
            spans.append(Span(*rest.split(": ", 1), float(start) / 1e6, float(end) / 1e6))
        return cls(spans)


# --- recording ----------------------------------------------------------------------------------------

_Note = tuple[int, str, int, int]  # thread, name, start and end in nanoseconds of time.perf_counter_ns


@dataclass
class _Recording:
    """What the recording in progress collects besides the profiler's own trace."""

    thread: int
    notes: list[_Note] = field(default_factory=list)


_current: _Recording | None = None
_busy = threading.Lock()


@contextmanager
def mark(name: str) -> Iterator[None]:
    """Name a stretch of code, so that it becomes a span of that name: ``with mark("copy 0"): …``.

    Works in every thread. `torch.profiler.record_function`, which is called as well, is seen only in the thread that
    started the profiler; for the others the times are taken here. What is queued on a GPU inside the mark bears its
    name, too.

    Args:
        name: Short; the first word is its kind and gives the colour.

    Returns:
        A context manager.
    """
    recording = _current
    with record_function(name):
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            if recording is not None:
                recording.notes.append((threading.get_native_id(), name, start, time.perf_counter_ns()))


def _started() -> profile:
    """Return a running profiler of the host and, where it can be seen, of the GPU."""
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available() and ProfilerActivity.CUDA in supported_activities():
        activities.append(ProfilerActivity.CUDA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profiler = profile(activities=activities)
        profiler.start()
    return profiler


def _anchor(number: int) -> tuple[int, str, int]:
    """Mark a moment in the trace; return how uncertain it is (ns), the mark's name, and the moment on our clock."""
    name = f"{_OWN} {number}"
    before = time.perf_counter_ns()
    with record_function(name):
        after = time.perf_counter_ns()
    return after - before, name, (before + after) // 2


def record(action: Callable[[], Any], *, warm_up: int = 1) -> Timeline:
    """Run `action` under PyTorch's profiler and return what was busy when.

    Lanes: ``host 1``, ``host 2`` … are threads, in order of appearance; their spans are the marks (see :func:`mark`)
    if there are any, else the outermost PyTorch operations, and waits for the GPU outside of both. ``GPU stream 1
    work`` and ``GPU stream 1 copy`` are what one stream computed and what it copied between host and GPU; a span
    bears the name of the mark in which it was queued, else its own. Other processes, such as the workers of a
    DataLoader, are not seen. The profiler makes each operation some microseconds longer.

    Args:
        action: Called without arguments; what it queues on the GPU is waited for.
        warm_up: How many times to run it before, unrecorded.

    Returns:
        The :class:`Timeline`, with the profiler's own trace for :func:`save`.

    Raises:
        TypeError: `action` cannot be called.
        ValueError: Nothing was recorded.
        RuntimeError: A profiler is already running.
    """
    global _current
    if not callable(action):
        raise TypeError(
            f"record() needs a function to call, but got {type(action).__name__}; write `lambda: …`."
        )
    if torch.autograd._profiler_enabled() or not _busy.acquire(blocking=False):
        raise RuntimeError(
            "a profiler is already running, and PyTorch has only one: leave its `with` block, or call its stop(), "
            "before timeline.record()."
        )
    try:
        for _ in range(warm_up):
            action()
        synchronize()
        profiler = _started()
        try:
            if torch.cuda.is_available():
                torch.zeros(1, device="cuda").add_(1)  # the first launch under a profiler is slow
                synchronize()
            _, anchor, moment = min(_anchor(number) for number in range(5))  # the least uncertain one
            _current = recording = _Recording(threading.get_native_id())
            with record_function(f"{_OWN} action"):
                action()
            synchronize()
        finally:
            _current = None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                profiler.stop()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            profiler.export_chrome_trace(str(path))
            trace = json.loads(path.read_text(encoding="utf-8"))
    finally:
        _busy.release()
    trace = {key: value for key, value in trace.items() if key not in ("traceName", "host_name")}
    return from_trace(trace, recording.notes, thread=recording.thread, anchor=(anchor, moment))


def from_trace(
    trace: dict[str, Any],
    notes: Sequence[_Note] = (),
    *,
    thread: int | None = None,
    anchor: tuple[str, int] | None = None,
) -> Timeline:
    """Turn a Chrome trace, as the profiler writes it, into a timeline.

    Args:
        trace: The parsed file; its times are microseconds.
        notes: Marks as (thread, name, start, end), in nanoseconds of our clock.
        thread: The profiled thread: its marks are in the trace already.
        anchor: A mark in the trace and its start on our clock, in nanoseconds; ties the two clocks.

    Returns:
        The timeline, with a lane for each thread and stream.

    Raises:
        ValueError: Nothing was recorded.
    """
    complete = [e for e in trace["traceEvents"] if e.get("ph") == "X" and "ts" in e]
    own = {e["name"]: e for e in complete if _is_own(e) and e["cat"] == "user_annotation"}
    added = []
    if anchor is not None:
        shift = float(own[anchor[0]]["ts"]) - anchor[1] / 1e3
        added = [
            {"ph": "X", "cat": "user_annotation", "name": name, "pid": own[anchor[0]]["pid"], "tid": tid}
            | {"ts": start / 1e3 + shift, "dur": (end - start) / 1e3}
            for tid, name, start, end in notes
            if tid != thread
        ]
    events = [e for e in complete if not _is_own(e)] + added
    whole = own.get(f"{_OWN} action")
    begin, end = (float(whole["ts"]), _end(whole)) if whole else (float("-inf"), float("inf"))
    during = [e for e in events if begin <= e["ts"] <= end]
    marks = [e for e in during if e.get("cat") == "user_annotation" and not _is_built_in(e)]
    spans = _host_spans(during, marks) + _gpu_spans([e for e in events if e["ts"] >= begin], marks)
    first = min((span.start for span in spans), default=0.0)
    kept = [e for e in trace["traceEvents"] if not _is_own(e)] + added
    return Timeline(
        [Span(s.lane, s.name, (s.start - first) / 1e6, (s.end - first) / 1e6) for s in spans],
        trace=gzip.compress(json.dumps(trace | {"traceEvents": kept}).encode(), mtime=0),
    )


def _is_own(event: dict[str, Any]) -> bool:
    return str(event.get("name", "")).startswith(_OWN)


# Marks that PyTorch itself sets, as in "Optimizer.step#SGD.step": they count as operations.
_BUILT_IN = (
    "Optimizer.",
    "enumerate(DataLoader)",
    "ProfilerStep#",
    "DistributedDataParallel.",
    "nccl:",
    "gloo:",
)


def _is_built_in(event: dict[str, Any]) -> bool:
    return str(event["name"]).startswith(_BUILT_IN)


def _end(event: dict[str, Any]) -> float:
    return float(event["ts"]) + float(event.get("dur", 0))


def _outermost(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of one thread that lie in no other one."""
    found: list[dict[str, Any]] = []
    for event in sorted(events, key=lambda e: (e["ts"], -_end(e))):
        if not found or event["ts"] >= _end(found[-1]):
            found.append(event)
    return found


def _host_spans(events: list[dict[str, Any]], marks: list[dict[str, Any]]) -> list[Span]:
    """Return the spans of the host's threads: marks, else outermost operations, and waits outside of both."""
    threads: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for event in marks or [e for e in events if e.get("cat") in ("cpu_op", "user_annotation")]:
        threads[event["tid"]].append(event)
    if not marks:
        threads = defaultdict(list, {tid: _outermost(found) for tid, found in threads.items()})
    for event in events:
        if event.get("cat") in _LAUNCHES and "Synchronize" in event["name"]:
            mine = threads[event["tid"]]
            if not any(e["ts"] <= event["ts"] < _end(e) for e in mine):
                mine.append(event | {"name": "wait"})
    ordered = sorted((found for found in threads.values() if found), key=lambda es: min(e["ts"] for e in es))
    return [
        Span(f"host {number}", _host_name(e), float(e["ts"]), _end(e))
        for number, found in enumerate(ordered, start=1)
        for e in sorted(found, key=lambda e: (e["ts"], -_end(e)))
    ]


def _host_name(event: dict[str, Any]) -> str:
    """Return a mark's name as it is; of "aten::mm" or "autograd::engine::…: AddmmBackward0" the last part."""
    name = str(event["name"])
    if event.get("cat") == "cpu_op":
        return name.split(": ")[-1].split("::")[-1]
    return name.split("#")[0] if _is_built_in(event) else name


_LAUNCHES = ("cuda_runtime", "cuda_driver")
_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def _gpu_spans(events: list[dict[str, Any]], marks: list[dict[str, Any]]) -> list[Span]:
    """Return the spans of the GPU's streams, named after the marks in which they were queued."""
    launches = {
        e["args"]["correlation"]: e
        for e in events
        if e.get("cat") in _LAUNCHES and "correlation" in e.get("args", {})
    }
    found = sorted((e for e in events if e.get("cat") in _ON_GPU), key=lambda e: e["ts"])

    def place(event: dict[str, Any]) -> tuple[Any, Any]:
        args = event.get("args", {})
        return args.get("device", event.get("pid")), args.get("stream", event.get("tid"))

    several = len({place(event)[0] for event in found}) > 1
    numbers: dict[Any, dict[Any, int]] = defaultdict(dict)
    spans = []
    for event in found:
        gpu, stream = place(event)
        number = numbers[gpu].setdefault(stream, len(numbers[gpu]) + 1)
        # A copy within the GPU's memory is work: it does not use the way between host and GPU.
        copies = event["cat"] == "gpu_memcpy" and "DtoD" not in event["name"]
        lane = f"GPU cuda:{gpu} " if several else "GPU "
        name = _queued_in(launches.get(event.get("args", {}).get("correlation")), marks)
        lane += f"stream {number} {'copy' if copies else 'work'}"
        spans.append(Span(lane, name or _short(event), float(event["ts"]), _end(event)))
    order = {lane: place for place, lane in enumerate(sorted({span.lane for span in spans}, key=_natural))}
    return sorted(spans, key=lambda span: order[span.lane])


def _natural(lane: str) -> list[Any]:
    """Sort ``stream 10`` after ``stream 2``."""
    return [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in lane.split()]


def _queued_in(launch: dict[str, Any] | None, marks: list[dict[str, Any]]) -> str | None:
    """Return the name of the innermost mark around `launch`, if there is one."""
    if launch is None:
        return None
    around = [mark for mark in marks if mark["ts"] <= launch["ts"] <= _end(mark)]
    # The GPU's tracer does not know the number of a thread in which the profiler was not started: then the mark
    # must be the only one at that moment.
    mine = [mark for mark in around if mark["tid"] == launch["tid"]]
    known = {mark["tid"] for mark in marks}
    if not mine and launch["tid"] not in known and len({mark["tid"] for mark in around}) == 1:
        mine = around
    return str(max(mine, key=lambda mark: mark["ts"])["name"]) if mine else None


def _short(event: dict[str, Any]) -> str:
    """Return a GPU event's name without types and arguments; of a copy, the direction."""
    name = str(event["name"])
    if event["cat"] == "gpu_memcpy":
        words = name.split()
        return " ".join(["copy", *words[1:2], *(["pageable"] if "Pageable" in name else [])])
    if event["cat"] == "gpu_memset":
        return "memset"
    return name.removeprefix("void ").split("<")[0].split("(")[0].split("::")[-1].strip() or name


def save(what: Timeline | Callable[[], Any], path: str | os.PathLike[str]) -> Path:
    """Write the profiler's own trace for an external viewer (ui.perfetto.dev, chrome://tracing).

    Args:
        what: A recorded timeline, or an action to record now.
        path: Ends in ``.json`` or, packed, in ``.json.gz``; both are understood by the viewers.

    Returns:
        The file's path.

    Raises:
        ValueError: Another ending, or the timeline is one of another machine or of a model, without a trace.
    """
    target = Path(path)
    if not target.name.endswith((".json", ".json.gz")):
        raise ValueError(f"save(…, {target.name!r}): the name must end in .json or .json.gz.")
    timeline = what if isinstance(what, Timeline) else record(what)
    if timeline.trace is None:
        raise ValueError(
            "this timeline was not recorded here, so there is no trace of it; use record() first."
        )
    packed = target.name.endswith(".gz")
    target.write_bytes(timeline.trace if packed else gzip.decompress(timeline.trace))
    return target


# --- drawing ------------------------------------------------------------------------------------------

COLOURS = {
    "work": figures.YOURS,
    "copy": figures.THIRD,
    "wait": "#E69F00",
    "launch": "#5F6B76",
    "python": "#9AA6B0",
}
_OTHERS = (figures.FOURTH, "#56B4E9", figures.RECORDED, "#8C6D31", "#7F7F7F")
TOGETHER = "#F0E442"  # shading of the time in which both lanes are busy
_INCHES = 6.0  # about the width of the drawing area: which names fit


def _kind(span: Span) -> str:
    """Return what gives a span its colour: in a GPU's lane the lane, else the name's first word."""
    words = span.lane.split()
    if words[:1] == ["GPU"] and words[-1] in ("work", "copy"):
        return words[-1]
    return next(iter(span.name.lower().split()), "")


def _ink(colour: str) -> str:
    """Return black or white, whichever can be read on `colour`."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else "#111"


def panels(rows: Sequence[int]) -> tuple[Figure, Sequence[Any]]:
    """Return a figure and its axes, one above the other, with room for so many `rows` each (see :func:`draw`)."""
    heights = [min(0.2 + 0.34 * count, 2.3) for count in rows]
    with mpl.rc_context(figures.style()):
        figure = Figure(figsize=(7.6, sum(heights) + 0.6 * len(rows)), layout="constrained")
        return figure, figure.subplots(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]


def draw(
    axes: Any,
    timeline: Timeline,
    *,
    lanes: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    shade: Sequence[str] = (),
    until: float | None = None,
    legend: Sequence[Any] = (),
) -> None:
    """Draw a timeline into `axes`: a row per lane, a bar per span, its name where it fits.

    Args:
        axes: From :func:`panels`.
        timeline: What to draw.
        lanes: The rows from top to bottom; all lanes if empty. One without spans stays empty.
        labels: What stands beside a lane, if not its name.
        shade: Two lanes; the time in which both are busy is shaded.
        until: Right end of the axis in seconds.
        legend: What else to explain above the picture (lines, patches).
    """
    rows = list(lanes) or timeline.lanes()
    begin = min(span.start for span in timeline.spans)
    right = until or timeline.seconds() or 1e-9
    slack = 1e-6 * right  # what is shorter is rounding
    kinds = dict.fromkeys(_kind(span) for span in timeline.spans)
    others = iter(_OTHERS * len(kinds))
    colours = {kind: COLOURS.get(kind) or next(others) for kind in kinds}
    if len(shade) == 2:
        shared = _both(*timeline._pair(*shade))
        together = [(start - begin, end - start) for start, end in shared if end - start > slack]
        axes.broken_barh(
            together, (-0.5, len(rows)), facecolors=TOGETHER, alpha=0.45, zorder=0.5, linewidth=0
        )
        if together:
            label = "at the same time · 同時進行"
            legend = [*legend, Patch(facecolor=TOGETHER, alpha=0.45, label=label)]
    if legend:
        where = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderpad": 0.2, "ncols": len(legend)}
        axes.legend(handles=legend, **where, frameon=False, fontsize=9)
    for row, lane in enumerate(rows):
        height = len(rows) - 1 - row
        spans = sorted((s for s in timeline.spans if s.lane == lane), key=lambda s: (s.start, -s.end))
        bars: dict[tuple[str, int, bool], list[Interval]] = defaultdict(list)
        around: list[float] = []  # ends of the bars in which the present one lies
        for span in spans:
            while around and around[-1] <= span.start + slack:
                around.pop()
            width = span.end - span.start
            # Bars with an edge can be told from their neighbours; the shortest would be all edge.
            key = (_kind(span), min(len(around), 2), width > 0.008 * right)
            bars[key].append((span.start - begin, max(width, 0.0015 * right)))
            around.append(span.end)
        for (kind, depth, edged), intervals in bars.items():
            axes.broken_barh(
                intervals,
                (height - 0.37, 0.74 * 0.62**depth),  # what is nested is drawn lower: both stay visible
                facecolors=colours[kind],
                edgecolor="white" if edged else "none",
                linewidth=0.8 if edged else 0,
                zorder=2 + depth,
            )
        _write_names(axes, spans, height, begin, _INCHES / right, colours, slack)
    axes.set_xlim(0, right * 1.005)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.set_yticks(range(len(rows)), [(labels or {}).get(lane, lane) for lane in reversed(rows)])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(6))
    axes.xaxis.set_major_formatter(ticker.EngFormatter("s"))
    axes.grid(visible=False, axis="y")


def _write_names(
    axes: Any,
    spans: list[Span],
    height: float,
    begin: float,
    scale: float,
    colours: dict[str, str],
    slack: float,
) -> None:
    """Write names where they fit: once for neighbours of the same name, and not over what is nested."""
    runs: list[list[Span]] = []
    for span in spans:
        if runs and runs[-1][-1].name == span.name and span.start >= runs[-1][-1].end - slack:
            runs[-1].append(span)
        else:
            runs.append([span])
    for place, run in enumerate(runs):
        start, end = run[0].start, run[-1].end
        if place + 1 < len(runs) and runs[place + 1][0].start < end - slack:
            continue  # something is nested in it
        if _length((span.start, span.end) for span in run) < 0.85 * (end - start):
            continue  # more gap than bar to write on
        name = next(
            (t for t in (run[0].name, run[0].name.split(" ")[-1]) if _inches(t) < (end - start) * scale), ""
        )
        if name and name != run[0].name and not name.isdigit():
            continue  # half a name says nothing; a number does
        if name:
            axes.text(
                (start + end) / 2 - begin,
                height,
                name,
                ha="center",
                va="center",
                fontsize=8.5,
                color=_ink(colours[_kind(run[0])]),
                zorder=9,
                clip_on=True,
            )


def _inches(name: str) -> float:
    """Return about how wide `name` is drawn, with a margin."""
    return 0.04 + sum(0.12 if ord(character) > 0x2E7F else 0.072 for character in name)


def picture(timeline: Timeline, recorded: Mapping[str, Any] | None, caption: Bilingual) -> figures.Picture:
    """Build the picture of :func:`show` (pure).

    Args:
        timeline: What ran here.
        recorded: What :func:`evidence.recorded` returned, drawn below, or None.
        caption: What the reader should look for.
    """
    both = [(timeline, "")]
    if recorded:
        both.append((Timeline.from_json(recorded), figures.RECORDED_LABEL))
    figure, parts = panels([len(part.lanes()) for part, _ in both])
    for axes, (part, title) in zip(parts, both, strict=True):
        pair = part.busiest()
        draw(axes, part, shade=pair if len(pair) == 2 else ())
        if title:
            axes.set_title(title, loc="left")
    here = _numbers(timeline.to_json(most=0))
    if any(lane.startswith("GPU") for lane in timeline.lanes()):
        source = Bilingual("The GPU is this machine's own.", "GPU 就是這台機器的。")
    elif recorded:
        there = _numbers(recorded)
        source = Bilingual(
            f"Below, recorded on {recorded['run']}: {there.en}.",
            f"下圖是 GPU 參考，{recorded['run']}：{there.zh}。",
        )
    else:
        source = figures.recording(None)
    return figures.Picture(
        figure,
        Bilingual(
            f"{caption.en} Here: {measured(here.en)}. {measured(source.en)}",
            f"{caption.zh}這台機器：{measured(here.zh)}。{measured(source.zh)}",
        ),
        Bilingual(
            "Timeline: a row per thread of the host and per stream of the GPU, a bar for each stretch of work.",
            "時間軸：主機的每個執行緒、GPU 的每條串流各一列，忙碌的時段畫成長條。",
        ),
    )


def _numbers(values: Mapping[str, Any]) -> Bilingual:
    """Return what was recorded as `values`, in a few words."""
    total = figures.duration(values["seconds"])
    if values["overlap_share"] is None:
        return Bilingual(f"{total} in all", f"共 {total}")
    one, other = values["pair"]
    share = f"{values['overlap_share']:.0%}"
    return Bilingual(
        f"{total} in all; {one} and {other} overlap for {share} of the shorter one's time",
        f"共 {total}；{one} 與 {other} 重疊的時間，占較短一方的 {share}",
    )


def show(name: str, timeline: Timeline) -> None:
    """Show a timeline; without a GPU, the recorded GPU's timeline of the same name below it.

    Args:
        name: The figure's name: for its caption in ``course_utils/texts``, and for the recording.
        timeline: What :func:`record` returned.

    Raises:
        ValueError: There is no text for `name`.
    """
    from IPython.display import display

    found = text("figure", name)
    evidence.note("curve", name, timeline.to_json())
    traces = os.environ.get("COURSE_TRACES")  # a folder for whole traces, for looking at them in a viewer
    if traces and timeline.trace is not None:
        save(timeline, Path(traces) / f"{name}.json.gz")
    recorded = None if torch.cuda.is_available() else evidence.recorded(name)
    display(picture(timeline, recorded, Bilingual(found["en"], found["zh"])))
