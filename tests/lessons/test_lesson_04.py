"""Lesson 04: its explorers' schedules, waits as PyTorch has them, its picture of launches, and its checkers' parts."""

import contextlib
import io
import itertools
import pickle
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import cells
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils import recordings, run_fresh, run_mode
from course_utils.exercises import examine, exercises_of
from course_utils.measure import is_modelled
from lesson_04 import copy_pipeline, hidden_waits, stream_overlap
from lesson_04.exercises import prefetch, race
from lesson_04.exercises.launch_bound import done_after, schedule
from lesson_04.exercises.race import FakeStream, Record, Step, first_race
from lesson_04.hidden_waits import LINES
from lesson_04.slow_images import SlowImages
from lesson_04.two_times import clock, returns, times_seen, two_times
from shared.digits import digits
from shared.timeline import Span, Timeline
from shared.trap import Trap

pytestmark = pytest.mark.usefixtures("no_warnings")

COPY, WORK = 5e-3, 4e-3
PIPELINE = copy_pipeline.explorer(COPY, WORK)


def lane(plan: Timeline, name: str) -> list[Span]:
    return [span for span in plan.spans if span.lane == name]


def times(spans: list[Span], unit: float = 1e-6) -> list[tuple[int, int]]:
    """Return starts and ends, in microseconds."""
    return [(round(span.start / unit), round(span.end / unit)) for span in spans]


def in_turn(spans: list[Span]) -> bool:
    """Return whether one thing happens at a time, in this order."""
    return all(a.end <= b.start + 1e-12 for a, b in itertools.pairwise(spans))


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
    assert times(lane(found.plan, "copy"), 1) == [(0, 1), (1, 2), (4, 5), (7, 8)]
    assert times(lane(found.plan, "work"), 1) == [(1, 4), (4, 7), (7, 10), (10, 13)]
    # Copies at 1..2, 4..5 and 7..8 lie within work: 3 of 4 seconds.
    assert found.share == pytest.approx(3 / 4) and found.alone == 16 and found.best == 13


@pytest.mark.parametrize("copy, work", [(COPY, WORK), (1e-3, 9e-3), (2e-3, 2e-3)])
def test_the_rules_and_bounds_of_a_pipeline_hold_everywhere(copy: float, work: float) -> None:
    for choices in PIPELINE.grid():
        found, copying = copy_pipeline.compute(copy, work, **choices), copy * choices["factor"]
        copies, works = lane(found.plan, "copy"), lane(found.plan, "work")
        assert len(copies) == len(works) == choices["chunks"]
        for copied, worked in zip(copies, works, strict=True):
            assert worked.start >= copied.end, "work needs its copy"
            assert copied.end - copied.start == pytest.approx(copying)
            assert worked.end - worked.start == pytest.approx(work)
        assert in_turn(copies) and in_turn(works)
        for moment in [span.start for span in found.plan.spans]:
            # In a buffer from the start of its copy to the end of its work.
            held = sum(c.start <= moment < w.end for c, w in zip(copies, works, strict=True))
            assert held <= (choices["buffers"] if choices["streams"] == 2 else 1)
        assert choices["streams"] == 2 or in_turn(sorted(found.plan.spans, key=lambda s: s.start))
        sums = choices["chunks"] * copying, choices["chunks"] * work
        assert max(sums) < found.best <= found.total + 1e-9 <= found.alone + 2e-9
        assert found.alone == pytest.approx(sum(sums))
        # What overlaps is what is saved; with equal chunks the second buffer is all that it takes.
        assert found.alone - found.total == pytest.approx(found.share * min(sums), abs=1e-9)
        turns = choices["streams"] == 1 or choices["buffers"] == 1 or choices["chunks"] == 1
        assert found.total == pytest.approx(found.alone if turns else found.best)
        assert found.share == pytest.approx(0 if turns else 1 - 1 / choices["chunks"], abs=1e-9)


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


