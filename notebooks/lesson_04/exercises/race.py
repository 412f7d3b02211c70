"""Exercise ``two_batches(copy, work)``: place the missing waits between two streams, checked by happens-before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Mistake, Mistakes, NotYet
from shared import timeline
from shared.timeline import Span, Timeline

PROGRAM = [
    ("copy", "load A", "", "batch"),
    ("work", "train A", "batch", "loss"),
    ("copy", "load B", "", "batch"),
    ("work", "train B", "batch", "loss"),
    ("copy", "fetch loss", "loss", ""),
]
DURATIONS = {"load": 4.0, "train": 3.0, "fetch": 1.0}  # of the picture, in made-up seconds


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
            raise Mistake("no_event")
        self.record.waits += 1
        self.done |= event.done

    def wait_stream(self, stream: FakeStream) -> None:
        """Let everything queued from now on wait for all that `stream` has been given so far."""
        if not isinstance(stream, FakeStream):
            raise Mistake("no_stream")
        self.wait_event(stream.record_event())

    def synchronize(self) -> None:
        """Let the host wait."""
        self.record.host_waits += 1


def first_race(steps: list[Step]) -> tuple[Step, Step] | None:
    """Return the first two steps that touch the same memory, one of them writing, in no order; or None.

    Steps on one stream are in order; steps on two are only if an event puts them so (the happens-before relation).
    """
    for later, b in enumerate(steps):
        for earlier, a in enumerate(steps[:later]):
            touched = {a.writes} & {b.reads, b.writes} | {a.reads} & {b.writes}
            if touched - {""} and earlier not in b.before:
                return a, b
    return None


def _run(answer: Any) -> Record:
    record = Record()
    answer(FakeStream("copy", record), FakeStream("work", record))
    return record


def judge(answer: Any) -> Mistakes:
    """Look for changed steps, for waits of the host, and for the first race; it takes four waits."""
    record = _run(answer)
    yield [(s.stream, s.name, s.reads, s.writes) for s in record.steps] != PROGRAM, "other_steps"
    yield record.host_waits, "host_waits"
    if race := first_race(record.steps):
        if not record.waits:
            raise NotYet
        first, second = race
        seen = {"first": first, "second": second}
        yield second.reads and second.reads == first.writes, "read_too_early", seen
        yield True, "overwritten", seen


def plan(steps: list[Step]) -> Timeline:
    """Return when each step runs if it starts as early as the waits allow, and the host launches all at once."""
    spans: list[Span] = []
    for step in steps:
        same = [span.end for span in spans if span.lane == step.stream]
        start = max([0.0, *same, *(spans[place].end for place in step.before)])
        spans.append(Span(step.stream, step.name, start, start + DURATIONS.get(step.name.split()[0], 2.0)))
    return Timeline(spans)


def show(answer: Any) -> figures.Picture:
    """Draw both streams as the answer's waits allow them to run."""
    steps = _run(answer).steps
    figure, (axes,) = timeline.panels([2])
    timeline.draw(axes, plan(steps), lanes=("copy", "work"), shade=("copy", "work"))
    axes.set_xticklabels([])
    said = Bilingual(
        "No two steps that touch the same memory overlap.", "沒有哪兩個步驟會同時用到同一塊記憶體。"
    )
    if race := first_race(steps):
        first, second = (step.name for step in race)
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


def _two_batches(*waits: str, steps: tuple[str, ...] = ()) -> str:
    """Return the program with something before each step."""
    steps = steps or (
        "copy.run('load A', writes='batch')", "work.run('train A', reads='batch', writes='loss')",
        "copy.run('load B', writes='batch')", "work.run('train B', reads='batch', writes='loss')",
        "copy.run('fetch loss', reads='loss')",
    )  # fmt: skip
    gaps = [*waits, *[""] * (len(steps) - len(waits))]
    body = "".join(f"{gap}    {step}\n" for gap, step in zip(gaps, steps, strict=True))
    return f"def two_batches(copy, work):\n{body}"


_WAIT = "    work.wait_stream(copy)\n", "    copy.wait_stream(work)\n"
WRONG = {
    "no_event": _two_batches("", "    work.wait_event(copy)\n"),
    "no_stream": _two_batches("", "    work.wait_stream(copy.record_event())\n"),
    "other_steps": (
        _two_batches(steps=("copy.run('load A', writes='batch')",)),
        _two_batches().replace("copy.run('load B'", "work.run('load B'"),
    ),
    "host_waits": _two_batches(
        "", "    copy.synchronize()\n", "    work.synchronize()\n", "    copy.synchronize()\n"
    ),
    "read_too_early": (
        _two_batches("", "    copy.wait_stream(work)\n"),
        _two_batches("", _WAIT[0], _WAIT[1], "", _WAIT[1]),
        _two_batches("", _WAIT[0], _WAIT[1], _WAIT[0]),
        _two_batches("", "", "    e = copy.record_event()\n    work.wait_event(e)\n"),
    ),
    "overwritten": _two_batches("", _WAIT[0], "", _WAIT[0], _WAIT[1]),
}
