"""Record a timeline with PyTorch's profiler, and save its trace."""

import gzip
import json
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function, supported_activities

from course_utils.measure import synchronize
from shared.timeline import practice
from shared.timeline.spans import Timeline
from shared.timeline.trace import OWN, Note, from_trace

# Some releases of the profiler log every start and stop to the terminal, past Python's own stderr. The variable is
# read when the first profiler of the process starts; 99 is above every level there is.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")


@dataclass
class _Recording:
    """What the recording in progress collects besides the profiler's own trace."""

    thread: int
    notes: list[Note] = field(default_factory=list)


_current: _Recording | None = None
_busy = threading.Lock()


@contextmanager
def mark(name: str) -> Iterator[None]:
    """Name a stretch of code, so that it becomes a span of that name: ``with mark("copy 0"): …``.

    Works in every thread. `torch.profiler.record_function`, which is called as well, is seen only in the thread that
    started the profiler; for the others the times are taken here. What is queued on a GPU inside the mark gets its
    name, too.

    Args:
        name: Short; the first word is its kind and gives the colour.

    Yields:
        Nothing; it is a context manager.
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
    name = f"{OWN} {number}"
    before = time.perf_counter_ns()
    with record_function(name):
        after = time.perf_counter_ns()
    return after - before, name, (before + after) // 2


def record(action: Callable[[], Any], *, warm_up: int = 1) -> Timeline:
    """Run `action` under PyTorch's profiler and return what was busy when.

    Lanes: ``host 1``, ``host 2`` … are threads, in order of appearance; their spans are the marks (see :func:`mark`)
    if there are any, else the outermost PyTorch operations, and waits for the GPU outside of both. ``GPU stream 1
    work`` and ``GPU stream 1 copy`` are what one stream computed and what it copied between host and GPU; a span
    has the name of the mark in which it was queued, else its own. Other processes, such as the workers of a
    DataLoader, are not seen. The profiler makes each operation some microseconds longer. What practice GPUs did comes
    from their log instead; ``host 1`` are then the host's waits, and the times are modelled.

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
    for _ in range(warm_up):
        action()
    if (modelled := practice.recorded(action)) is not None:
        return modelled
    if torch.autograd._profiler_enabled() or not _busy.acquire(blocking=False):
        raise RuntimeError(
            "a profiler is already running, and PyTorch has only one: leave its `with` block, or call its stop(), "
            "before timeline.record()."
        )
    try:
        synchronize()
        profiler = _started()
        try:
            if torch.cuda.is_available():
                # The first launch under a profiler is slow. And in the k-th session of a process some releases lose
                # the first k kernels (pytorch#192021), so lose some that nobody looks at.
                one = torch.zeros(1, device="cuda")
                for _ in range(32):
                    one.add_(1)
                synchronize()
            _, anchor, moment = min(_anchor(number) for number in range(5))  # the least uncertain one
            _current = recording = _Recording(threading.get_native_id())
            with record_function(f"{OWN} action"):
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


def save(timeline: Timeline, path: str | os.PathLike[str]) -> Path:
    """Write the profiler's own trace for an external viewer (ui.perfetto.dev, chrome://tracing).

    Args:
        timeline: What :func:`record` returned.
        path: Ends in ``.json`` or, packed, in ``.json.gz``; both are understood by the viewers.

    Returns:
        The file's path.

    Raises:
        ValueError: Another ending, or the timeline is one of another machine or of a model, without a trace.
    """
    target = Path(path)
    if not target.name.endswith((".json", ".json.gz")):
        raise ValueError(f"save(…, {target.name!r}): the name must end in .json or .json.gz.")
    if timeline.trace is None:
        raise ValueError(
            "this timeline has no trace: it is another machine's, or a practice GPU's; use record() on a CUDA GPU."
        )
    packed = target.name.endswith(".gz")
    target.write_bytes(timeline.trace if packed else gzip.decompress(timeline.trace))
    return target
