"""Exercise: a prefetcher as a generator, checked by the order of its copies and deliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Wrong
from shared import timeline
from shared.timeline import Span, Timeline


@dataclass(frozen=True)
class Ticket:
    """A copy under way."""

    number: int


class Copies:
    """Simulated copies that log the order in which they are started and waited for."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int]] = []

    def start_copy(self, batch: str) -> Ticket:
        """Start to copy `batch` and return at once."""
        number = int(batch.rsplit(" ", 1)[-1])
        self.log.append(("start", number))
        return Ticket(number)

    def wait(self, ticket: Ticket) -> str:
        """Wait for a copy and return the batch on the device."""
        if not isinstance(ticket, Ticket):
            raise Wrong(
                en=f"`wait` takes what `start_copy` returned, but you gave it a `{type(ticket).__name__}`.",
                zh=f"`wait` 要的是號碼牌，也就是 `start_copy` 傳回的東西，你給的卻是 `{type(ticket).__name__}`。",
            )
        self.log.append(("wait", ticket.number))
        return f"batch {ticket.number} on the device"


def _deliver(answer: Callable[..., Any], count: int) -> tuple[list[Any], list[tuple[str, int]]]:
    """Return what a prefetcher delivers for `count` batches, and the log with its deliveries."""
    copies = Copies()
    batches: Iterator[str] = (f"batch {number}" for number in range(count))
    try:
        given = answer(batches, copies.start_copy, copies.wait)
        if given is None:
            raise Wrong(
                en="Your function returned `None`. Use `yield` to hand out one batch after the other.",
                zh="你的函式傳回 `None`。要用 `yield` 一批一批交出去。",
            )
        delivered = []
        for batch in given:
            copies.log.append(("use", len(delivered)))
            delivered.append(batch)
            if len(delivered) > count:
                break
    except RuntimeError as error:
        if "StopIteration" not in str(error):
            raise
        raise Wrong(
            en="`next(…)` raises `StopIteration` when no batch is left, and a generator may not let that out. Loop with "
            "`for`, or give `next` a default: `next(batches, None)`.",
            zh="沒有下一批的時候，`next(…)` 會引發 `StopIteration`，產生器不能讓它傳到外面。改用 `for` 迴圈，或給 `next` 一個預設值：`next(batches, None)`。",
        ) from None
    except TypeError as error:
        if "len()" not in str(error) and "subscriptable" not in str(error):
            raise
        raise Wrong(
            en="`batches` may be any iterable, also one without a length or an index. Go through it once, with a `for` loop.",
            zh="`batches` 可以是任何可迭代的物件，不一定有長度，也不一定能用索引。用 `for` 迴圈走一遍就好。",
        ) from None
    return delivered, copies.log


def examine_prefetch(answer: Any) -> None:
    """Examine the generator ``prefetch(batches, start_copy, wait)``."""
    for count in (4, 1, 0):
        delivered, log = _deliver(answer, count)
        _judge_prefetch(delivered, log, count)


def _judge_prefetch(delivered: list[Any], log: list[tuple[str, int]], count: int) -> None:
    """Raise the hint for a wrong order. The log, for example: ("start", 0), ("start", 1), ("wait", 0), ("use", 0)."""
    if any(isinstance(batch, Ticket) for batch in delivered):
        raise Wrong(
            en="You hand out what `start_copy` returned: a copy that may still be under way. Hand out what `wait(…)` returns.",
            zh="你交出去的是 `start_copy` 傳回的東西，複製可能還沒完成。要交出去的是 `wait(…)` 的結果。",
        )
    right = [f"batch {number} on the device" for number in range(count)]
    if delivered == right[:-1] and count:
        raise Wrong(
            en=f"The last of {count} batches never comes out: when the loop ends, one copy is still under way.",
            zh=f"{count} 批裡，最後一批沒有交出來：迴圈結束時，還有一批正在複製。",
        )
    if delivered != right:
        raise Wrong(
            en=f"For {count} batches you hand out {len(delivered)}, or in another order. Each should come out once, in order.",
            zh=f"輸入 {count} 批，你交出了 {len(delivered)} 批，或是順序不對。每一批都要照順序交出一次。",
        )
    for number in range(count):
        used = log.index(("use", number))
        if number + 1 < count and ("start", number + 1) not in log[:used]:
            raise Wrong(
                en=f"When batch {number} is handed out, the copy of batch {number + 1} has not been started: copy and work still "
                "take turns. Start the next copy first.",
                zh=f"第 {number} 批交出去的時候，第 {number + 1} 批還沒開始複製，所以複製和運算還是輪流做。請先開始複製下一批。",
            )
        if ("start", number + 2) in log[:used]:
            raise Wrong(
                en=f"When batch {number} is handed out, the copy of batch {number + 2} has been started as well. There is room for "
                "two batches on the device: the one in use and the next.",
                zh=f"第 {number} 批交出去的時候，連第 {number + 2} 批都開始複製了。裝置上只放得下兩批，也就是正在用的和下一批。",
            )


def plan(log: list[tuple[str, int]], copy: float = 4e-3, work: float = 4e-3) -> Timeline:
    """Return when copies and work run for a log of starts, waits and uses; the host is busy while a batch is used."""
    spans: list[Span] = []
    now, copy_free, arrived = 0.0, 0.0, {}
    for what, number in log:
        if what == "start":
            begin = max(now, copy_free)
            copy_free = arrived[number] = begin + copy
            spans.append(Span("copy", f"copy {number}", begin, copy_free))
        elif what == "wait":
            now = max(now, arrived.get(number, now))
        else:
            spans.append(Span("work", f"work {number}", now, now + work))
            now += work
    return Timeline(spans)


def show_prefetch(answer: Any) -> figures.Picture:
    """Draw when the answer copies and when its batches are used, four batches in all."""
    _, log = _deliver(answer, 4)
    result = plan(log)
    figure, (axes,) = timeline.panels([2])
    labels = {"copy": Bilingual("copy", "複製"), "work": Bilingual("work", "運算")}
    timeline.draw(
        axes,
        result,
        lanes=("copy", "work"),
        labels=labels,
        shade=("copy", "work"),
        until=max(32e-3, result.seconds()),
    )
    return figures.Picture(
        figure,
        Bilingual(
            f"Four batches through your generator, 4 ms for each copy and 4 ms for each piece of work: "
            f"{figures.duration(result.seconds())}. One after the other would be 32 ms, perfect prefetching 20 ms.",
            f"四個批次經過你的產生器，每次複製 4 ms、每次運算 4 ms，共 {figures.duration(result.seconds())}。複製和運算輪流做要 32 ms，預取做得完美的話，只要 20 ms。",
        ),
        Bilingual("Timeline with two rows, copy and work.", "時間軸，分成複製與運算兩列。"),
    )
