"""Exercise: place the missing waits between two streams, checked with the happens-before relation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import NotYet, Wrong
from shared import timeline
from shared.timeline import Span, Timeline

PROGRAM = (
    ("copy", "load A", "", "batch"),
    ("work", "train A", "batch", "loss"),
    ("copy", "load B", "", "batch"),
    ("work", "train B", "batch", "loss"),
    ("copy", "fetch loss", "loss", ""),
)


@dataclass(frozen=True)
class Step:
    """One piece of work: its stream, its name, what it reads and what it writes, and all that is done before it."""

    stream: str
    name: str
    reads: str
    writes: str
    before: frozenset[int]


@dataclass
class Record:
    """What was queued on the streams of one run, and whether the host waited."""

    steps: list[Step] = field(default_factory=list)
    waits: int = 0
    host_waits: int = 0


class FakeEvent:
    """The set of steps that are done when the event has passed."""

    def __init__(self, done: frozenset[int]) -> None:
        self.done = done


class FakeStream:
    """A stream that runs nothing; for each step it knows which steps are done before it.

    Args:
        name: ``"copy"`` or ``"work"``.
        record: Where its steps are noted.
    """

    def __init__(self, name: str, record: Record) -> None:
        self.name, self.record = name, record
        self.done: frozenset[int] = frozenset()

    def run(self, name: str, reads: str = "", writes: str = "") -> None:
        """Queue a step that reads and writes the named memory."""
        self.record.steps.append(Step(self.name, name, reads, writes, self.done))
        self.done |= {len(self.record.steps) - 1}

    def record_event(self) -> FakeEvent:
        """Return an event that passes when everything queued so far is done."""
        return FakeEvent(self.done)

    def wait_event(self, event: FakeEvent) -> None:
        """Let everything queued from now on wait for `event`."""
        if not isinstance(event, FakeEvent):
            raise Wrong(
                en="`wait_event` takes an event: what `record_event()` of the other stream returned.",
                zh="`wait_event` 要的是事件，也就是另一條串流的 `record_event()` 傳回的物件。",
            )
        self.record.waits += 1
        self.done |= event.done

    def wait_stream(self, stream: FakeStream) -> None:
        """Let everything queued from now on wait for all that `stream` has been given so far."""
        if not isinstance(stream, FakeStream):
            raise Wrong(
                en="`wait_stream` takes the other stream: `work.wait_stream(copy)` or `copy.wait_stream(work)`.",
                zh="`wait_stream` 要的是另一條串流：`work.wait_stream(copy)` 或 `copy.wait_stream(work)`。",
            )
        self.wait_event(stream.record_event())

    def synchronize(self) -> None:
        """Let the host wait."""
        self.record.host_waits += 1


def first_race(steps: list[Step]) -> tuple[int, int] | None:
    """Return the first two steps that touch the same memory, one of them writing, in no order; or None.

    Steps on one stream are in order; steps on two are only if an event puts them so (the happens-before relation).
    """
    for later, b in enumerate(steps):
        for earlier, a in enumerate(steps[:later]):
            touched = {a.writes} & {b.reads, b.writes} | {a.reads} & {b.writes}
            if touched - {""} and earlier not in b.before:
                return earlier, later
    return None


def examine_race(answer: Any) -> None:
    """Examine ``two_batches(copy, work)``, which needs four waits between its streams."""
    record = Record()
    answer(FakeStream("copy", record), FakeStream("work", record))
    queued = [(step.stream, step.name, step.reads, step.writes) for step in record.steps]
    if queued != list(PROGRAM):
        raise Wrong(
            en="The five steps should stay as they were: the same order, the same streams, the same names. Only add waits "
            "between them.",
            zh="五個步驟要維持原樣：順序、串流、名稱都不變，只在中間加上等待。",
        )
    if record.host_waits:
        raise Wrong(
            en="`synchronize()` makes the **host** wait, and the queues run dry. Let one stream wait for the other instead.",
            zh="`synchronize()` 會讓**主機**等，兩條串流很快就沒事做了。請改成讓一條串流等另一條。",
        )
    race = first_race(record.steps)
    if race is None:
        return
    if not record.waits:
        raise NotYet(
            en="Not yet: nothing waits for anything so far. Add the missing waits, then run the cell again.",
            zh="還沒完成：目前兩條串流都沒有等對方。請補上缺少的等待，再執行一次。",
        )
    first, second = (record.steps[place] for place in race)
    if second.reads and second.reads == first.writes:
        raise Wrong(
            en=f"Race: `{second.name}` may read `{second.reads}` before `{first.name}` has written it. Let `{second.stream}` wait for "
            f"`{first.stream}` before `{second.name}`.",
            zh=f"競爭條件：`{first.name}` 還沒寫好 `{second.reads}`，`{second.name}` 就可能來讀了。在 `{second.name}` 之前，要讓 "
            f"`{second.stream}` 等 `{first.stream}`。",
        )
    raise Wrong(
        en=f"Race: `{second.name}` may overwrite `{second.writes}` while `{first.name}` still uses it. A writer has to wait, too.",
        zh=f"競爭條件：`{first.name}` 還在用 `{second.writes}`，`{second.name}` 就可能把它蓋掉。要寫入的一方也得等。",
    )


DURATIONS = {"load": 4.0, "train": 3.0, "fetch": 1.0}  # of the picture, in made-up seconds


def plan(steps: list[Step]) -> Timeline:
    """Return when each step runs if it starts as early as the waits allow, and the host launches all at once."""
    spans: list[Span] = []
    for step in steps:
        same = [span.end for span in spans if span.lane == step.stream]
        start = max([0.0, *same, *(spans[place].end for place in step.before)])
        spans.append(Span(step.stream, step.name, start, start + DURATIONS.get(step.name.split()[0], 2.0)))
    return Timeline(spans)


def show_race(answer: Any) -> figures.Picture:
    """Draw both streams as the answer's waits allow them to run."""
    record = Record()
    answer(FakeStream("copy", record), FakeStream("work", record))
    figure, (axes,) = timeline.panels([2])
    timeline.draw(axes, plan(record.steps), lanes=("copy", "work"), shade=("copy", "work"))
    axes.set_xticklabels([])
    race = first_race(record.steps)
    if race is None:
        said = Bilingual(
            "No two steps that touch the same memory overlap.", "沒有哪兩個步驟會同時用到同一塊記憶體。"
        )
    else:
        first, second = (record.steps[place].name for place in race)
        said = Bilingual(
            f"Nothing keeps `{second}` from running before `{first}` is done.",
            f"`{first}` 還沒做完，`{second}` 就可能開始，因為沒有任何等待擋住它。",
        )
    return figures.Picture(
        figure,
        Bilingual(
            f"When your steps run, if each starts as early as your waits allow. {said.en}",
            f"依照你寫的等待，每個步驟最早可以在什麼時候執行。{said.zh}",
        ),
        Bilingual(
            "Timeline of the two streams, a bar for each step.", "兩條串流的時間軸，每個步驟是一個長條。"
        ),
    )
