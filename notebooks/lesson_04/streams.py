"""A stand-in for a CUDA stream where there is no GPU: the same methods, with one worker thread that does the work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any

import torch

LONGEST = 60.0  # seconds; a cell that was interrupted must not block later ones


class WorkerEvent:
    """A place in a queue; it has passed when the worker has reached it, or when `set` is called."""

    def __init__(self) -> None:
        self._passed = Event()

    def set(self) -> None:
        """Let all threads that wait for the event go on."""
        self._passed.set()

    def synchronize(self) -> None:
        """Let the caller wait for the event."""
        self._passed.wait(LONGEST)


class WorkerStream:
    """A queue with one worker thread: what is put in is done in order, one piece after the other.

    Its methods are those of `torch.cuda.Stream`, and `run` puts work in. (A CUDA stream gets its work from the operations
    inside of ``with torch.cuda.stream(s):``.)
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1)

    def run(self, action: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Put ``action(*arguments)`` into the queue and return at once."""
        return self._worker.submit(action, *arguments)

    def record_event(self) -> WorkerEvent:
        """Return an event that passes when everything queued so far is done."""
        event = WorkerEvent()
        self.run(event.set)
        return event

    def wait_event(self, event: WorkerEvent) -> None:
        """Let everything queued from now on wait for `event`; the caller does not wait."""
        self.run(event.synchronize)

    def wait_stream(self, other: WorkerStream) -> None:
        """Let everything queued from now on wait for all that `other` has been given so far."""
        self.wait_event(other.record_event())

    def synchronize(self) -> None:
        """Let the caller wait until everything is done."""
        self.record_event().synchronize()


def new_stream() -> Any:
    """Return a CUDA stream where there is a GPU, else its stand-in."""
    return torch.cuda.Stream() if torch.cuda.is_available() else WorkerStream()


def run(stream: Any, action: Callable[..., Any], *arguments: Any) -> None:
    """Call ``action(*arguments)`` so that its work goes to `stream`, a CUDA stream or its stand-in."""
    if isinstance(stream, torch.cuda.Stream):
        with torch.cuda.stream(stream):
            action(*arguments)
    else:
        stream.run(action, *arguments)


def times_seen(demo: Callable[[int], tuple[bool, bool]], tries: int = 8) -> int:
    """Return how often a bug was seen in some tries on a GPU; 0 if its cure failed once.

    Args:
        demo: Called with the GPU clock ticks for which something should be late; returns whether the bug was seen, and
            whether the result was right after the cure.
        tries: How often. Streams may share a hardware queue, and then a bug does not show: once is enough.
    """
    demo(1)  # kernels are loaded on first use, which can make all streams wait
    found = [demo(100_000_000) for _ in range(tries)]  # some 50 ms each
    return sum(bug for bug, _ in found) if all(cured for _, cured in found) else 0
