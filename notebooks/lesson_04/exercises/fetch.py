"""Exercise ``fetch(result, host, stream, launch_more) -> list``: read a non-blocking copy in time, from a simulated stream."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistake, Mistakes, NotYet
from course_utils.tables import table

RESULT = [1.0, 2.0, 3.0]


class FakeCopyEvent:
    """An event: it knows how much of the stream's work lies before it."""

    def __init__(self, stream: FakeCopyStream) -> None:
        self._stream, self.position = stream, len(stream.queued)

    def synchronize(self) -> None:
        """Let the host wait: the stream's work up to the event gets done."""
        self._stream.log.append("wait event" if self.position else "wait empty")
        self._stream.advance(self.position)

    def query(self) -> bool:
        """Return whether the event has passed; time goes on with each question, so that asking again is a wait."""
        self._stream.log.append("wait query")
        self._stream.advance(min(self.position, self._stream.done + 1))
        return self._stream.done >= self.position

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait, which is no wait of the host."""
        raise Mistake("stream_waits")


class FakeCopyStream:
    """A stream whose work is only done when somebody waits for it; it logs what the host does."""

    def __init__(self) -> None:
        self.queued: list[Any] = []
        self.done = 0
        self.log: list[str] = []

    def advance(self, position: int) -> None:
        """Do the queued work up to `position`."""
        for action in self.queued[self.done : position]:
            action()
        self.done = max(self.done, position)

    def record_event(self) -> FakeCopyEvent:
        """Return an event behind everything queued so far."""
        self.log.append("event")
        return FakeCopyEvent(self)

    def wait_event(self, event: FakeCopyEvent) -> None:
        """Let the stream wait, which is no wait of the host."""
        raise Mistake("stream_waits")

    def synchronize(self) -> None:
        """Let the host wait for everything, also for what was queued after the copy."""
        self.log.append("wait all")
        self.advance(len(self.queued))


class FakePinned:
    """Pinned memory of the host: zeros until a copy into it has been done."""

    def __init__(self, stream: FakeCopyStream) -> None:
        self._stream, self.values = stream, [0.0, 0.0, 0.0]

    def copy_(self, source: list[float], non_blocking: bool = False) -> FakePinned:
        """Queue the copy; without `non_blocking`, wait for it."""
        self._stream.log.append("copy" if non_blocking else "copy and wait")
        self._stream.queued.append(lambda: setattr(self, "values", list(source)))
        if not non_blocking:
            self._stream.advance(len(self._stream.queued))
        return self

    def tolist(self) -> list[float]:
        """Return what is there now; nobody waits."""
        self._stream.log.append("read")
        return list(self.values)


def _run(answer: Any) -> tuple[Any, FakeCopyStream]:
    """Run `answer`; return its result and the stream, which has logged copy, other work, waits and reading."""
    stream = FakeCopyStream()

    def launch_more() -> None:
        stream.log.append("work")
        stream.queued.append(lambda: None)

    return answer(list(RESULT), FakePinned(stream), stream, launch_more), stream


def judge(answer: Any) -> Mistakes:
    """Look for what was read too early, then for what was waited for too early or too long."""
    got, stream = _run(answer)
    log = stream.log
    yield got is None, "returned_none"
    yield "copy and wait" in log, "blocking"
    yield log.count("copy") != 1 or log.count("work") != 1, "not_once"
    zeros = got == [0.0, 0.0, 0.0]
    if zeros and "event" not in log:
        raise NotYet
    yield zeros, "zeros"
    yield got != RESULT, "other", {"right": RESULT, "got": got}
    yield "wait all" in log or stream.done > 1, "waits_for_all"
    waits = [place for place, entry in enumerate(log) if entry.startswith("wait")]
    yield "read" not in log or not waits, "not_from_host"
    yield log.index("work") > waits[0], "waits_first"


_SAID = {
    "copy": Bilingual("the copy is queued", "複製排進佇列"),
    "copy and wait": Bilingual(
        "the copy is queued, and the host waits for it", "複製排進佇列，主機等到複製完成"
    ),
    "event": Bilingual("an event is recorded", "記錄事件"),
    "work": Bilingual("more work is launched", "啟動其他工作"),
    "wait event": Bilingual("the host waits for the event", "主機等事件"),
    "wait empty": Bilingual(
        "the host waits for an event with nothing before it", "主機等事件，但事件前面沒有任何工作"
    ),
    "wait query": Bilingual("the host asks whether the event has passed", "主機查詢事件過了沒有"),
    "wait all": Bilingual("the host waits for everything", "主機等全部做完"),
    "read": Bilingual("the host reads", "主機讀取"),
}


def show(answer: Any) -> Block:
    """Return a table of what the host did, in order, and what was read."""
    got, stream = _run(answer)
    rows = [(str(n), _SAID[entry]) for n, entry in enumerate(stream.log, 1)]
    last = Bilingual("your function returns `{got}`", "你的函式傳回 `{got}`").format(got=repr(got)[:80])
    return table((), [*rows, ("", last)])


_HEAD = "def fetch(result, host, stream, launch_more):\n    "
_COPY = _HEAD + "host.copy_(result, non_blocking=True)\n    "
_MARK = _COPY + "copied = stream.record_event()\n    "
_READ = "\n    return host.tolist()"
WRONG = {
    "returned_none": _COPY + "launch_more()",
    "stream_waits": (
        _MARK + "launch_more()\n    stream.wait_event(copied)" + _READ,
        _MARK + "launch_more()\n    copied.wait()" + _READ,
    ),
    "blocking": _HEAD + "host.copy_(result)\n    launch_more()" + _READ,
    "not_once": _COPY + "return host.tolist()",
    "zeros": _HEAD + "copied = stream.record_event()\n    host.copy_(result, non_blocking=True)\n    "
    "launch_more()\n    copied.synchronize()" + _READ,
    "other": _COPY + "launch_more()\n    stream.synchronize()\n    return [1, 2, 3][:2]",
    "waits_for_all": (
        _COPY + "launch_more()\n    stream.synchronize()" + _READ,
        _COPY + "launch_more()\n    copied = stream.record_event()\n    copied.synchronize()" + _READ,
    ),
    "not_from_host": (
        _COPY + "launch_more()\n    return result",
        _COPY + "launch_more()\n    host.tolist()\n    return result",
    ),
    "waits_first": (
        _MARK + "while not copied.query():\n        pass\n    launch_more()" + _READ,
        _MARK + "copied.synchronize()\n    launch_more()" + _READ,
    ),
}
