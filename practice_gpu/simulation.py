"""Streams, engines and the virtual clock: a simulation of discrete events that knows nothing of PyTorch.

A host puts work into streams. A stream runs its work one after the other; engines (compute, copies) are shared by the
streams of a device. What was put in before the host's clock reached its start can no longer be overtaken, so `run`
fixes starts in the order of time. The action of a piece of work (its effect on memory) is carried out when the host's
clock reaches the end of the work, never earlier: until then the host and other streams see the old values.
"""

import dataclasses
import heapq
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Key = tuple[int, int]  # device, stream
HOST: Key = (-1, 0)


class Entry(NamedTuple):
    """A line of the log: a kernel, a copy and its bytes, or a wait of the host (device -1); times in modelled seconds."""

    kind: str
    name: str
    device: int
    stream: int
    start: float
    end: float
    bytes: int = 0


@dataclasses.dataclass(slots=True, eq=False)
class Work:
    """A piece of work in a stream. What has a default below `bytes` is known once it is in the stream."""

    kind: str  # ``"kernel"``, ``"copy"`` or ``"event"``
    name: str  # what the log calls it
    key: Key  # its device and stream
    seconds: float = 0.0  # how long it runs
    # What of the device it shares with other streams: ``"compute"``, a direction of copies, or None.
    engine: str | None = None
    share: float = 1.0  # how much of the engine it fills (0 to 1)
    action: Callable[[], Any] | None = None  # what it does to memory
    after: "Sequence[Work]" = ()  # work of other streams that must have ended
    place: Any = None  # where the user's code asked for it
    held: Any = None  # what must stay alive until the action is over
    bytes: int = 0  # how much it copies
    # What has surely ended when it begins: the last order of other streams.
    known: Mapping[Key, int] = dataclasses.field(default_factory=dict)
    issued: float = 0.0  # when the host put it in
    number: int = 0  # its number among all work
    order: int = 0  # its number in its stream
    start: float | None = None  # when it begins; None while that is open
    end: float | None = None  # when it ends; None while that is open


class Queue:
    """A stream: the work that has not begun, and what the next piece of work can rely on."""

    def __init__(self) -> None:
        self.waiting: deque[Work] = deque()
        self.free, self.count = 0.0, 0
        self.last: Work | None = None
        self.known: Mapping[Key, int] = {}
        self.host: Mapping[Key, int] = {}


def merged(first: Mapping[Key, int], second: Mapping[Key, int]) -> Mapping[Key, int]:
    """Return what is known when both are; the first itself where the second adds nothing."""
    new = {key: order for key, order in second.items() if first.get(key, -1) < order}
    return {**first, **new} if new else first


class Machine:
    """The devices' queues and the host's clock; `perform` carries out the actions of work that has ended."""

    def __init__(self, perform: Callable[[list[Work]], None] | None = None) -> None:
        self.lock = threading.RLock()
        self.now = 0.0  # the host's clock, in seconds
        self.queues: defaultdict[Key, Queue] = defaultdict(Queue)  # the streams by device and number
        self.known: Mapping[Key, int] = {}  # what the host knows to have ended: the last order of each stream
        self.log: deque[Entry] = deque(maxlen=200_000)  # in the order of starts
        self.perform = perform or (lambda works: [work.action() for work in works])
        # Of an engine: ends and shares of its work, and the last start.
        self._busy: defaultdict[Any, list[tuple[float, float]]] = defaultdict(list)
        self._begun: defaultdict[Any, float] = defaultdict(float)
        self._ended: list[tuple[float, int, Work]] = []  # heap of work whose action is to be carried out
        self._number = 0

    def submit(self, work: Work) -> Work:
        """Put a piece of work into its stream, and return it; nothing runs yet."""
        queue = self.queues[work.key]
        if queue.host is not self.known:
            queue.host, queue.known = self.known, merged(queue.known, self.known)
        for other in work.after:
            queue.known = merged(queue.known, {**other.known, other.key: other.order})
        self._number += 1
        queue.count += 1
        work.known, work.issued, work.number, work.order = queue.known, self.now, self._number, queue.count
        queue.waiting.append(work)
        queue.last = work
        return work

    def event(self, key: Key, after: Sequence[Work] = ()) -> Work:
        """Put a point into a stream that takes no time; what comes later waits for `after`, too."""
        return self.submit(Work("event", "", key, after=after))

    def _start(self, work: Work, queue: Queue) -> tuple[float, float] | None:
        """Return when work at the head of its stream could begin, and from when on it waits for its engine only."""
        ready = max(work.issued, queue.free)
        for other in work.after:
            if other.end is None:
                return None
            ready = max(ready, other.end)
        if work.engine is None:
            return ready, ready
        engine = work.key[0], work.engine
        start = max(ready, self._begun[engine])  # starts are fixed in the order of time
        busy = sorted(item for item in self._busy[engine] if item[0] > start)
        used = sum(share for _, share in busy)
        for end, freed in busy:
            if used + work.share <= 1 + 1e-9:
                break
            start, used = end, used - freed
        return start, ready

    def advance(self, until: float, goal: Work | None = None) -> None:
        """Fix the start of all work that begins no later than `until`, or of all that begins before `goal` ends."""
        while goal is None or goal.end is None:
            best: tuple[float, float, int, Work, Queue] | None = None
            for queue in self.queues.values():
                if queue.waiting:
                    work = queue.waiting[0]
                    times = self._start(work, queue)
                    if times and (best is None or (*times, work.number) < best[:3]):
                        best = *times, work.number, work, queue
            if best is None or (goal is None and best[0] > until):
                return
            start, _, number, work, queue = best
            queue.waiting.popleft()
            work.start, work.end = start, start + work.seconds
            work.after, queue.free = (), work.end
            if work.engine is not None:
                engine = work.key[0], work.engine
                running = [item for item in self._busy[engine] if item[0] > start]
                self._begun[engine], self._busy[engine] = start, [*running, (work.end, work.share)]
            if work.kind != "event":
                self.log.append(Entry(work.kind, work.name, *work.key, start, work.end, work.bytes))
            if work.action is not None:
                heapq.heappush(self._ended, (work.end, number, work))

    def run(self, until: float | None = None) -> None:
        """Carry out everything that ends no later than `until`, without it: than the host's clock."""
        until = self.now if until is None else until
        self.advance(until)
        ended = self._ended
        while ended and ended[0][0] <= until:
            works = []
            while ended and ended[0][0] <= until:
                works.append(heapq.heappop(ended)[2])
            self.perform(works)
            for work in works:
                work.action = work.held = None

    def wait(self, works: Iterable[Work], name: str, seconds: float = 0.0) -> float:
        """Let the host wait for work, then carry out what has ended.

        Args:
            works: What to wait for.
            name: What the log calls the wait.
            seconds: What a wait costs the host in any case.

        Returns:
            How long the host stood still, in seconds.
        """
        start = self.now
        for work in works:
            self.advance(0.0, work)
            self.now = max(self.now, work.end)
            self.learn(work)
        self.now += seconds
        self.log.append(Entry("wait", name, *HOST, start, self.now))
        self.run()
        return self.now - start

    def learn(self, work: Work) -> None:
        """Let the host know that a piece of work has ended, and all that came before it."""
        self.known = merged(self.known, {**work.known, work.key: work.order})

    def done(self, work: Work | None) -> bool:
        """Return whether a piece of work has ended by the host's clock."""
        self.run()
        if work is None or work.end is None or work.end > self.now:
            return work is None
        self.learn(work)
        return True
