# ruff: noqa: D101, D102 (they are documented by PyTorch)
"""Streams, events and graphs in the place of the dummies that a CPU build has.

The first two are PyTorch's own classes for all backends. They also report to `torch.cuda._gpu_trace`, as the real ones
do, so that PyTorch's detector of races works.
"""

import ctypes

import torch
from torch.cuda import _gpu_trace

from tools.cuda_standin import driver

EVENTS = ("EventCreation", "EventRecord", "EventWait", "EventSynchronization")
STREAMS = ("StreamCreation", "StreamSynchronization", "DeviceSynchronization")
FIRE = {name: getattr(_gpu_trace, f"{name}Callbacks").fire_callbacks for name in EVENTS + STREAMS}
_capturing: set[int] = set()  # graphs


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.event = torch.Event(torch.device("cuda", driver.library.standin_device()), enable_timing=True)
        self.timed, self.recorded = enable_timing, False
        FIRE["EventCreation"](id(self))

    def query(self):
        return self.event.query()

    def record(self, stream=None):
        stream = torch.cuda.current_stream() if stream is None else stream
        self.recorded = True
        self.event.record(stream)
        FIRE["EventRecord"](id(self), stream.stream_id)

    def wait(self, stream=None):
        stream = torch.cuda.current_stream() if stream is None else stream
        self.event.wait(stream)
        FIRE["EventWait"](id(self), stream.stream_id)

    def synchronize(self):
        self.event.synchronize()
        FIRE["EventSynchronization"](id(self))

    def elapsed_time(self, end_event):
        if not (self.timed and end_event.timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.recorded and end_event.recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return self.event.elapsed_time(end_event.event)


class Stream(torch.Stream):
    def __new__(cls, device=None, priority=0, **kwargs):
        if kwargs:
            return super().__new__(cls, **kwargs)
        i = torch.cuda._utils._get_device_index(device, optional=True)
        stream = super().__new__(cls, device=torch.device("cuda", i), priority=priority)
        FIRE["StreamCreation"](stream.stream_id)
        return stream

    def __init__(self, *_, **__):
        pass

    @property
    def cuda_stream(self):
        return self.stream_id

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        event.wait(self)

    def wait_stream(self, stream):
        self.wait_event(Stream.record_event(stream))

    def synchronize(self):
        super().synchronize()
        FIRE["StreamSynchronization"](self.stream_id)


class CUDAGraph:
    def capture_begin(self, *_, **__):
        _capturing.add(id(self))
        driver.library.standin_graph_begin(ctypes.c_int64(id(self)))

    def capture_end(self):
        driver.library.standin_graph_end()
        _capturing.clear()

    def replay(self):
        driver.library.standin_graph_replay(ctypes.c_int64(id(self)))

    def reset(self):
        driver.library.standin_graph_reset(ctypes.c_int64(id(self)))

    __del__ = reset

    def pool(self):
        return (0, id(self))


def replace() -> None:
    """Put the classes into `torch.cuda`."""
    torch.cuda.is_current_stream_capturing = lambda: bool(_capturing)
    for owner in (torch.cuda, torch.cuda.streams, torch.cuda.graphs):
        owner.Stream, owner.Event, owner.CUDAGraph = Stream, Event, CUDAGraph
    wait = torch.cuda.synchronize

    def synchronize(device=None):
        wait(device)
        FIRE["DeviceSynchronization"]()

    torch.cuda.synchronize = synchronize
