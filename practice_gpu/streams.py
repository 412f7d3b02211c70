"""Streams and events, and which stream and device a thread has chosen, in the words of ``torch.cuda``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from practice_gpu import Seconds
from practice_gpu.simulation import Key, Work
from practice_gpu.state import NAME, state

_PRIVATE_USE = 20  # PyTorch's number of this type of device
_numbers = itertools.count(1)


class Stream(torch.Stream):
    """A queue of work for one device; two streams are in no order unless an event or a wait orders them.

    Args:
        device: The practice GPU; the current one without it.
        priority: Accepted as in ``torch.cuda.Stream``; all streams are equal here.
    """

    def __new__(cls, device: Any = None, priority: int = 0, **given: Any) -> Stream:
        """Make a stream, or with `stream_id` the object for one that exists."""
        number = given["stream_id"] if "stream_id" in given else next(_numbers)
        index = state.index(given.get("device_index", device))
        return super().__new__(cls, stream_id=number, device_index=index, device_type=_PRIVATE_USE)

    def __init__(self, *given: Any, **named: Any) -> None:
        self._before: list[Key] = []

    @property
    def _key(self) -> Key:
        return self.device_index, self.stream_id

    @property
    def _last(self) -> list[Work]:
        work = state.machine.queues[self._key].last
        return [work] if work else []

    def synchronize(self) -> None:
        """Let the host wait for all work in the stream."""
        with state.lock:
            state.wait(self._last, "Stream.synchronize", self.device_index, asked=True)

    def query(self) -> bool:
        """Return whether all work in the stream is done."""
        return _done(self._last, self.device_index)

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event that happens when the work that is in the stream now is done."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work in this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work in this stream wait for what is in another stream now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        """Make the stream, and its device, the current ones."""
        self._before += state.key(state.chosen.device), state.key(self.device_index)
        set_stream(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Go back to the stream and the device from before."""
        for device, number in (self._before.pop(), self._before.pop()):
            state.chosen.device, state.chosen.streams[device] = device, number


class Event:
    """A point in a stream.

    Args:
        device: Accepted as in ``torch.Event``; an event belongs to the device of the stream that records it.
        enable_timing: Whether `elapsed_time` may ask when it happened.
        blocking: Accepted as in ``torch.cuda.Event``, and without effect.
        interprocess: Not possible here.

    Raises:
        NotImplementedError: `interprocess` is asked for.
    """

    def __init__(
        self,
        device: Any = None,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        if interprocess:
            raise NotImplementedError("practice_gpu: events cannot be shared by processes")
        if isinstance(device, bool):  # torch.cuda.Event's first argument is enable_timing
            device, enable_timing = None, device
        self._timing = enable_timing
        self._work: list[Work] = []  # one, when it is recorded

    @property
    def _on(self) -> int:
        return self._work[0].key[0] if self._work else state.chosen.device

    @property
    def device(self) -> torch.device:
        """The device of the stream that recorded it."""
        return torch.device(NAME, self._on)

    @property
    def event_id(self) -> int:
        """A number that no other recorded event has; 0 before it is recorded."""
        return self._work[0].number if self._work else 0

    def record(self, stream: Stream | None = None) -> None:
        """Mark this point of a stream; of the current one without it."""
        with state.lock:
            self._work = [state.machine.event((stream or current_stream())._key)]

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work in a stream wait for the event; the host goes on."""
        with state.lock:
            state.machine.event((stream or current_stream())._key, self._work)

    def query(self) -> bool:
        """Return whether it has happened."""
        return _done(self._work, self._on)

    def synchronize(self) -> None:
        """Let the host wait for it."""
        with state.lock:
            state.wait(self._work, "Event.synchronize", self._on, asked=True)

    def elapsed_time(self, end_event: Event) -> Seconds:
        """Return the modelled milliseconds between two events.

        Raises:
            ValueError: One of them was made without ``enable_timing=True``, or is not recorded.
            RuntimeError: One of them has not happened.
        """
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._work and end_event._work):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return Seconds((end_event._work[0].end - self._work[0].end) * 1e3)


def _done(works: list[Work], device: int) -> bool:
    with state.lock:
        state.machine.now += state.profile.launch  # a loop that asks again and again must come to an end
        done = all([state.machine.done(work) for work in works])
        state.check(device)
        return done


def current_stream(device: Any = None) -> Stream:
    """Return the stream that this thread's work for a device goes to."""
    index = state.index(device)
    return Stream(index, stream_id=state.key(index)[1])


def set_stream(stream: Stream) -> None:
    """Let this thread's work go to a stream, and make its device the current one."""
    state.chosen.device, state.chosen.streams[stream.device_index] = stream._key


@contextmanager
def stream_context(stream: Stream | None) -> Iterator[None]:
    """Let the work of a block go to a stream; to the current one for None."""
    with stream or current_stream():
        yield


@contextmanager
def on_device(device: Any) -> Iterator[None]:
    """Let a device be the current one in a block; negative numbers and None change nothing."""
    before = exchange_device(-1 if device is None else device)
    try:
        yield
    finally:
        state.chosen.device = before


def exchange_device(device: Any) -> int:
    """Make a device the current one, unless its number is negative, and return the one before."""
    before = state.chosen.device
    if not (isinstance(device, int) and device < 0):
        state.chosen.device = state.index(device)
    return before


def synchronize(device: Any = None) -> None:
    """Let the host wait for all work of a device."""
    with state.lock:
        index = state.index(device)
        state.wait(state.last([index]), "synchronize", index, asked=True)
