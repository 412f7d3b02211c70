"""Random programs of streams, events, copies and waits against a plain model of their order; planted faults are found."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest
from tabled import tabled

from practice_gpu import ordering, simulation
from practice_gpu.ordering import Memory, Races
from practice_gpu.simulation import Machine, Work

hypothesis = pytest.importorskip("hypothesis")

# Three streams of a device (two run side by side, the third must wait for room), and one of another device.
KEYS = [(0, 0), (0, 1), (0, 2), (1, 0)]
ENGINES = ["compute", "to GPU"]


def program(draw: random.Random) -> list[Any]:
    """Return a random program in which much is under way at a time."""

    def step() -> Any:
        key, which = draw.choice(KEYS), draw.randrange(6)
        span, share = draw.randrange(12), draw.choice([0.25, 0.5, 1.0])
        work = ("work", key, draw.choice(ENGINES), span, share, draw.randrange(3), draw.randrange(3))
        orders = [("record", key), ("after", key, which)]
        waits = [("wait", which), ("query", which), ("synchronize", key)]
        host = ("host", draw.randrange(3), draw.random() < 0.5)
        return draw.choice([work] * 3 + orders * 2 + waits + [host])

    return [step() for _ in range(draw.randrange(2, 31))]


def on_machine(program: list[Any]) -> tuple[Any, ...]:
    """Return what a program leaves behind: values, spans, races and the clock."""
    machine, values, events, pairs, number = Machine(), [0, 0, 0], [], set(), 0
    races, memories, names = Races(machine), [Memory() for _ in range(3)], {}
    races._report = lambda use, second, place: pairs.add((names[use.work], place))
    for step in program:
        machine.now += 1
        match step:
            case ("work", key, engine, seconds, share, source, target):
                number += 1

                def action(source: int = source, target: int = target, number: int = number) -> None:
                    values[target] = values[source] * 3 + number

                work = Work("kernel", str(number), key, seconds, engine, share, action, (), number)
                machine.submit(work)
                names[work] = number
                for memory, write in ((source, False), (target, True)):
                    races.touch(memories[memory], work, 0, 1, write)
                machine.run()
            case ("record", key):
                events.append(machine.event(key))
            case ("after", key, which) if events:
                machine.event(key, [events[which % len(events)]])
            case ("wait", which) if events:
                machine.wait([events[which % len(events)]], "event", 0.5)
            case ("query", which) if events:
                machine.done(events[which % len(events)])
            case ("synchronize", key):
                machine.wait([work for work in [machine.queues[key].last] if work], "stream", 0.5)
            case ("host", memory, write):
                machine.run()
                races.host(memories[memory], 0, 1, write, -1 - memory)
                if write:
                    values[memory] = 100
    machine.run()
    seen, spent = list(values), machine.now
    machine.run(float("inf"))
    spans = sorted((entry.name, entry.start, entry.end) for entry in machine.log if entry.kind == "kernel")
    return seen, values, spans, pairs, spent


class Item:
    """Work of the model: what it needs, and with `before` everything that is ordered before it."""

    def __init__(
        self, key: Any, issued: float, needs: list[Item], before: set[Item], what: Any = None
    ) -> None:
        self.key, self.issued, self.needs, self.what, self.end = key, issued, needs, what, None
        self.before = set(before).union(*[{need, *need.before} for need in needs])


def modelled(program: list[Any]) -> tuple[Any, ...]:
    """Return what a program should leave behind: all is scheduled anew at each step, and order is a set of predecessors."""
    items: list[Item] = []
    events: list[Item] = []
    last: dict[Any, Item] = {}
    seen_by_host: set[Item] = set()
    uses: list[list[tuple[Item, bool, int]]] = [[], [], []]
    writes: list[tuple[float, int, int]] = []  # by the host: when, in which step, memory
    now, pairs, number = 0.0, set(), 0

    def put(key: Any, extra: list[Item], what: Any = None) -> Item:
        needs = [*extra, *([last[key]] if key in last else [])]
        item = Item(key, now, needs, seen_by_host, what)
        last[key] = item
        items.append(item)
        return item

    def schedule() -> None:
        """Give each item its end: whatever can begin first begins first."""
        for item in items:
            item.end = None
        running: list[tuple[Any, float, float]] = []
        while left := [item for item in items if item.end is None]:
            choices = []
            for place, item in enumerate(items):
                if item.end is not None or any(need.end is None for need in item.needs):
                    continue
                ready = max([item.issued, *[need.end for need in item.needs]])
                start = ready
                if item.what:
                    engine, _, share = (item.key[0], item.what[1]), item.what[2], item.what[3]
                    ends = sorted({ready, *[end for e, end, _ in running if e == engine and end > ready]})
                    start = next(
                        t
                        for t in ends
                        if sum(s for e, end, s in running if e == engine and end > t) + share <= 1
                    )
                choices.append((start, ready, place, item))
            start, _, _, item = min(choices, key=lambda choice: choice[:3])
            item.start, item.end = start, start + (item.what[2] if item.what else 0)
            if item.what:
                running.append(((item.key[0], item.what[1]), item.end, item.what[3]))
            assert left

    def effects(until: float) -> list[int]:
        steps = [
            (item.end, 0, place, item) for place, item in enumerate(items) if item.what and item.end <= until
        ]
        values = [0, 0, 0]
        # The host writes after everything that had ended by then.
        for _, _, _, what in sorted([*steps, *[(t, 1, n, m) for t, n, m in writes]], key=lambda s: s[:3]):
            if isinstance(what, Item):
                values[what.what[5]] = values[what.what[4]] * 3 + what.what[0]
            else:
                values[what] = 100
        return values

    def wait(item: Item) -> None:
        nonlocal now
        schedule()
        now = max(now, item.end) + 0.5
        seen_by_host.update({item, *item.before})

    for step in program:
        now += 1
        match step:
            case ("work", key, engine, seconds, share, source, target):
                number += 1
                item = put(key, [], (number, engine, seconds, share, source, target))
                for memory, write in ((source, False), (target, True)):
                    for other, wrote, label in uses[memory]:
                        if (write or wrote) and other is not item and other not in item.before:
                            pairs.add((label, number))
                    uses[memory].append((item, write, number))
            case ("record", key):
                events.append(put(key, []))
            case ("after", key, which) if events:
                put(key, [events[which % len(events)]])
            case ("wait", which) if events:
                wait(events[which % len(events)])
            case ("query", which) if events:
                schedule()
                event = events[which % len(events)]
                if event.end <= now:
                    seen_by_host.update({event, *event.before})
            case ("synchronize", key):
                if key in last:
                    wait(last[key])
                else:
                    now += 0.5
            case ("host", memory, write):
                pairs.update(
                    (n, -1 - memory)
                    for item, wrote, n in uses[memory]
                    if (write or wrote) and item not in seen_by_host
                )
                if write:
                    writes.append((now, number, memory))
    schedule()
    spans = sorted((str(item.what[0]), item.start, item.end) for item in items if item.what)
    return effects(now), effects(float("inf")), spans, pairs, now


def agree(program: list[Any]) -> None:
    found, wanted = on_machine(program), modelled(program)
    assert found[2] == wanted[2] and found[4] == wanted[4], "spans or clock"
    assert found[0] == wanted[0] and found[1] == wanted[1], "values"
    # What a later use is ordered behind is forgotten; then that later one is named in its place.
    assert found[3] <= wanted[3] and {second for _, second in found[3]} == {
        second for _, second in wanted[3]
    }, "races"


def check(examples: int) -> None:
    settings = hypothesis.settings(max_examples=examples, deadline=None, database=None, derandomize=True)
    draws = hypothesis.strategies.randoms(use_true_random=False)
    settings(hypothesis.given(draws)(lambda draw: agree(program(draw))))()


def test_random_programs_agree_with_the_model() -> None:
    check(100)
    draw = random.Random(1)
    for _ in range(300):
        agree(program(draw))


@pytest.mark.nightly
def test_many_random_programs_agree_with_the_model() -> None:
    check(10_000)


@tabled
def test_a_planted_fault_is_found(
    where: str, needle: str, replacement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, kind, name = where.split(".")
    names = vars({"simulation": simulation, "ordering": ordering}[module])
    source = inspect.cleandoc("\n" + inspect.getsource(getattr(names[kind], name)))
    assert source.count(needle) == 1
    made: dict[str, Any] = {}
    faulty = "from __future__ import annotations\n" + source.replace(needle, replacement)
    exec(faulty, dict(names), made)
    monkeypatch.setattr(names[kind], name, made[name])
    draw = random.Random(1)
    with pytest.raises((AssertionError, IndexError, AttributeError, TypeError)):
        for _ in range(4000):
            agree(program(draw))
