"""Lesson 04: its pipeline, its waits, its picture of launches, and right answers of several kinds."""

import contextlib
import io
import itertools
import pickle
import re
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import cells
from published import PUBLISHED, run

import practice_gpu
from course_utils import recordings, run_mode
from course_utils.exercises import examine, exercises_of
from course_utils.lesson_gpus import ready
from course_utils.measure import is_modelled
from lesson_04 import hidden_waits
from lesson_04.exercises import race
from lesson_04.exercises.launch_bound import done_after, schedule
from lesson_04.slow_images import SlowImages
from lesson_04.two_times import clock, returns, times_seen, two_times
from shared.digits import digits
from shared.waiting import Waits

pytestmark = pytest.mark.usefixtures("no_warnings")

# --- launches ------------------------------------------------------------------------------------------

TIMES = {"small": (3e-6, 1e-4), "large": (3e-6, 2e-2)}


def test_a_picture_of_launches(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Any] = []
    recorded = {
        "times": {"pinned, non_blocking": [8e-6, 5e-3]},
        "run": "NVIDIA H200, PyTorch 2.13.0, 2026-01-01",
    }
    monkeypatch.setattr(run_mode, "note", lambda *what: noted.append(what))
    monkeypatch.setattr(recordings, "recorded", lambda _: recorded)
    returns("launches", TIMES)
    assert noted == [("curve", "launches", {"times": {name: [*both] for name, both in TIMES.items()}})]
    page = shown[0].html()
    assert_nested(page)
    assert "NVIDIA H200" in page
    (axes,) = shown[0].figure.axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows[1:] == ["large", "small"], "the first is at the top"
    widths = sorted(bar.get_width() for bar in axes.patches)
    left, right = axes.get_xlim()
    assert left < widths[0] == 3e-6 and widths[-1] == 2e-2 < right


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


# --- the pipeline --------------------------------------------------------------------------------------

WAITS = {
    "free": "        copy.wait_event(free[room])           # until this buffer may be overwritten\n",
    "arrived": "        work.wait_event(copy.record_event())  # until the batch has arrived\n",
}


@pytest.mark.parametrize("without", [None, *WAITS])
def test_the_lessons_pipeline_has_both_waits(without: str | None) -> None:
    """A missing wait need not show in the values; the practice GPU names the race all the same."""
    (source,) = [cell.text for cell in cells() if (cell.lesson, cell.id) == ("04", "overlap-build")]
    assert all(source.count(line) == 1 for line in WAITS.values())
    (device,) = ready()
    gpu, made = torch.get_device_module(device), {}
    exec(source.replace(WAITS[without], "") if without else source, {"gpu": gpu}, made)
    host = [torch.full((1000,), float(k)).pin_memory() for k in range(8)]
    rooms, used = torch.zeros(2, 1000, device=device), torch.zeros(8, device=device)
    gpu.synchronize()
    before = len(practice_gpu.races())

    def train(k: int, room: int) -> None:
        gpu._sleep(1_000_000)
        used[k] = rooms[room].max()

    copy, work = gpu.Stream(), gpu.Stream()
    made["pipeline"](copy, work, lambda k, room: rooms[room].copy_(host[k], non_blocking=True), train)
    assert (len(practice_gpu.races()) == before) is (without is None)
    assert used.tolist() == list(range(8)) or without


@pytest.mark.parametrize("missing", list(itertools.product((False, True), repeat=4)))
def test_the_first_race_of_two_batches_is_named(missing: tuple[bool, ...]) -> None:
    """Whatever other waits are there or not."""
    first, *steps = re.split(r"    \w+\.wait_stream\(\w+\)\n", PUBLISHED["04/race"].solution)
    waits = ["    work.wait_stream(copy)\n", "    copy.wait_stream(work)\n"] * 2
    kept = ["" if gone else wait for gone, wait in zip(missing, waits, strict=True)]
    source = first + "".join(wait + step for wait, step in zip(kept, steps, strict=True))
    answer = examine(exercises_of("04")["race"], run(source, "two_batches"))
    races = [conflict for gone, conflict in zip(missing, race.CONFLICTS.values(), strict=True) if gone]
    if len(races) in (0, 4):
        assert answer.key == ("not_yet" if races else "solved")
    else:
        first, second, _, key = races[0]
        assert answer.key == key and f"when `{first}` is slow, `{second}`" in answer.message.en


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


@pytest.mark.skipif(torch.cuda.is_available(), reason="a machine with a GPU has no practice GPU")
def test_the_times_of_a_practice_gpu_are_modelled_and_no_measurement(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noted is only what was measured, and the caption says what was not."""
    assert not is_modelled(clock())
    monkeypatch.setattr("lesson_04.two_times.display", shown.append)
    monkeypatch.setattr(run_mode, "note", lambda *what: pytest.fail(f"noted: {what}"))
    (device,) = ready()
    a, gpu = torch.ones(512, 512, device=device), torch.get_device_module(device)
    returned, done = times = two_times(lambda: a @ a, gpu.synchronize)
    returns("launches", {"a": times})
    assert "modelled" in shown[0].caption.en and "推算值" in shown[0].caption.zh
    assert returned == pytest.approx(5e-6) and done > 10 * returned


# --- waits ---------------------------------------------------------------------------------------------

WAITING = {
    "loss.item()", "print(loss)", "if loss > 3: ...", "max(loss, other)", "x[mask]", "x.nonzero()", "x.sum().tolist()",
    "x.cpu()", "batch.to(device)", "torch.tensor(3.0, device=device)",
}  # fmt: skip


@pytest.mark.parametrize("code", hidden_waits.REASONS)
def test_the_host_waits_in_these_lines_and_in_no_other(code: str) -> None:
    """PyTorch reports it, and it is so: what was queued before is done when the line returns."""
    assert hidden_waits.waits(code) is (code in WAITING)
    there, gpu = hidden_waits.names(), torch.get_device_module(ready()[0])
    gpu._sleep(300_000_000)  # more than a tenth of a second
    done = gpu.current_stream().record_event()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, there)
    assert done.query() is (code in WAITING)


def test_each_line_opens_with_its_answer_and_the_reason() -> None:
    assert set(hidden_waits.REASONS) >= WAITING
    page = hidden_waits.answers().html
    assert_nested(page)
    assert page.count("<details>") == len(hidden_waits.REASONS)
    assert page.count("The host waits.") == page.count("主機會等。") == len(WAITING)


def test_waits_are_counted_by_line_until_the_block_ends() -> None:
    x = torch.ones(3, device=ready()[0])
    waits = Waits()
    with pytest.raises(ZeroDivisionError), waits:
        for _ in range(3):
            total = x.sum().item()  # here
        1 / (total - 3)
    x.sum().item()
    assert list(waits.lines.values()) == [3] and "here" in next(iter(waits.lines))
    page = waits.table().html
    assert_nested(page)
    assert "total = x.sum().item()" in page and "<td>3</td>" in page
    with Waits() as none:
        x.sum()
    assert "in no line" in none.table().text


def test_a_warning_of_another_kind_is_no_wait() -> None:
    with Waits() as waits:
        warnings.warn("another one", stacklevel=1)
    assert not waits.lines


# --- what the exercises show ---------------------------------------------------------------------------


def test_when_n_kernels_are_done_agrees_with_the_schedule() -> None:
    for given in itertools.product((1, 2, 7), (1.0, 2.5), (0.5, 1.0, 4.0)):
        assert done_after(*given) == pytest.approx(max(s.end for s in schedule(*given).spans))
