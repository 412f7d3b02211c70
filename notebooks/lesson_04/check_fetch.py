"""Exercise: read the result of a non-blocking copy in time, checked with a simulated stream."""

from __future__ import annotations

import html
from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import NO_RETURN, NotYet, Wrong
from course_utils.tables import html_table

RESULT = [1.0, 2.0, 3.0]
_STREAM_WAITS = {
    "en": "`wait_event` and `event.wait` make a **stream** wait; the host goes on. Here the host has to wait: "
    "`event.synchronize()`.",
    "zh": "`wait_event` 和 `event.wait` 只會讓**串流**等，主機則繼續往下執行。這裡要讓主機等，也就是呼叫 `event.synchronize()`。",
}


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
        raise Wrong(**_STREAM_WAITS)


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
        raise Wrong(**_STREAM_WAITS)

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


def _run(answer: Any) -> tuple[Any, FakeCopyStream, list[str]]:
    """Run `answer`; return its result, the stream, and the order of: copy, other work, waits and reading."""
    stream = FakeCopyStream()
    host = FakePinned(stream)

    def other_work() -> None:
        stream.log.append("work")
        stream.queued.append(lambda: None)

    got = answer(list(RESULT), host, stream, other_work)
    return got, stream, stream.log


def examine_fetch(answer: Any) -> None:
    """Examine ``fetch(result, host, stream, launch_more) -> list``."""
    got, stream, log = _run(answer)
    if got is None:
        raise Wrong(**NO_RETURN)
    if "copy and wait" in log:
        raise Wrong(
            en="Without `non_blocking=True` the host waits inside `copy_`, before it has launched anything more.",
            zh="沒有 `non_blocking=True`，主機會卡在 `copy_` 裡等，後面的工作都還沒啟動。",
        )
    if log.count("copy") != 1 or log.count("work") != 1:
        raise Wrong(
            en="Copy once, and call `launch_more()` once, as the stub does.",
            zh="`copy_` 和 `launch_more()` 應該各呼叫一次，和原本的程式一樣。",
        )
    if got == [0.0, 0.0, 0.0]:
        if "event" not in log:
            raise NotYet(
                en="Not yet: you read zeros, because the copy has not begun. Record an event behind it, and wait for that.",
                zh="還沒完成：複製還沒開始，所以讀到的都是 0。請在複製後面記錄一個事件，再等這個事件。",
            )
        raise Wrong(
            en="You read zeros: the event stands before the copy, or the host did not wait for it before reading.",
            zh="讀到的都是 0，可能是事件排在複製前面，也可能是主機讀取之前沒有等這個事件。",
        )
    if got != RESULT:
        raise Wrong(
            en=f"The result is {RESULT}; you return {got!r:.60}.",
            zh=f"結果應該是 {RESULT}，你傳回的是 {got!r:.60}。",
        )
    if "wait all" in log or stream.done > 1:
        raise Wrong(
            en="Right numbers, but the host waits for the work behind the copy as well. Record the event directly after the copy, "
            "and wait for it only.",
            zh="數字對了，但主機連複製後面的工作都一起等了。請在複製之後馬上記錄事件，而且只等這個事件。",
        )
    if "read" not in log:
        raise Wrong(
            en="Read from `host`, where the copy goes: on a GPU, reading `result` itself would wait for everything.",
            zh="請從 `host` 讀取，那才是複製的目的地。在 GPU 上，直接讀 `result` 會等到所有工作做完。",
        )
    if log.index("work") > next(i for i, entry in enumerate(log) if entry.startswith("wait")):
        raise Wrong(
            en="Right numbers, but the host waits first and launches the next work only afterwards: the GPU runs dry. "
            "Wait as late as you can.",
            zh="數字對了，但主機先等，之後才啟動下一份工作，GPU 就沒事做了。請盡量晚一點再等。",
        )


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


def show_fetch(answer: Any) -> Block:
    """Return a table of what the host did, in order, and what was read."""
    got, _, log = _run(answer)
    rows = [(str(n), _SAID[entry].html()) for n, entry in enumerate(log, 1)]
    last = Bilingual("your function returns", "你的函式傳回")
    rows.append(("", f"{last.html()} <code>{html.escape(repr(got)[:80])}</code>"))
    return Block(
        html_table(rows),
        "\n".join([*(f"{n} {_SAID[entry]}" for n, entry in enumerate(log, 1)), f"{last}: {repr(got)[:80]}"]),
    )
