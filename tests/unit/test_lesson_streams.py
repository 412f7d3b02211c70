"""Lesson 04's own helpers: the picture of launches, slow images, and what its checkers are built on."""

from __future__ import annotations

import pickle
import time
import warnings
from typing import Any

import pytest
import torch
from html_nesting import assert_nested

from course_utils import datasets, evidence, figures
from course_utils.datasets import SlowImages
from course_utils.exercises import streams
from course_utils.exercises.streams import FakeDevice, FakeStream, Record, Step, first_race
from course_utils.figures import png

# --- launches ------------------------------------------------------------------------------------------

TIMES = {"small": (3e-6, 1e-4), "large": (3e-6, 2e-2)}
RECORDED = {"times": {"pinned, non_blocking": [8e-6, 5e-3]}, "run": "NVIDIA H200, PyTorch 2.13.0, 2026-01-01"}


@pytest.mark.parametrize("recorded", [None, RECORDED])
def test_a_picture_of_launches(recorded: dict[str, Any] | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = figures.returns_picture(TIMES, recorded)
        assert png(drawn.figure).startswith(b"\x89PNG")
    (axes,) = drawn.figure.axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows[-2:] == ["large", "small"], "the first name stands at the top"
    assert len(rows) == (3 if recorded else 2)
    widths = sorted(bar.get_width() for bar in axes.patches)
    assert widths[0] == 3e-6 and max(widths) == 2e-2
    left, right = axes.get_xlim()
    assert left < 3e-6 and right > 2e-2
    assert {"3 µs / 100 µs", "3 µs / 20 ms"} <= {text.get_text() for text in axes.texts}
    page = drawn.html()
    assert_nested(page)
    assert ("not recorded yet" in page) == (recorded is None)


def test_what_is_shown_is_recorded(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(evidence, "note", lambda *what: noted.append(what))
    figures.returns("launches", TIMES)
    assert noted == [("curve", "launches", {"times": {"small": [3e-6, 1e-4], "large": [3e-6, 2e-2]}})]
    assert len(shown) == 1
    assert figures.returns_picture(TIMES, {**noted[0][2], "run": "here"}).html(), "what is noted can be drawn"
    with pytest.raises(ValueError, match="at least one"):
        figures.returns("nothing", {})


# --- slow images ---------------------------------------------------------------------------------------


def test_slow_images_are_the_digits_and_take_their_time() -> None:
    data = SlowImages(count=3, seconds=0.01)
    start = time.perf_counter()
    images, labels = zip(*(data[place] for place in range(len(data))), strict=True)
    assert time.perf_counter() - start >= 0.03
    assert len(data) == 3
    assert torch.equal(torch.stack(images), datasets.digits().images[:3].flatten(1))
    assert torch.equal(torch.stack(labels), datasets.digits().labels[:3])


def test_slow_images_can_be_sent_to_another_process() -> None:
    data = pickle.loads(pickle.dumps(SlowImages(count=2, seconds=0)))
    assert torch.equal(data[1][0], datasets.digits().images[1].flatten())
    assert len(pickle.dumps(SlowImages(count=2))) < 5_000, "not the whole data set"


# --- the fake device -----------------------------------------------------------------------------------


def test_a_fake_device_is_busy_while_the_host_runs_ahead() -> None:
    device = FakeDevice(work=0.25)
    device.action()
    assert device.clock() == 100 + device.LAUNCH, "a launch does not wait"
    device.synchronize()
    assert device.clock() == pytest.approx(100 + device.LEFT_OVER + 0.25 + device.FIRST)
    before = device.clock()
    device.action()
    device.action()
    device.synchronize()
    assert device.clock() - before == pytest.approx(2 * 0.25 + device.LAUNCH)
    device.synchronize()
    assert device.clock() - before == pytest.approx(2 * 0.25 + device.LAUNCH), "nothing left to wait for"
    assert device.log.count("synchronize") == 3


@pytest.mark.parametrize("timing", ["block", "fastest of several", "median of several"])
def test_any_correct_way_of_timing_passes(timing: str) -> None:
    def block(action: Any, synchronize: Any, clock: Any) -> float:
        action(), synchronize()
        start = clock()
        for _ in range(7):
            action()
        synchronize()
        return (clock() - start) / 7

    def samples(action: Any, synchronize: Any, clock: Any) -> list[float]:
        found = []
        for _ in range(9):
            synchronize()
            start = clock()
            action(), synchronize()
            found.append(clock() - start)
        return sorted(found)

    ways = {
        "block": block,
        "fastest of several": lambda *given: samples(*given)[0],
        "median of several": lambda *given: samples(*given)[4],
    }
    streams.examine_fair_timing(ways[timing])


# --- races ---------------------------------------------------------------------------------------------


def ran(*orders: tuple[str, ...]) -> list[Step]:
    """Return the steps of a program: (stream, reads, writes) runs one, (stream, other) lets a stream wait."""
    record = Record()
    both = {name: FakeStream(name, record) for name in ("a", "b")}
    for order in orders:
        if len(order) == 2:
            both[order[0]].wait_stream(both[order[1]])
        else:
            both[order[0]].run(f"step {len(record.steps)}", reads=order[1], writes=order[2])
    return record.steps


@pytest.mark.parametrize("orders, race", [
    ([("a", "", "x"), ("a", "x", "")], None),  # one stream is in order
    ([("a", "", "x"), ("b", "x", "")], (0, 1)),  # read after write
    ([("a", "x", ""), ("b", "", "x")], (0, 1)),  # write after read
    ([("a", "", "x"), ("b", "", "x")], (0, 1)),  # write after write
    ([("a", "x", ""), ("b", "x", "")], None),  # two readers
    ([("a", "", "x"), ("b", "", "y")], None),  # different memory
    ([("a", "", "x"), ("b", "a"), ("b", "x", "")], None),
    ([("a", "", "x"), ("a", "b"), ("b", "x", "")], (0, 1)),  # the wrong one waits
    ([("b", "a"), ("a", "", "x"), ("b", "x", "")], (0, 1)),  # waits for what came before only
    ([("a", "", "x"), ("b", "a"), ("b", "", "y"), ("a", "b"), ("a", "y", "")], None),
    ([("a", "", "x"), ("b", "a"), ("b", "x", ""), ("a", "", "x")], (1, 2)),
    ([("a", "", "x"), ("b", "a"), ("b", "", "z"), ("a", "b"), ("a", "", "y"), ("b", "y", "")], (2, 3)),
])  # fmt: skip
def test_races(orders: list[tuple[str, ...]], race: tuple[int, int] | None) -> None:
    assert first_race(ran(*orders)) == race


def test_order_is_handed_on() -> None:
    """What a stream waited for, whoever waits for that stream has waited for as well."""
    steps = ran(("a", "", "x"), ("b", "a"), ("b", "", "y"), ("a", "b"), ("a", "", "z"))
    assert [sorted(step.before) for step in steps] == [[], [0], [0, 1]]


def test_an_event_stands_where_it_was_recorded() -> None:
    record = Record()
    a, b = FakeStream("a", record), FakeStream("b", record)
    a.run("one")
    event = a.record_event()
    a.run("two")
    b.wait_event(event)
    b.run("three")
    assert sorted(record.steps[2].before) == [0]


# --- the prefetcher ------------------------------------------------------------------------------------


def test_a_prefetcher_may_start_the_next_copy_before_or_after_it_waits() -> None:
    def waits_first(batches: Any, start_copy: Any, wait: Any) -> Any:
        tickets = (start_copy(batch) for batch in batches)
        here = next(tickets, None)
        while here is not None:
            batch = wait(here)
            here = next(tickets, None)
            yield batch

    streams.examine_prefetch(waits_first)
