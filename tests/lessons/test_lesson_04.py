"""Lesson 04: its explorers' schedules, waits as PyTorch has them, its picture of launches, and its checkers' parts."""

from __future__ import annotations

import contextlib
import io
import itertools
import pickle
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import cells
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils import recordings, run_mode
from course_utils.exercises import examine, exercises_of
from lesson_04 import copy_pipeline, hidden_waits, stream_overlap
from lesson_04.exercises import prefetch, race
from lesson_04.exercises.launch_bound import done_after, schedule
from lesson_04.exercises.race import FakeStream, Record, Step, first_race
from lesson_04.hidden_waits import LINES
from lesson_04.slow_images import SlowImages
from lesson_04.streams import WorkerEvent, WorkerStream, new_stream, run, times_seen
from lesson_04.two_times import returns, two_times
from shared.digits import digits
from shared.timeline import Span, Timeline
from shared.trap import Trap

pytestmark = pytest.mark.usefixtures("no_warnings")

COPY, WORK = 5e-3, 4e-3
PIPELINE = copy_pipeline.explorer(COPY, WORK)


def lane(plan: Timeline, name: str) -> list[Span]:
    return [span for span in plan.spans if span.lane == name]


# --- pipeline -----------------------------------------------------------------------------------------


def plan(copy: float = 1, work: float = 1, **choices: Any) -> copy_pipeline.Pipeline:
    usual = {"chunks": 4, "buffers": 2, "factor": 1, "streams": 2}
    return copy_pipeline.compute(copy, work, **usual | choices)


@pytest.mark.parametrize("copy, work, choices, total", [
    (1, 1, {}, 5),                       # c0 | c1 w0 | c2 w1 | c3 w2 | w3
    (1, 1, {"buffers": 1}, 8), (1, 1, {"streams": 1}, 8),
    (1, 2, {}, 9), (2, 1, {}, 9),        # 1 + 4 · 2, 4 · 2 + 1
    (1, 2, {"buffers": 1}, 12), (1, 1, {"chunks": 1}, 2), (1, 1, {"factor": 2}, 9),
    (1, 1, {"chunks": 4, "buffers": 3}, 5),
])  # fmt: skip
def test_pipeline_by_hand(copy: float, work: float, choices: dict[str, Any], total: float) -> None:
    assert plan(copy, work, **choices).total == pytest.approx(total)


def test_the_schedule_of_four_chunks_by_hand() -> None:
    """Copies of 1 and work of 3 with two buffers: the third copy waits until the first chunk is worked on."""
    found = plan(1, 3)
    assert [(s.start, s.end) for s in lane(found.plan, "copy")] == [(0, 1), (1, 2), (4, 5), (7, 8)]
    assert [(s.start, s.end) for s in lane(found.plan, "work")] == [(1, 4), (4, 7), (7, 10), (10, 13)]
    # Copies at 1..2, 4..5 and 7..8 lie within work: 3 of 4 seconds.
    assert found.share == pytest.approx(3 / 4) and found.alone == 16 and found.best == 13


def grid_of_pipelines() -> Iterator[tuple[dict[str, Any], copy_pipeline.Pipeline]]:
    for choices in PIPELINE.grid():
        for copy, work in ((COPY, WORK), (1e-3, 9e-3), (2e-3, 2e-3)):
            found = copy_pipeline.compute(copy, work, **choices)
            yield choices | {"copy": copy * choices["factor"], "work": work}, found


def test_the_rules_hold_everywhere() -> None:
    for choices, found in grid_of_pipelines():
        copies, works = lane(found.plan, "copy"), lane(found.plan, "work")
        assert len(copies) == len(works) == choices["chunks"]
        for copied, worked in zip(copies, works, strict=True):
            assert worked.start >= copied.end, "work needs its copy"
            assert copied.end - copied.start == pytest.approx(choices["copy"])
            assert worked.end - worked.start == pytest.approx(choices["work"])
        for spans in (copies, works):
            assert all(a.end <= b.start for a, b in itertools.pairwise(spans)), (
                "one thing at a time, in order"
            )
        for moment in [span.start for span in found.plan.spans]:
            # In a buffer from the start of its copy to the end of its work.
            held = sum(c.start <= moment < w.end for c, w in zip(copies, works, strict=True))
            assert held <= choices["buffers"] if choices["streams"] == 2 else held <= 1
        if choices["streams"] == 1:
            both = sorted(found.plan.spans, key=lambda s: s.start)
            assert all(a.end <= b.start for a, b in itertools.pairwise(both)), "one queue"


