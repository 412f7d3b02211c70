"""Exercise ``prefetch(batches, start_copy, wait)``: a prefetcher as a generator, on the streams of the lesson's GPU."""

from dataclasses import dataclass
from typing import Any

import torch

from bilingual import texts
from course_utils import figures
from course_utils.exercises import Mistake, Mistakes
from course_utils.lesson_gpus import ready
from shared import timeline
from shared.timeline.picture import picture


@dataclass(frozen=True)
class Ticket:
    """A copy under way: its number, the batch on the GPU, and the event behind the copy."""

    number: int
    batch: torch.Tensor
    arrived: Any


class _Training:
    """Copies on a stream of their own, and a loop that uses what it is handed; all are logged.

    Args:
        size: Numbers in a batch.
        ticks: How long the GPU works on one, in ticks of its clock.

    Attributes:
        log: For example ``("start", 0), ("start", 1), ("wait", 0), ("use", 0)``.
        ready: The batches that `wait` returned, by number.
    """

    def __init__(self, size: int, ticks: int) -> None:
        (self.device,) = ready()
        self.gpu, self.size, self.ticks = torch.get_device_module(self.device), size, ticks
        self.copy, self.work = self.gpu.Stream(), self.gpu.current_stream()
        self.log: list[tuple[str, int]] = []
        self.ready: dict[int, torch.Tensor] = {}

    def start_copy(self, batch: torch.Tensor) -> Ticket:
        """Start to copy `batch` and return at once."""
        number = int(batch[0])
        self.log.append(("start", number))
        with self.gpu.stream(self.copy):
            return Ticket(number, batch.to(self.device, non_blocking=True), self.copy.record_event())

    def wait(self, ticket: Ticket) -> torch.Tensor:
        """Let the work wait for a copy, and return the batch on the GPU."""
        if not isinstance(ticket, Ticket):
            raise Mistake("no_ticket", kind=type(ticket).__name__)
        self.log.append(("wait", ticket.number))
        self.work.wait_event(ticket.arrived)
        ticket.batch.record_stream(self.work)
        self.ready[ticket.number] = ticket.batch
        return ticket.batch

    def run(self, answer: Any, count: int) -> list[Any]:
        """Return what a prefetcher delivers for `count` batches; as long as one is used, the loop waits."""
        delivered: list[Any] = []
        batches = [torch.full((self.size,), float(k)).pin_memory() for k in range(count)]
        try:
            given = answer(iter(batches), self.start_copy, self.wait)
            if given is None:
                raise Mistake("returned_none")
            for batch in given:
                self.log.append(("use", len(delivered)))
                delivered.append(batch)
                self.gpu._sleep(self.ticks)
                self.work.synchronize()
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
        return delivered


def judge(answer: Any) -> Mistakes:
    """Compare what comes out, then the order of copies and deliveries."""
    for count in (4, 1, 0):
        training = _Training(size=16, ticks=1000)
        delivered, log = training.run(answer, count), training.log
        yield any(isinstance(batch, Ticket) for batch in delivered), "not_waited"
        right = [id(training.ready.get(number)) for number in range(count)]
        yield count and [*map(id, delivered)] == right[:-1], "last_missing", {"count": count}
        yield [*map(id, delivered)] != right, "other_batches", {"count": count, "got": len(delivered)}
        for number in range(count):
            before = log[: log.index(("use", number))]
            next_ones = {"number": number, "next": number + 1, "second": number + 2}
            yield number + 1 < count and ("start", number + 1) not in before, "in_turns", next_ones
            yield ("start", number + 2) in before, "too_many", next_ones


def show(answer: Any) -> figures.Picture:
    """Draw when the answer copies and when its batches are used, four batches in all."""
    training = _Training(size=2**20, ticks=600_000)  # on a T4 both take about 0.4 ms
    recorded = timeline.record(lambda: training.run(answer, 4), warm_up=0)
    return picture(recorded, None, texts(__file__)["caption"])