class Calls(TorchDispatchMode):
    """Keeps each operation that is run, with its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[Any, Any, dict[str, Any]]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.made.append((function, args, kwargs or {}))
        return function(*args, **(kwargs or {}))


def needs_value_or_waits_for_a_copy(code: str) -> bool:
    """Run `code` on tensors without data: a line that needs a value cannot run.

    The device "meta" plays the GPU. It holds shapes and no values, which is all that the host knows of a GPU's
    tensors before the GPU is done.
    """
    failed = False
    with Calls() as calls, contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(code, names("meta"))
        except (RuntimeError, NotImplementedError) as error:
            assert "meta" in str(error).lower(), error
            failed = True
    copies = [
        bool(options.get("non_blocking"))
        for function, args, options in calls.made
        if function is torch.ops.aten._to_copy.default and options["device"] != args[0].device
    ]
    # A queued copy from "meta" is refused, but what counts here is that nobody would wait for it.
    return not any(copies) and (failed or bool(copies))


# Printing a tensor on "meta" leaves the values out, and `torch.tensor` copies below the level seen here.
NOT_ON_META = {"print(loss)", "torch.tensor(3.0, device=device)"}


@pytest.mark.parametrize("code", [code for code in LINES if code not in NOT_ON_META])
def test_a_line_waits_if_it_needs_a_value(code: str) -> None:
    assert needs_value_or_waits_for_a_copy(code) is LINES[code].waits


@pytest.mark.parametrize("code", ["torch.tensor(3.0, device=device)", "torch.full((), 3.0, device=device)"])
def test_a_tensor_from_a_number_is_made_on_the_host_first(code: str) -> None:
    """Otherwise the dispatcher would see the device asked for, as it does with `torch.full`."""
    there = {"torch": torch, "device": "meta"}
    with Calls() as calls:
        exec(code, there)
    seen = torch.device("meta") in [options.get("device") for _, _, options in calls.made]
    assert seen is not LINES[code].waits


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
    spans = found.with_line.spans
    names = ["python", "launch 0", "wait", "python", "launch 1", "wait"]
    assert [span.name for span in spans][:6] == names
    moments = [(0, 200), (200, 400), (400, 1210), (1210, 1410), (1410, 1610), (1610, 2420)]
    assert times(spans)[:6] == moments
    assert times(spans)[-3:] == [(210, 1210), (1420, 2420), (2630, 3630)]
    # Without the line the host is far ahead, and the GPU never pauses.
    assert times(lane(found.without, "GPU")) == [(210, 1210), (1210, 2210), (2210, 3210)]
    assert found.idle_share(found.with_line) == pytest.approx(210 / 1210)
    assert found.idle_share(found.without) == pytest.approx(0)


def test_a_wait_never_helps_and_other_lines_change_nothing() -> None:
    for choices in hidden_waits.EXPLORER.grid():
        found = hidden_waits.compute(**choices)
        for steps in (found.with_line, found.without):
            assert in_turn(lane(steps, "host")) and in_turn(lane(steps, "GPU"))
            assert steps.busy("GPU") == pytest.approx(3 * choices["seconds"])
            assert -1e-9 <= found.idle_share(steps) < 1
        if found.line.waits:
            assert found.with_line.seconds() > found.without.seconds()
            assert found.idle_share(found.with_line) > found.idle_share(found.without)
        else:
            assert found.with_line == found.without


# --- streams ------------------------------------------------------------------------------------------


def test_streams_by_hand() -> None:
    """20 µs per kernel, 4 µs per launch: one stream 4 + 16 · 20, two 8 + 8 · 20."""
    found = stream_overlap.compute(share=50, duration=20e-6, launch=4e-6, streams=2)
    assert found.one == pytest.approx(324e-6) and found.two == pytest.approx(168e-6)
    assert found.reason == "overlaps" and found.gain == pytest.approx(324 / 168)
    assert times(lane(found.plan, "stream 1"))[:3] == [(4, 24), (24, 44), (44, 64)]
    assert times(lane(found.plan, "stream 2"))[:3] == [(8, 28), (28, 48), (48, 68)]
    # A full GPU: one after the other, whatever the stream.
    full = stream_overlap.compute(share=100, duration=20e-6, launch=4e-6, streams=2)
    assert full.two == pytest.approx(324e-6) and full.reason == "GPU full"
    assert times(lane(full.plan, "stream 2"))[:2] == [(24, 44), (64, 84)]
    # Over before the next launch: 16 launches and one kernel.
    tiny = stream_overlap.compute(share=5, duration=2e-6, launch=10e-6, streams=2)
    assert tiny.one == tiny.two == pytest.approx(162e-6) and tiny.reason == "launches"


def test_the_rules_of_streams_hold_everywhere() -> None:
    seen = set()
    for choices in stream_overlap.EXPLORER.grid():
        found = stream_overlap.compute(**choices)
        kernels = [span for span in found.plan.spans if span.lane != "host"]
        launches = lane(found.plan, "host")
        assert len(kernels) == len(launches) == 16
        assert {s.lane for s in kernels} == {f"stream {n + 1}" for n in range(choices["streams"])}
        assert all(in_turn(lane(found.plan, name)) for name in {s.lane for s in kernels})
        for place, (launched, kernel) in enumerate(zip(launches, kernels, strict=True)):
            assert launched.name.split()[1] == kernel.name.split()[1] and kernel.start >= launched.end
            # Nobody waits without a reason: something ends, or is launched, just when a kernel starts.
            assert kernel.start in [launched.end, *(s.end for s in kernels[:place])]
            running = sum(s.start <= kernel.start < s.end for s in kernels)
            assert choices["share"] * running <= 100
        seen.add(found.reason)
        assert 1 <= found.gain + 1e-12 and found.gain <= 2
        assert found.gain > 1.5 if found.reason == "overlaps" else found.gain == pytest.approx(1)
        assert choices["share"] < 100 or found.reason != "overlaps"
        assert choices["duration"] >= choices["launch"] or found.reason == "launches"
        assert choices["share"] != 50 or choices["duration"] < 200e-6 or found.gain > 1.9
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
    assert noted == [("curve", "launches", {"times": {name: [*both] for name, both in TIMES.items()}})]
    page = shown[0].html()
    assert_nested(page)
    assert ("NVIDIA H200" in page) == (recorded is not None)
    (axes,) = shown[0].figure.axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows[-2:] == ["large", "small"] and len(rows) == 2 + bool(recorded), "the first is at the top"
    widths = sorted(bar.get_width() for bar in axes.patches)
    left, right = axes.get_xlim()
    assert left < widths[0] == 3e-6 and widths[-1] == 2e-2 < right
    with pytest.raises(ValueError, match="at least one"):
        returns("nothing", {})


# --- slow images ---------------------------------------------------------------------------------------


def test_slow_images_are_the_digits_and_take_their_time_also_in_another_process() -> None:
    made = SlowImages(count=3, seconds=0.01)
    assert len(pickle.dumps(made)) < 5_000, "not the whole data set"
    data = pickle.loads(pickle.dumps(made))
    start = time.perf_counter()
    images, labels = zip(*(data[place] for place in range(len(data))), strict=True)
    assert time.perf_counter() - start >= 0.03 and len(data) == 3
    assert torch.equal(torch.stack(images), digits().images[:3].flatten(1))
    assert torch.equal(torch.stack(labels), digits().labels[:3])


# --- exercises: timing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 4], ids=["fastest", "median"])
def test_timing_one_by_one_passes_too(place: int) -> None:
    def timed(action: Any, synchronize: Any, clock: Any) -> float:
        found = []
        for _ in range(9):
            synchronize()
            start = clock()
            action(), synchronize()
            found.append(clock() - start)
        return sorted(found)[place]

    assert examine(exercises_of("04")["fair_timing"], timed).key == "solved"


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
PIPELINE_IN_A_FRESH_PROCESS = """
import practice_gpu, torch
device = practice_gpu.start("T4")[0]
gpu = torch.get_device_module(device)
{source}
host, rooms = [torch.full((1000,), float(k)).pin_memory() for k in range(8)], torch.zeros(2, 1000, device=device)
used = torch.zeros(8, device=device)
gpu.synchronize()