def test_the_bounds_hold_everywhere() -> None:
    for choices, found in grid_of_pipelines():
        sums = choices["chunks"] * choices["copy"], choices["chunks"] * choices["work"]
        slack = 1e-9
        assert max(sums) < found.best <= found.total + slack <= found.alone + 2 * slack
        assert found.alone == pytest.approx(sum(sums))
        assert 0 <= found.share <= 1
        # What overlaps is what is saved.
        saved = found.alone - found.total
        assert saved == pytest.approx(found.share * min(sums), abs=1e-9)
        if choices["streams"] == 1 or choices["buffers"] == 1 or choices["chunks"] == 1:
            assert found.total == pytest.approx(found.alone) and found.share == pytest.approx(0, abs=1e-9)
        else:  # with equal chunks the second buffer is all that it takes
            assert found.total == pytest.approx(found.best)
            assert found.share == pytest.approx(1 - 1 / choices["chunks"])


def test_what_was_measured_is_marked_and_the_rest_is_the_same_on_every_machine() -> None:
    for choices in (PIPELINE.defaults(), PIPELINE.defaults() | {"streams": 1}):
        pages = [copy_pipeline.explorer(*seconds).html(**choices) for seconds in ((5e-3, 4e-3), (1e-4, 3e-4))]
        kept = [re.sub('<span class="measured">[^<]*</span>|base64,[^"]*', "M", page) for page in pages]
        assert kept[0] == kept[1] and pages[0] != pages[1]


def test_each_choice_that_decides_the_total_has_a_reason_of_its_own() -> None:
    choices = ({}, {"factor": 0.25}, {"buffers": 1}, {"streams": 1}, {"chunks": 1})
    assert len({copy_pipeline._reason(plan(2, 1, **choice)) for choice in choices}) == len(choices)


# --- waits: as PyTorch has them -----------------------------------------------------------------------


def names(device: str) -> dict[str, Any]:
    """Return what the lines of code use, on `device`."""
    host = torch.randn(1000)
    x = torch.randn(1000, device=device)
    batch = {"batch": host, "pinned": host.pin_memory() if device == "cuda" else host}
    gpu = {"x": x, "mask": x > 0, "loss": x.sum(), "other": x.sum() + 1}
    return batch | gpu | {"log": [], "device": device, "torch": torch}


class Copies(TorchDispatchMode):
    """Counts the copies between devices that are waited for, and those that are only queued."""

    def __init__(self) -> None:
        super().__init__()
        self.blocking = self.queued = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.ops.aten._to_copy.default and kwargs["device"] != args[0].device:
            if kwargs.get("non_blocking"):
                self.queued += 1
            else:
                self.blocking += 1
        return function(*args, **kwargs)


def needs_value_or_waits_for_a_copy(code: str) -> bool:
    """Run `code` on tensors without data: a line that needs a value cannot run.

    The device "meta" plays the GPU. It holds shapes and no values, which is all that the host knows of a GPU's
    tensors before the GPU is done.
    """
    with Copies() as copies, contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(code, names("meta"))
            failed = False
        except (RuntimeError, NotImplementedError) as error:
            assert "meta" in str(error).lower(), error
            failed = True
    if copies.queued:  # a copy from "meta" is refused, but what counts here is that nobody would wait for it
        return False
    return failed or copies.blocking > 0


# Printing a tensor on "meta" leaves the values out, and `torch.tensor` copies below the level seen here.
NOT_ON_META = {"print(loss)", "torch.tensor(3.0, device=device)"}


@pytest.mark.parametrize("code", [code for code in LINES if code not in NOT_ON_META])
def test_a_line_waits_if_it_needs_a_value(code: str) -> None:
    assert needs_value_or_waits_for_a_copy(code) is LINES[code].waits


