"""What ``torch.get_device_module("practice")`` offers, in the words of ``torch.cuda``."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from practice_gpu import memory
from practice_gpu.modelled import Seconds
from practice_gpu.operators import generators
from practice_gpu.simulation import Key, Work
from practice_gpu.state import NAME, state

_PRIVATE_USE = 20  # PyTorch's number of this type of device
_numbers = itertools.count(1)
_TICKS = 1.5e9  # of the processor's clock, per second: what `_sleep` counts


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
        work = state.machine.queue(self._key).last
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
        self._before.append(state.key(state.chosen.device))
        self._before.append(state.key(self.device_index))
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
        self._timing, self._work = enable_timing, None

    @property
    def device(self) -> torch.device:
        """The device of the stream that recorded it."""
        return torch.device(NAME, self._work.key[0] if self._work else state.chosen.device)

    def record(self, stream: Stream | None = None) -> None:
        """Mark this point of a stream; of the current one without it."""
        with state.lock:
            self._work = state.machine.submit("event", "", (stream or current_stream())._key)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work in a stream wait for the event; the host goes on."""
        if self._work is not None:
            with state.lock:
                state.machine.submit("event", "", (stream or current_stream())._key, after=[self._work])

    def query(self) -> bool:
        """Return whether it has happened."""
        return self._work is None or _done([self._work], self._work.key[0])

    def synchronize(self) -> None:
        """Let the host wait for it."""
        if self._work is not None:
            with state.lock:
                state.wait([self._work], "Event.synchronize", self._work.key[0], asked=True)

    def elapsed_time(self, end_event: Event) -> Seconds:
        """Return the modelled milliseconds between two events.

        Raises:
            ValueError: One of them was made without ``enable_timing=True``.
            RuntimeError: One of them has not happened.
        """
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._work and end_event._work):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return Seconds((end_event._work.end - self._work.end) * 1e3)


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
    if stream is None:
        yield
    else:
        with stream:
            yield


@contextmanager
def on_device(device: Any) -> Iterator[None]:
    """Let a device be the current one in a block; negative numbers and None change nothing."""
    before = state.chosen.device
    if device is not None and device != -1:
        state.chosen.device = state.index(device)
    try:
        yield
    finally:
        state.chosen.device = before


def exchange_device(device: int) -> int:
    """Make a device the current one, unless it is negative, and return the one before."""
    before = state.chosen.device
    if device >= 0:
        state.chosen.device = state.index(device)
    return before


def synchronize(device: Any = None) -> None:
    """Let the host wait for all work of a device."""
    with state.lock:
        index = state.index(device)
        state.wait(state.last([index]), "synchronize", index, asked=True)


def sleep(ticks: int) -> None:
    """Let the current stream be busy with one small kernel, as ``torch.cuda._sleep`` does."""
    with state.lock:
        state.launch("kernel", "spin", state.key(state.chosen.device), ticks / _TICKS, share=1e-6)


def counted(name: str) -> Any:
    """Return a function that returns one of the counts of a device's memory."""

    def get(device: Any = None) -> int:
        with state.lock:
            memory.reap()
            return getattr(memory.statistics[state.index(device)], name)

    return get


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks of a device be what it holds now."""
    memory.reap()
    memory.statistics[state.index(device)].reset_peaks()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the bytes of a device by the names that PyTorch gives them."""
    memory.reap()
    found = memory.statistics[state.index(device)]
    pairs = (
        ("allocated", found.allocated, found.allocated_peak),
        ("reserved", found.reserved, found.reserved_peak),
    )
    stats = {
        f"{name}_bytes.all.{when}": n
        for name, *both in pairs
        for when, n in zip(("current", "peak"), both, strict=True)
    }
    return {**stats, "num_ooms": found.ooms}


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and all bytes of a device."""
    return state.memory - counted("reserved")(device), state.memory


def seed_all(seed: int) -> None:
    """Begin the random numbers of all devices anew."""
    for generator in generators:
        generator.manual_seed(seed)


def set_sync_debug_mode(mode: int | str) -> None:
    """Say what happens where the host waits although nobody asked it to.

    Args:
        mode: ``"default"``, ``"warn"`` or ``"error"``, or 0, 1, 2.

    Raises:
        ValueError: It is none of these.
    """
    names = ("default", "warn", "error")
    if mode not in (*names, 0, 1, 2):
        raise ValueError(f"the sync debug mode is one of {', '.join(names)} or 0, 1, 2, not {mode!r}")
    state.sync_debug = names.index(mode) if isinstance(mode, str) else mode


def properties(device: Any = None) -> types.SimpleNamespace:
    """Return the name, the memory and the number of multiprocessors of a device."""
    state.index(device)
    name = f"practice GPU (modelled on {state.profile.name})"
    return types.SimpleNamespace(
        name=name,
        total_memory=state.memory,
        multi_processor_count=state.profile.multiprocessors,
        major=0,
        minor=0,
    )
