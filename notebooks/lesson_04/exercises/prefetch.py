"""Exercise ``prefetch(batches, start_copy, wait)``: a prefetcher as a generator, checked by its copies and deliveries."""

from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistake, Mistakes
from shared import timeline
from shared.timeline import Span, Timeline

Log = list[tuple[str, int]]  # for example ("start", 0), ("start", 1), ("wait", 0), ("use", 0)


@dataclass(frozen=True)
class Ticket:
    """A copy under way."""

    number: int


class Copies:
    """Simulated copies that log the order in which they are started and waited for."""

    def __init__(self) -> None:
        self.log: Log = []

    def start_copy(self, batch: str) -> Ticket:
        """Start to copy `batch` and return at once."""
        number = int(batch.rsplit(" ", 1)[-1])
        self.log.append(("start", number))
        return Ticket(number)

    def wait(self, ticket: Ticket) -> str:
        """Wait for a copy and return the batch on the device."""
        if not isinstance(ticket, Ticket):
            raise Mistake("no_ticket", kind=type(ticket).__name__)
        self.log.append(("wait", ticket.number))
        return f"batch {ticket.number} on the device"


def _deliver(answer: Any, count: int) -> tuple[list[Any], Log]:
    """Return what a prefetcher delivers for `count` batches, and the log with its deliveries."""
    copies, delivered = Copies(), []
    try:
        given = answer((f"batch {number}" for number in range(count)), copies.start_copy, copies.wait)
        if given is None:
            raise Mistake("returned_none")
        for batch in given:
            copies.log.append(("use", len(delivered)))
            delivered.append(batch)
            if len(delivered) > count:
                break
    except RuntimeError as error:
        if "StopIteration" not in str(error):
            raise
        raise Mistake("stop_iteration") from None
    except TypeError as error:
        if "len()" not in str(error) and "subscriptable" not in str(error):
            raise
        raise Mistake("any_iterable") from None
    return delivered, copies.log


def judge(answer: Any) -> Mistakes:
    """Compare what comes out, then the order of copies and deliveries."""
    for count in (4, 1, 0):
        delivered, log = _deliver(answer, count)
        right = [f"batch {number} on the device" for number in range(count)]
        yield any(isinstance(batch, Ticket) for batch in delivered), "not_waited"
        yield count and delivered == right[:-1], "last_missing", {"count": count}
        yield delivered != right, "other_batches", {"count": count, "got": len(delivered)}
        for number in range(count):
            before = log[: log.index(("use", number))]
            next_ones = {"number": number, "next": number + 1, "second": number + 2}
            yield number + 1 < count and ("start", number + 1) not in before, "in_turns", next_ones
            yield ("start", number + 2) in before, "too_many", next_ones


def plan(log: Log, copy: float = 4e-3, work: float = 4e-3) -> Timeline:
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


def show(answer: Any) -> figures.Picture:
    """Draw when the answer copies and when its batches are used, four batches in all."""
    result = plan(_deliver(answer, 4)[1])
    figure, (axes,) = timeline.panels([2])
    lanes = {"copy": Bilingual("copy", "複製"), "work": Bilingual("work", "運算")}
    until = max(32e-3, result.seconds())
    timeline.draw(axes, result, lanes=tuple(lanes), labels=lanes, shade=("copy", "work"), until=until)
    return figures.Picture(
        figure,
        Bilingual(
            f"Four batches through your generator, 4 ms for each copy and 4 ms for each piece of work: "
            f"{figures.duration(result.seconds())}. One after the other would be 32 ms, perfect prefetching 20 ms.",
            f"四個批次經過你的產生器，每次複製 4 ms、每次運算 4 ms，共 {figures.duration(result.seconds())}。複製和運算輪流做要 32 ms，預取做得完美的話，只要 20 ms。",
        ),
        Bilingual("Timeline with two rows, copy and work.", "時間軸，分成複製與運算兩列。"),
    )


_HEAD = "def prefetch(batches, start_copy, wait):\n    "
_EACH = _HEAD + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n        "
WRONG = {
    "returned_none": _HEAD + "for batch in batches:\n        wait(start_copy(batch))",
    "no_ticket": _HEAD + "for batch in batches:\n        yield wait(batch)",
    "stop_iteration": _HEAD
    + "batches = iter(batches)\n    ticket = start_copy(next(batches))\n    for batch in batches:\n"
    "        coming = start_copy(batch)\n        yield wait(ticket)\n        ticket = coming\n    yield wait(ticket)",
    "any_iterable": (
        _HEAD + "for k in range(len(batches)):\n        yield wait(start_copy(batches[k]))",
        _HEAD + "ticket = start_copy(batches[0])\n    yield wait(ticket)",
    ),
    "not_waited": _EACH
    + "if last:\n            yield last\n        last = ticket\n    if last:\n        yield last",
    "last_missing": _EACH + "if last:\n            yield wait(last)\n        last = ticket",
    "other_batches": _EACH + "yield wait(last or ticket)\n        last = ticket",
    "in_turns": _HEAD + "for batch in batches:\n        yield wait(start_copy(batch))",
    "too_many": _HEAD
    + "tickets = [start_copy(batch) for batch in batches]\n    return [wait(t) for t in tickets]",
}
