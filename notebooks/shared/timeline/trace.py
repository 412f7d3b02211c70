"""Turn a Chrome trace, as PyTorch's profiler writes it, into a timeline.

An event of such a trace, times in microseconds::

    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 71, "tid": 71, "ts": 1832.5, "dur": 41.2, "args": {...}}

``cat`` is ``user_annotation`` for marks, ``cpu_op`` for PyTorch's operations, ``cuda_runtime`` for calls of the CUDA
runtime, and ``kernel``, ``gpu_memcpy`` or ``gpu_memset`` for what the GPU did. The ``correlation`` among the arguments
connects a call of the runtime with what it started on the GPU.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from shared.timeline.spans import Span, Timeline

OWN = "shared.timeline"  # names of our own marks in a trace begin like this

Note = tuple[int, str, int, int]  # thread, name, start and end in nanoseconds of time.perf_counter_ns


def from_trace(
    trace: dict[str, Any],
    notes: Sequence[Note] = (),
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
    whole = own.get(f"{OWN} action")
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
    return str(event.get("name", "")).startswith(OWN)


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