def test_printing_needs_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    exec("print(loss)", {"loss": torch.tensor(3.25)})
    assert "3.25" in capsys.readouterr().out and LINES["print(loss)"].waits


def test_a_tensor_from_a_number_is_made_on_the_host_first() -> None:
    """Otherwise the dispatcher would see the device asked for, as it does with `torch.full`."""

    class Seen(TorchDispatchMode):
        devices: list[Any] = []

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.devices.append((kwargs or {}).get("device"))
            return function(*args, **(kwargs or {}))

    with Seen():
        torch.tensor(3.0, device="meta")
    assert torch.device("meta") not in Seen.devices
    with Seen():
        torch.full((), 3.0, device="meta")
    assert torch.device("meta") in Seen.devices
    assert LINES["torch.tensor(3.0, device=device)"].waits
    assert not LINES["torch.full((), 3.0, device=device)"].waits


def warm(code: str) -> Callable[[], None]:
    """Run a line on the GPU once, because what a first use loads and allocates may wait; return how to run it again."""
    there, program = names("cuda"), compile(code, "line", "exec")

    def run_it() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(program, there)

    run_it()
    torch.cuda.synchronize()
    return run_it


@pytest.mark.cuda
@pytest.mark.parametrize("code", LINES)
def test_a_real_gpu_agrees(code: str) -> None:
    """PyTorch's own alarm goes off in the lines that wait, and in no other."""
    again = warm(code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "a prototype feature"
        torch.cuda.set_sync_debug_mode("error")
    waited = False
    try:
        again()
    except RuntimeError as error:
        assert "synchroniz" in str(error), error
        waited = True
    finally:
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
    assert waited is LINES[code].waits


@pytest.mark.cuda
@pytest.mark.parametrize("code", LINES)
def test_a_real_gpu_that_is_busy_is_waited_for(code: str) -> None:
    """The alarm does not know all waits, so the queue itself is asked: is the long work done after the line?"""
    again, done = warm(code), torch.cuda.Event()
    torch.cuda._sleep(300_000_000)  # clock cycles: more than a tenth of a second
    done.record()
    again()
    waited = done.query()
    torch.cuda.synchronize()
    assert waited is LINES[code].waits


# --- waits: the model ---------------------------------------------------------------------------------


def test_waiting_by_hand() -> None:
    """1 ms of work, 20 launches of 10 µs, 200 µs of Python: the first operation is queued after 210 µs."""
    found = hidden_waits.compute(line="loss.item()", seconds=1e-3)
    us = [(s.name, round(s.start * 1e6), round(s.end * 1e6)) for s in found.with_line.spans]
    assert us[:6] == [
        ("python", 0, 200), ("launch 0", 200, 400), ("wait", 400, 1210),
        ("python", 1210, 1410), ("launch 1", 1410, 1610), ("wait", 1610, 2420),
    ]  # fmt: skip
    assert us[-3:] == [("work 0", 210, 1210), ("work 1", 1420, 2420), ("work 2", 2630, 3630)]
    # Without the line the host is far ahead, and the GPU never pauses.
    gpu = [(s.name, round(s.start * 1e6), round(s.end * 1e6)) for s in lane(found.without, "GPU")]
    assert gpu == [("work 0", 210, 1210), ("work 1", 1210, 2210), ("work 2", 2210, 3210)]
    assert found.idle_share(found.with_line) == pytest.approx(210 / 1210)
    assert found.idle_share(found.without) == pytest.approx(0)


def test_a_wait_never_helps_and_other_lines_change_nothing() -> None:
    for choices in hidden_waits.EXPLORER.grid():
        found = hidden_waits.compute(**choices)
        for steps in (found.with_line, found.without):
            for name in ("host", "GPU"):
                spans = lane(steps, name)
                assert all(a.end <= b.start + 1e-12 for a, b in itertools.pairwise(spans))
            assert steps.busy("GPU") == pytest.approx(3 * choices["seconds"])
            assert -1e-9 <= found.idle_share(steps) < 1
        if found.line.waits:
            assert found.with_line.seconds() > found.without.seconds()
            assert found.idle_share(found.with_line) > found.idle_share(found.without)
        else:
            assert found.with_line == found.without


def test_lines_that_wait_and_lines_that_do_not() -> None:
    assert len({line.why for line in LINES.values()}) == len(LINES)
    waiting = [line.waits for line in LINES.values()]
    assert 8 <= sum(waiting) <= len(waiting) - 8


# --- streams ------------------------------------------------------------------------------------------


def test_streams_by_hand() -> None:
    """20 µs per kernel, 4 µs per launch: one stream 4 + 16 · 20, two 8 + 8 · 20."""
    found = stream_overlap.compute(share=50, duration=20e-6, launch=4e-6, streams=2)
    assert found.one == pytest.approx(324e-6) and found.two == pytest.approx(168e-6)
    assert found.reason == "overlaps" and found.gain == pytest.approx(324 / 168)
    first = [(round(s.start * 1e6), round(s.end * 1e6)) for s in lane(found.plan, "stream 1")[:3]]
    second = [(round(s.start * 1e6), round(s.end * 1e6)) for s in lane(found.plan, "stream 2")[:3]]
    assert first == [(4, 24), (24, 44), (44, 64)] and second == [(8, 28), (28, 48), (48, 68)]
    # A full GPU: one after the other, whatever the stream.
    full = stream_overlap.compute(share=100, duration=20e-6, launch=4e-6, streams=2)
    assert full.two == pytest.approx(324e-6) and full.reason == "GPU full"
    assert [round(s.start * 1e6) for s in lane(full.plan, "stream 2")[:2]] == [24, 64]
    # Over before the next launch: 16 launches and one kernel.
    tiny = stream_overlap.compute(share=5, duration=2e-6, launch=10e-6, streams=2)
    assert tiny.one == tiny.two == pytest.approx(162e-6) and tiny.reason == "launches"


def test_the_rules_of_streams_hold_everywhere() -> None:
    for choices in stream_overlap.EXPLORER.grid():
        found = stream_overlap.compute(**choices)
        kernels = [span for span in found.plan.spans if span.lane != "host"]
        launches = lane(found.plan, "host")
        assert len(kernels) == len(launches) == 16
        assert {s.lane for s in kernels} == {f"stream {n + 1}" for n in range(choices["streams"])}
        for launched, kernel in zip(launches, kernels, strict=True):
            assert launched.name.split()[1] == kernel.name.split()[1] and kernel.start >= launched.end
        for name in {s.lane for s in kernels}:
            assert all(a.end <= b.start for a, b in itertools.pairwise(lane(found.plan, name))), "FIFO"
        for moment in [s.start for s in kernels]:
            assert choices["share"] * sum(s.start <= moment < s.end for s in kernels) <= 100
        for kernel, others in ((k, kernels[:i]) for i, k in enumerate(kernels)):
            # Nobody waits without a reason: something ends, or is launched, just when a kernel starts.
            causes = [launches[kernels.index(kernel)].end, *(s.end for s in others)]
            assert any(kernel.start == cause for cause in causes)


def test_gain_and_reason_belong_together() -> None:
    seen = set()
    for choices in stream_overlap.EXPLORER.grid():
        found = stream_overlap.compute(**choices)
        seen.add(found.reason)
        assert 1 <= found.gain + 1e-12 and found.gain <= 2
        if found.reason == "overlaps":
            assert found.gain > 1.5
        else:
            assert found.gain == pytest.approx(1)
        if choices["share"] == 100:
            assert found.reason != "overlaps"
            if choices["streams"] == 2:
                assert found.plan.overlap("stream 1", "stream 2") == pytest.approx(0, abs=1e-12)
        if choices["duration"] < choices["launch"]:
            assert found.reason == "launches"
        if choices["share"] == 50 and choices["duration"] >= 200e-6:
            assert found.gain > 1.9
    assert seen == {"launches", "GPU full", "overlaps"}


@pytest.mark.parametrize("compute, usual, bad", [
    *((plan, {}, bad) for bad in ({"chunks": 0}, {"buffers": 0}, {"factor": 0}, {"copy": 0}, {"streams": 3})),
    *((hidden_waits.compute, {"line": "x.cpu()", "seconds": 1e-3}, bad) for bad in ({"line": "x.cuda()"}, {"seconds": 0})),
    *((stream_overlap.compute, {"share": 50, "duration": 1e-5, "launch": 1e-5, "streams": 2}, bad)
      for bad in ({"share": 0}, {"share": 101}, {"duration": 0}, {"launch": 0}, {"streams": 3})),
])  # fmt: skip
def test_choices_that_no_control_offers_are_refused(
    compute: Callable[..., Any], usual: dict[str, Any], bad: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"positive numbers|1 or 2 streams|one of the lines loss\.item"):
        compute(**usual | bad)


# --- launches ------------------------------------------------------------------------------------------

TIMES = {"small": (3e-6, 1e-4), "large": (3e-6, 2e-2)}
RECORDED = {"times": {"pinned, non_blocking": [8e-6, 5e-3]}, "run": "NVIDIA H200, PyTorch 2.13.0, 2026-01-01"}


@pytest.mark.parametrize("recorded", [None, RECORDED])
def test_a_picture_of_launches(
    recorded: dict[str, Any] | None, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(run_mode, "note", lambda *what: noted.append(what))
    monkeypatch.setattr(recordings, "recorded", lambda _: recorded)
    returns("launches", TIMES)
    assert noted == [("curve", "launches", {"times": {"small": [3e-6, 1e-4], "large": [3e-6, 2e-2]}})]
    drawn = shown[0]
    page = drawn.html()
    assert_nested(page)
    assert ("NVIDIA H200" in page) == (recorded is not None)
    (axes,) = drawn.figure.axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows[-2:] == ["large", "small"], "the first name is at the top"
    assert len(rows) == (3 if recorded else 2)
    widths = sorted(bar.get_width() for bar in axes.patches)
    assert widths[0] == 3e-6 and max(widths) == 2e-2
    left, right = axes.get_xlim()
    assert left < 3e-6 and right > 2e-2
    assert {"3 µs / 100 µs", "3 µs / 20 ms"} <= {text.get_text() for text in axes.texts}


def test_no_times_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        returns("nothing", {})


# --- slow images ---------------------------------------------------------------------------------------


def test_slow_images_are_the_digits_and_take_their_time() -> None:
    data = SlowImages(count=3, seconds=0.01)
    start = time.perf_counter()
    images, labels = zip(*(data[place] for place in range(len(data))), strict=True)
    assert time.perf_counter() - start >= 0.03
    assert len(data) == 3
    assert torch.equal(torch.stack(images), digits().images[:3].flatten(1))
    assert torch.equal(torch.stack(labels), digits().labels[:3])


def test_slow_images_can_be_sent_to_another_process() -> None:
    data = pickle.loads(pickle.dumps(SlowImages(count=2, seconds=0)))
    assert torch.equal(data[1][0], digits().images[1].flatten())
    assert len(pickle.dumps(SlowImages(count=2))) < 5_000, "not the whole data set"


# --- exercises: timing -----------------------------------------------------------------------------------


def timed_as_a_block(action: Any, synchronize: Any, clock: Any) -> float:
    action(), synchronize()
    start = clock()
    for _ in range(7):
        action()
    synchronize()
    return (clock() - start) / 7


def timed_one_by_one(action: Any, synchronize: Any, clock: Any) -> list[float]:
    found = []
    for _ in range(9):
        synchronize()
        start = clock()
        action(), synchronize()
        found.append(clock() - start)
    return sorted(found)


@pytest.mark.parametrize(
    "way",
    [
        timed_as_a_block,
        lambda *given: timed_one_by_one(*given)[0],
        lambda *given: timed_one_by_one(*given)[4],
    ],
    ids=["block", "fastest of several", "median of several"],
)
def test_any_correct_way_of_timing_passes(way: Any) -> None:
    assert examine(exercises_of("04")["fair_timing"], way).key == "solved"


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


@pytest.mark.parametrize("orders, found", [
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
def test_races(orders: list[tuple[str, ...]], found: tuple[int, int] | None) -> None:
    steps = ran(*orders)
    assert first_race(steps) == (found and tuple(steps[place] for place in found))


WAITS = {
    "free": "        copy.wait_event(free[room])           # until this buffer may be overwritten\n",
    "arrived": "        work.wait_event(copy.record_event())  # until the batch has arrived\n",
}


@pytest.mark.parametrize("without", [None, *WAITS])
def test_the_lessons_pipeline_has_both_waits(without: str | None) -> None:
    """A missing wait need not show when it runs, neither on a GPU nor with worker threads."""
    (source,) = [cell.text for cell in cells("code") if (cell.lesson, cell.id) == ("04", "overlap-build")]
    assert all(source.count(line) == 1 for line in WAITS.values())
    if without:
        source = source.replace(WAITS[without], "")

    def run(stream: FakeStream, action: Any, k: int, room: int) -> None:
        kind = {"load": "writes", "train": "reads"}[action.__name__]
        stream.run(f"{action.__name__} {k}", **{kind: f"room {room}"})

    class Synchronous(FakeStream):
        def synchronize(self) -> None: ...

    record = Record()
    names: dict[str, Any] = {"torch": torch, "run": run}
    exec(source, names)
    names["pipeline"](Synchronous("copy", record), Synchronous("work", record), names["load"], names["train"])
    assert [step.stream for step in record.steps] == ["copy", "work"] * 8
    assert (first_race(record.steps) is None) is (without is None)


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

    assert examine(exercises_of("04")["prefetch"], waits_first).key == "solved"


# --- the stand-in for a stream -------------------------------------------------------------------------


def test_a_worker_stream_is_first_in_first_out_and_does_not_block() -> None:
    stream, gate, seen = WorkerStream(), WorkerEvent(), []
    stream.wait_event(gate)
    for number in range(3):
        stream.run(seen.append, number)
    assert not seen
    gate.set()
    stream.synchronize()
    assert seen == [0, 1, 2]


def test_a_worker_stream_waits_for_what_another_has_been_given_so_far() -> None:
    one, other, gate, seen = WorkerStream(), WorkerStream(), WorkerEvent(), []
    one.wait_event(gate)
    one.run(seen.append, "one")
    other.wait_stream(one)
    other.run(seen.append, "other")
    gate.set()
    other.synchronize()
    assert seen == ["one", "other"]


def test_an_event_of_a_worker_is_passed_only_when_what_is_before_it_is_done() -> None:
    stream, seen = WorkerStream(), []
    stream.run(time.sleep, 0.05)
    stream.run(seen.append, 1)
    stream.record_event().synchronize()
    assert seen == [1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has streams of its own")
def test_without_a_gpu_a_worker_stands_in() -> None:
    stream, seen = new_stream(), []
    assert isinstance(stream, WorkerStream)
    run(stream, seen.append, 1)
    stream.synchronize()
    assert seen == [1]


def test_a_bug_counts_only_if_its_cure_always_helped() -> None:
    seen = iter([(False, False), (True, True), (False, True), (True, True)])
    assert times_seen(lambda _: next(seen), tries=3) == 2, "the first call only warms up"
    cured = iter([(True, True), (True, True), (True, False)])
    assert times_seen(lambda _: next(cured), tries=2) == 0


def test_two_times_of_a_queue() -> None:
    stream = WorkerStream()
    returned, done = two_times(lambda: stream.run(time.sleep, 0.3), stream.synchronize, runs=3)
    assert returned < 0.15 and 0.3 <= done < 0.9, "of one run, not of three"


# --- the trap ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", [code for code in LINES if code not in ("torch.tensor(3.0, device=device)", "batch.to(device)")]
)
def test_the_trap_and_the_explorer_agree_on_a_cpu(code: str) -> None:
    """A copy to the device cannot be seen where the host is the device."""
    there = names("cpu") | {"loss": torch.tensor(2.0), "other": torch.tensor(3.0)}
    with contextlib.redirect_stdout(io.StringIO()), Trap() as trap:
        exec(code, there)
    assert bool(trap.lines) is LINES[code].waits
    assert sum(trap.lines.values()) <= 1, "a line is counted once for each time that it waits"


def test_the_trap_counts_lines_and_shows_them() -> None:
    x = torch.ones(3)
    with Trap() as trap:
        for _ in range(3):
            total = x.sum().item()  # here
        assert total == 3
    assert list(trap.lines.values()) == [3] and "here" in next(iter(trap.lines))
    page = trap.table().html
    assert_nested(page)
    assert "total = x.sum().item()" in page and "<td>3</td>" in page
    with Trap() as none:
        x.sum()
    assert "in no line" in none.table().text


def test_what_has_been_fetched_once_is_not_waited_for_again() -> None:
    """As on a GPU, where the copy lies in host memory; what is still on the device is counted."""
    x, y = torch.tensor([1.0, 2.0]), torch.tensor(3.0)
    with Trap() as trap:
        here = x.cpu()
        numbers = [float(value) for value in here], here.max().item(), here.isnan().any().item(), here.numpy()
        late = (here + y).sum().item()  # y is on the device
    assert numbers[0] == [1.0, 2.0] and late == 9
    assert sum(trap.lines.values()) == 2
    with Trap() as trap:
        x.to("cpu", non_blocking=True).sum().item()
    assert not trap.lines


@pytest.mark.parametrize("fetch", [lambda x: x.cpu(), lambda x: x.to("cpu")])
def test_a_copy_to_the_host_leaves_the_tensor_on_the_device(fetch: Any) -> None:
    """Without a GPU `cpu` returns its tensor itself, and that one is waited for again."""
    x = torch.ones(3)
    with Trap() as trap:
        here = fetch(x)
        assert here.sum().item() == 3
        assert x.sum().item() == 3  # again
    assert sum(trap.lines.values()) == 2


@pytest.mark.parametrize("foreach", [False, True])
def test_a_step_of_adam_is_no_wait(foreach: bool) -> None:
    """Adam counts its steps on the host, whatever device the weights are on."""
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([weight], foreach=foreach)
    with Trap() as trap:
        weight.sum().backward()
        optimizer.step()
    assert not trap.lines


def test_a_tensor_of_tensors_fetches_each_of_them() -> None:
    losses = [torch.tensor(1.0), torch.tensor(2.0)]
    here = torch.ones(2)
    with Trap() as trap:
        assert torch.tensor(losses).shape == (2,)  # each
        torch.tensor([1.0, 2.0]), torch.tensor(data=0.5)
        torch.tensor(list(here.cpu()))  # once, for the copy
    assert list(trap.lines.values()) == [2, 1]


def test_the_trap_ends_with_its_block_even_if_it_raises() -> None:
    trap = Trap()
    with pytest.raises(ZeroDivisionError), trap:
        1 / 0  # noqa: B018
    torch.ones(3).sum().item()
    assert not trap.lines


# --- what the exercises show ---------------------------------------------------------------------------


def test_when_n_kernels_are_done_agrees_with_the_schedule() -> None:
    for n, launch, work in itertools.product((1, 2, 7), (1.0, 2.5), (0.5, 1.0, 4.0)):
        assert done_after(n, launch, work) == pytest.approx(
            max(s.end for s in schedule(n, launch, work).spans)
        )


def test_the_plan_of_a_race_shows_an_overlap_only_where_a_wait_is_missing() -> None:
    load, wait, train = ("a", "", "batch"), ("b", "a"), ("b", "batch", "")
    assert race.plan(ran(load, train)).overlap("a", "b") > 0
    assert race.plan(ran(load, wait, train)).overlap("a", "b") == 0


def test_the_plan_of_a_prefetcher_by_hand() -> None:
    """Four batches of 4 + 4 ms: 32 ms in turns, 20 ms one step ahead."""
    in_turns = [(what, k) for k in range(4) for what in ("start", "wait", "use")]
    assert prefetch.plan(in_turns).seconds() == pytest.approx(32e-3)
    ahead = [("start", 0)]
    for k in range(4):
        ahead += [("start", k + 1)] * (k < 3) + [("wait", k), ("use", k)]
    assert prefetch.plan(ahead).seconds() == pytest.approx(20e-3)
