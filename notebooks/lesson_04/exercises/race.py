"""Exercise ``two_batches(copy, work, images, batch, loss, host)``: place the missing waits between two streams."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistake, Mistakes, NotYet
from course_utils.lesson_gpus import ready
from shared import timeline
from shared.timeline.picture import picture

_COPY, _TRAIN = [("copy_", "copy")], [("mm", "work"), ("sum", "work"), ("add_", "work")]
PROGRAM = [*_COPY, *_TRAIN, *_COPY, *_TRAIN, *_COPY]  # the operations and their streams
# Which two operations use one memory: the first one's name, the second one's, the memory, and what goes wrong.
CONFLICTS = {
    (0, 1): ("load A", "train A", "batch", "read_too_early"),
    (1, 4): ("train A", "load B", "batch", "overwritten"),
    (4, 5): ("load B", "train B", "batch", "read_too_early"),
    (7, 8): ("train B", "fetch loss", "loss", "read_too_early"),
}


class _OneSlow(TorchDispatchMode):
    """Makes one operation slow, and leaves open whether another one waits for it; all others are in order.

    Args:
        streams: The streams by name.
        first: The place of the slow operation in the program.
        second: The place of the other one.

    Attributes:
        seen: The operations so far, with their streams.
        host_waited: Whether the host let the first one end before it launched the second.
    """

    def __init__(self, streams: dict[str, Any], first: int, second: int) -> None:
        super().__init__()
        self.gpu, self.streams = torch.get_device_module(ready()[0]), streams
        self.first, self.second, self.end = first, second, self.gpu.Event()
        self.seen: list[tuple[str, str]] = []
        self.host_waited = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and note it."""
        place, here = len(self.seen), self.gpu.current_stream()
        if place == self.second:
            self.host_waited = self.end.query()
        if not self.first < place <= self.second:
            self.gpu.synchronize()
        if place == self.first:
            self.gpu._sleep(100_000_000)
        result = func(*args, **(kwargs or {}))
        if place == self.first:
            self.end.record()
        name = next((name for name, stream in self.streams.items() if stream == here), "default")
        self.seen.append((func.overloadpacket.__name__, name))
        return result


def _given(n: int) -> tuple[dict[str, Any], list[Any]]:
    """Return two new streams by name, and the memory that the program uses; a batch is n x n."""
    (device,) = ready()
    gpu = torch.get_device_module(device)
    images = [torch.full((n, n), float(k)).pin_memory() for k in (1, 2)]
    batch, loss = torch.zeros(n, n, device=device), torch.zeros((), device=device)
    streams = {"copy": gpu.Stream(), "work": gpu.Stream()}
    gpu.synchronize()
    for stream in streams.values():  # CUDA prepares a stream's first product, and all others wait for that
        with gpu.stream(stream):
            loss += (batch @ batch).sum()  # still 0
    gpu.synchronize()
    return streams, [images, batch, loss, torch.zeros(()).pin_memory()]


def _call(answer: Any, streams: dict[str, Any], memory: list[Any]) -> None:
    try:
        answer(*streams.values(), *memory)
    except AttributeError as error:
        keys = {"wait": "no_event", "record_event": "no_stream"}  # what PyTorch asks of the wrong object
        if error.name in keys:
            raise Mistake(keys[error.name]) from None
        raise


def judge(answer: Any) -> Mistakes:
    """Make one operation after the other slow, and look whether the one that needs it waits."""
    races = []
    for first, second in CONFLICTS:
        streams, memory = _given(n := 32)
        with _OneSlow(streams, first, second) as run:
            _call(answer, streams, memory)
        run.gpu.synchronize()
        yield run.seen != PROGRAM, "other_steps"
        yield run.host_waited, "host_waits"
        if memory[-1].item() != n**3 * (1 + 4):
            races.append(CONFLICTS[first, second])
    if len(races) == len(CONFLICTS):
        raise NotYet
    for first, second, memory, key in races:
        yield True, key, {"first": first, "second": second, "memory": memory}


def show(answer: Any) -> figures.Picture:
    """Draw what both streams did."""
    streams, memory = _given(512)  # a copy takes about as long as a product
    recorded = timeline.record(lambda: _call(answer, streams, memory), warm_up=0)
    caption = Bilingual("What your two streams did, and when.", "你的兩條串流各在什麼時候做了什麼。")
    return picture(recorded, None, caption)