def load(k, room):
    rooms[room].copy_(host[k], non_blocking=True)

def train(k, room):
    gpu._sleep({train})
    used[k] = rooms[room].max()

pipeline(gpu.Stream(), gpu.Stream(), load, train)
print(len(practice_gpu.races()), used.tolist() == list(range(8)))
"""


@pytest.mark.parametrize("without", [None, *WAITS])
def test_the_lessons_pipeline_has_both_waits(without: str | None) -> None:
    """A missing wait need not show in the values; the practice GPU names the race all the same."""
    (source,) = [cell.text for cell in cells("code") if (cell.lesson, cell.id) == ("04", "overlap-build")]
    assert all(source.count(line) == 1 for line in WAITS.values())
    if without:
        source = source.replace(WAITS[without], "")
    program = PIPELINE_IN_A_FRESH_PROCESS.format(source=source, train=1_000_000)
    races, right = run_fresh(program, CUDA_VISIBLE_DEVICES="").split()
    assert (races == "0") is (without is None)
    assert right == "True" or without


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


# --- times ---------------------------------------------------------------------------------------------


def test_a_bug_counts_only_if_its_cure_always_helped() -> None:
    seen = iter([(False, False), (True, True), (False, True), (True, True)])
    assert times_seen(lambda _: next(seen), tries=3) == 2, "the first call only warms up"
    cured = iter([(True, True), (True, True), (True, False)])
    assert times_seen(lambda _: next(cured), tries=2) == 0


def test_two_times_of_a_queue() -> None:
    with ThreadPoolExecutor(max_workers=1) as worker:
        tickets: list[Any] = []
        launch, finish = (
            lambda: tickets.append(worker.submit(time.sleep, 0.3)),
            lambda: [t.result() for t in tickets],
        )
        returned, done = two_times(launch, finish, runs=3)
    assert returned < 0.15 and 0.3 <= done < 0.9, "of one run, not of three"


def test_the_times_of_a_practice_gpu_are_modelled_and_no_measurement(shown: list[Any]) -> None:
    """Noted is only what was measured, and the caption says what was not."""
    assert not is_modelled(clock())
    program = (
        "import sys; sys.path[:0] = ['notebooks']\nfrom course_utils import lesson_gpus, run_mode\n"
        "from lesson_04 import two_times\nimport torch\nlesson_gpus.start(1)\n(device,) = lesson_gpus.gpus()\n"
        "a, gpu = torch.ones(512, 512, device=device), torch.get_device_module(device)\n"
        "run_mode.note = lambda *what: print('noted')\n"
        "two_times.display = lambda picture: print(picture.caption)\n"
        "times = two_times.two_times(lambda: a @ a, gpu.synchronize)\n"
        "two_times.returns('launches', {'a': times})\nprint(*times)"
    )
    said = run_fresh(program, CUDA_VISIBLE_DEVICES="")
    assert "modelled" in said.splitlines()[0] and "推算值" in said and "noted" not in said
    returned, done = (float(word) for word in said.splitlines()[-1].split() if word != "modelled")
    assert returned == pytest.approx(5e-6) and done > 10 * returned


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
    for given in itertools.product((1, 2, 7), (1.0, 2.5), (0.5, 1.0, 4.0)):
        assert done_after(*given) == pytest.approx(max(s.end for s in schedule(*given).spans))


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
