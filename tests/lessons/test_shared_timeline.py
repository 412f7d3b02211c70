"""Timelines: a trace by hand with all that a GPU writes, real recordings of this machine, and their pictures."""

import gzip
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from html_nesting import assert_nested
from torch.profiler import ProfilerActivity, profile, record_function
from unmarked import unmarked

from bilingual import Bilingual
from course_utils import figures, recordings, run_mode
from course_utils import lesson as current_lesson
from course_utils.lesson_gpus import ready
from practice_gpu.simulation import Entry
from shared import timeline
from shared.timeline import Span, Timeline, recording
from shared.timeline.picture import picture as picture_of
from shared.timeline.practice import from_log
from shared.timeline.spans import total_length, union
from shared.timeline_rows import timelines

pytestmark = pytest.mark.usefixtures("no_warnings")

CAPTION = Bilingual("A caption.", "圖說。")
RUN = "NVIDIA H200, PyTorch 2.13.0, 2026-01-01"
MAIN, OTHER, UNKNOWN = 100, 101, 999_999


def event(cat: str, name: str, start: float, end: float, tid: Any = MAIN, **args: Any) -> dict[str, Any]:
    base = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": 1e9 + start, "dur": end - start}
    return base | {"args": args}


def queued(number: int, at: float, tid: int = MAIN) -> dict[str, Any]:
    return event("cuda_runtime", "cudaLaunchKernel", at, at + 2, tid, correlation=number)


def gpu(
    cat: str, name: str, start: float, end: float, stream: int, number: int, device: int = 0
) -> dict[str, Any]:
    return event(cat, name, start, end, stream, correlation=number, stream=stream, device=device)


KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>>(int, float*)"
COPY = "Memcpy HtoD (Pinned -> Device)"

# Times in microseconds. Stream 20 copies 1000..1400 and 1400..1800; stream 7 works 1200..1500 and 1600..2100.
GPU_TRACE: dict[str, Any] = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
        {"ph": "i", "name": "Record Window End", "ts": 1e9 + 9000, "pid": "", "tid": "", "s": "g"},
        event("Trace", "PyTorch Profiler (0)", 0, 3000, "PyTorch Profiler"),
        # before the recorded action: our own first launch
        queued(1, 10),
        gpu("kernel", KERNEL, 20, 40, 7, 1),
        event("user_annotation", "shared.timeline 0", 100, 110),
        event("user_annotation", "shared.timeline action", 900, 1300),
        event("user_annotation", "copy 0", 910, 930),
        event("cpu_op", "aten::copy_", 912, 928),
        queued(2, 915),
        event("user_annotation", "copy 1", 940, 960),
        queued(3, 945),
        event("user_annotation", "work 0", 970, 1000),
        event("user_annotation", "inner", 975, 985),
        queued(4, 978),
        queued(5, 990),
        event("cuda_runtime", "cudaStreamSynchronize", 1010, 1280, correlation=6),
        event("cuda_runtime", "cudaDeviceSynchronize", 1310, 2200, correlation=7),  # record's own
        event("gpu_user_annotation", "copy 0", 1000, 1400, 20, stream=20),
        event("gpu_user_annotation", "shared.timeline action", 1200, 2000, 7, stream=7),
        gpu("gpu_memcpy", COPY, 1000, 1400, 20, 2),
        gpu("gpu_memcpy", COPY, 1400, 1800, 20, 3),
        gpu("kernel", KERNEL, 1200, 1500, 7, 4),
        gpu("kernel", "ampere_sgemm_128x64_tn", 1600, 2000, 7, 5),
        gpu("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 2000, 2050, 7, 8),
        gpu("gpu_memset", "Memset (Device)", 2050, 2100, 7, 9),
    ],
}  # fmt: skip


@pytest.fixture
def on_gpu() -> Timeline:
    return timeline.from_trace(GPU_TRACE)


# --- lanes of a GPU's trace ---------------------------------------------------------------------------


def spans(found: Timeline, lane: str) -> list[tuple[str, int, int]]:
    """Return name, start and end in microseconds of a lane's spans."""
    return [(s.name, round(s.start * 1e6), round(s.end * 1e6)) for s in found.spans if s.lane == lane]


def test_lanes_of_a_gpus_trace(on_gpu: Timeline) -> None:
    """The first span, "copy 0" on the host, starts at 910."""
    assert on_gpu.lanes() == ["host 1", "GPU stream 1 copy", "GPU stream 2 work"]
    assert spans(on_gpu, "host 1") == [
        ("copy 0", 0, 20), ("copy 1", 30, 50), ("work 0", 60, 90), ("inner", 65, 75), ("wait", 100, 370),
    ]  # fmt: skip
    assert spans(on_gpu, "GPU stream 1 copy") == [("copy 0", 90, 490), ("copy 1", 490, 890)]
    # Queued in the innermost mark, in the outer one, and in none.
    assert spans(on_gpu, "GPU stream 2 work") == [
        ("inner", 290, 590), ("work 0", 690, 1090),
        ("copy DtoD", 1090, 1140), ("memset", 1140, 1190),
    ]  # fmt: skip


def test_overlap_by_hand(on_gpu: Timeline) -> None:
    """Copies 1000..1800; work 1200..1500 and 1600..2100: both at 1200..1500 and at 1600..1800."""
    assert on_gpu.seconds() == pytest.approx(1190e-6)
    assert on_gpu.busy("GPU stream 1 copy") == pytest.approx(800e-6)
    assert on_gpu.busy("GPU stream 2 work") == pytest.approx(800e-6)
    assert total_length(on_gpu.both_busy("GPU copy", "GPU work")) == pytest.approx(500e-6)
    assert total_length(on_gpu.both_busy("GPU work", "GPU copy")) == pytest.approx(500e-6)
    assert on_gpu.overlap_share("GPU copy", "GPU work") == pytest.approx(500 / 800)
    assert on_gpu.busiest() == ("GPU stream 1 copy", "GPU stream 2 work")
    # The host queues for 20 + 20 + 30 and waits for 270; of that 80 (1200..1280) while the GPU works.
    assert on_gpu.busy("host 1") == pytest.approx(340e-6)
    assert total_length(on_gpu.both_busy("host", "GPU work")) == pytest.approx(80e-6)


def test_without_marks_the_outermost_operations_are_shown() -> None:
    trace = {"traceEvents": [
        event("cpu_op", "aten::linear", 10, 50), event("cpu_op", "aten::addmm", 15, 45), queued(1, 20),
        event("cpu_op", "aten::relu", 50, 60), event("cpu_op", "aten::relu", 12, 30, OTHER),
        event("python_function", "threading.py(1): run", 0, 100),
        event("cuda_runtime", "cudaStreamSynchronize", 52, 58),
        gpu("kernel", KERNEL, 40, 90, 7, 1),
    ]}  # fmt: skip
    found = timeline.from_trace(trace)
    assert spans(found, "host 1") == [("linear", 0, 40), ("relu", 40, 50)], "the wait is inside relu"
    assert spans(found, "host 2") == [("relu", 2, 20)]
    assert spans(found, "GPU stream 1 work") == [("vectorized_elementwise_kernel", 30, 80)]


@pytest.mark.parametrize("others, thread, name", [
    ([], UNKNOWN, "copy 0"),
    ([(15, 25)], UNKNOWN, "copy HtoD"),  # two threads are in a mark at that moment: nobody knows which it was
    ([], MAIN, "copy HtoD"),  # a thread that the tracer knows, and that is in no mark
])  # fmt: skip
def test_work_queued_by_another_thread_bears_its_marks_name(others: Any, thread: int, name: str) -> None:
    marks = [event("user_annotation", "main", 0, 5), event("user_annotation", "copy 0", 10, 30, OTHER)]
    marks += [event("user_annotation", "work 0", *both, 102) for both in others]
    trace = {"traceEvents": [*marks, queued(1, 20, thread), gpu("gpu_memcpy", COPY, 40, 60, 7, 1)]}
    assert [s.name for s in timeline.from_trace(trace).spans if s.lane.startswith("GPU")] == [name]


def test_several_gpus_and_streams_are_numbered_in_order_of_appearance() -> None:
    trace = {"traceEvents": [
        *(gpu("kernel", "k", 10 * i, 10 * i + 5, 100 - i, i) for i in range(11)),
        gpu("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 3, 4, 98, 20),
    ]}  # fmt: skip
    found = timeline.from_trace(trace)
    assert found.lanes() == [
        "GPU stream 1 work", "GPU stream 2 copy", "GPU stream 2 work",
        *(f"GPU stream {i} work" for i in range(3, 12)),
    ]  # fmt: skip
    assert spans(found, "GPU stream 2 copy") == [("copy DtoH pageable", 3, 4)]
    trace["traceEvents"].append(gpu("kernel", "k", 50, 55, 7, 21, device=1))
    found = timeline.from_trace(trace)
    assert {"GPU cuda:0 stream 1 work", "GPU cuda:1 stream 1 work"} < set(found.lanes())
    assert found.busy("GPU cuda:1 work") == pytest.approx(5e-6)


def test_the_saved_trace_is_the_profilers_without_our_own_marks(on_gpu: Timeline, tmp_path: Path) -> None:
    plain = timeline.save(on_gpu, tmp_path / "trace.json")
    packed = timeline.save(on_gpu, tmp_path / "trace.json.gz")
    trace = json.loads(plain.read_text(encoding="utf-8"))
    assert trace == json.loads(gzip.decompress(packed.read_bytes()))
    expected = [e for e in GPU_TRACE["traceEvents"] if "shared.timeline" not in e["name"]]
    assert trace["traceEvents"] == expected and trace["schemaVersion"] == 1


def test_what_cannot_be_saved_says_what_to_do(on_gpu: Timeline, tmp_path: Path) -> None:
    for name in ("trace", "trace.txt", "trace.gz", "json"):
        with pytest.raises(ValueError, match="must end in .json or .json.gz"):
            timeline.save(on_gpu, tmp_path / name)
    with pytest.raises(ValueError, match="use record"):  # a timeline of another machine has no trace
        timeline.save(Timeline.from_json(on_gpu.to_json()), tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


# --- counting -----------------------------------------------------------------------------------------


def test_nested_and_touching_spans_count_once() -> None:
    found = Timeline([
        Span("a", "outer", 0, 4), Span("a", "inner", 1, 2), Span("a", "innermost", 1.2, 1.4),
        Span("a", "next", 4, 5), Span("a", "nothing", 8, 8), Span("b", "over", 3, 10),
    ])  # fmt: skip
    assert found.intervals("a") == [(0, 5)] and found.busy("a") == 5
    assert total_length(found.both_busy("a", "b")) == 2 and found.overlap_share("a", "b") == 2 / 5


def test_a_lane_without_length_shares_nothing() -> None:
    assert Timeline([Span("a", "x", 1, 1), Span("b", "y", 0, 2)]).overlap_share("a", "b") == 0


@pytest.mark.parametrize("lane, found", [
    ("host 1", ["host 1"]), ("host", ["host 1", "host 10"]), ("GPU", ["GPU stream 1 copy", "GPU stream 1 work"]),
    ("GPU copy", ["GPU stream 1 copy"]), ("GPU stream 1", ["GPU stream 1 copy", "GPU stream 1 work"]),
    ("copy", ["GPU stream 1 copy"]),
])  # fmt: skip
def test_lanes_are_found_by_their_words(lane: str, found: list[str]) -> None:
    names = ["host 1", "host 10", "GPU stream 1 copy", "GPU stream 1 work"]
    made = Timeline([Span(name, "x", i, i + 1) for i, name in enumerate(names)])
    assert made.busy(lane) == len(found)
    assert made.intervals(lane) == union((names.index(n), names.index(n) + 1) for n in found)


def test_a_lane_that_is_not_there_is_answered_with_the_list(on_gpu: Timeline) -> None:
    for lane in ("", "hos", "copy GPU", "GPU stream 3", "gpu"):
        with pytest.raises(ValueError, match="no lane .* it has 'host 1', 'GPU stream 1 copy'"):
            on_gpu.busy(lane)


def test_two_lanes_of_the_gpu_are_compared_or_the_host_and_its_only_one() -> None:
    made = [Span("host 1", "x", 0, 5)]
    assert Timeline(made).busiest() == ("host 1",)
    made += [Span("host 2", "x", 0, 1), Span("GPU stream 1 work", "x", 0, 3)]
    assert Timeline(made).busiest() == ("host 1", "GPU stream 1 work")
    made += [Span("GPU stream 1 copy", "x", 0, 1)]
    assert set(Timeline(made).busiest()) == {"GPU stream 1 copy", "GPU stream 1 work"}


def test_a_recording_comes_back(on_gpu: Timeline) -> None:
    values = json.loads(json.dumps(on_gpu.to_json(), sort_keys=True))
    again = Timeline.from_json(values)
    assert again.lanes() == on_gpu.lanes() and [s.name for s in again.spans] == [s.name for s in on_gpu.spans]
    for one, other in zip(again.spans, on_gpu.spans, strict=True):
        assert (one.start, one.end) == pytest.approx((other.start, other.end), abs=1e-7)
    assert values["overlap_share"] == pytest.approx(500 / 800)
    assert values["pair"] == ["GPU stream 1 copy", "GPU stream 2 work"] and values["seconds"] > 0


def test_a_long_recording_keeps_the_longest_spans_and_the_numbers_of_all() -> None:
    made = Timeline([Span("a", f"work: {i}", i, i + 0.1 + (i % 7 == 0) / 2) for i in range(1000)])
    values = made.to_json()
    again = Timeline.from_json(values)
    assert len(again.spans) == 400 and values["seconds"] == made.seconds()
    assert {f"work: {i}" for i in range(0, 1000, 7)} < {s.name for s in again.spans}
    assert [s.start for s in again.spans] == sorted(s.start for s in again.spans)


# --- recording ----------------------------------------------------------------------------------------


def two_threads() -> None:
    def there() -> None:
        with timeline.mark("there"):
            time.sleep(2e-3)

    with ThreadPoolExecutor(1) as pool:
        with timeline.mark("before"):
            torch.ones(4).add_(1)
        pool.submit(there).result()
        with timeline.mark("after"):
            waiting = pool.submit(there)
            time.sleep(1e-3)
        waiting.result()


def test_two_threads_are_two_lanes_on_one_clock() -> None:
    """The thread is asked after "before", and awaited before "after"; the two clocks are tied within microseconds."""
    found = timeline.record(two_threads)
    assert [lane for lane in found.lanes() if not lane.startswith("GPU")] == ["host 1", "host 2"]
    before, after = (s for s in found.spans if s.lane == "host 1")
    there, later = (s for s in found.spans if s.lane == "host 2")
    assert [s.name for s in (before, after, there, later)] == ["before", "after", "there", "there"]
    assert before.end < there.start + 1e-4 and there.end < after.start + 1e-4
    assert 1.9e-3 < there.end - there.start
    assert before.start == 0 and total_length(found.both_busy("host 1", "host 2")) <= found.busy("host 1")


def test_record_function_and_operations_of_the_calling_thread_are_seen() -> None:
    def named() -> None:
        with record_function("part"):
            torch.ones(3) + 1
        torch.ones(3) * 2

    assert [s.name for s in timeline.record(named).spans] == ["part"]
    plain = timeline.record(lambda: torch.ones(3).add(1))
    assert plain.lanes() == ["host 1"] and [s.name for s in plain.spans] == ["ones", "add"]


def test_what_pytorch_marks_by_itself_counts_as_an_operation() -> None:
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()

    names = [s.name for s in timeline.record(step).spans]
    assert {"Optimizer.zero_grad", "linear", "sum", "AddmmBackward0", "Optimizer.step"} <= set(names)
    assert "_foreach_add_" not in names and "addmm" not in names, "what is inside is not shown"


def test_the_saved_recording_holds_the_marks_of_all_threads(tmp_path: Path) -> None:
    path = timeline.save(timeline.record(two_threads), tmp_path / "trace.json")
    trace = json.loads(path.read_text(encoding="utf-8"))
    found = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "user_annotation"]
    assert sorted(found) == ["after", "before", "there", "there"]
    assert "shared.timeline" not in path.read_text(encoding="utf-8")
    assert not {"traceName", "host_name"} & set(trace), "paths and names of this machine"


def test_the_action_is_warmed_up_unseen() -> None:
    calls: list[int] = []

    def action() -> None:
        with timeline.mark(f"call {len(calls)}"):
            calls.append(1)

    assert [s.name for s in timeline.record(action, warm_up=3).spans] == ["call 3"]
    assert [s.name for s in timeline.record(action, warm_up=0).spans] == ["call 4"]


def test_a_mark_that_ends_after_the_recording_is_not_put_into_the_next_one() -> None:
    with ThreadPoolExecutor(1) as pool, ExitStack() as late:
        timeline.record(
            lambda: (pool.submit(late.enter_context, timeline.mark("late")).result(), torch.ones(1)),
            warm_up=0,
        )
        found = timeline.record(lambda: (pool.submit(late.close).result(), torch.ones(1)), warm_up=0)
    assert "late" not in [s.name for s in found.spans]


@pytest.mark.parametrize("action, kind, words", [
    (lambda: time.sleep(1e-3), ValueError, "nothing to draw.*timeline.mark"),
    (None, TypeError, "write `lambda: …`"), (torch.ones(2), TypeError, "write `lambda: …`"),
])  # fmt: skip
def test_what_cannot_be_recorded_says_what_to_do(action: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        timeline.record(action)


def test_a_profiler_that_is_running_is_named_and_left_alone() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as outer:
        torch.ones(3)
        with pytest.raises(RuntimeError, match="already running.*leave its `with` block"):
            timeline.record(two_threads)
        torch.zeros(3)
    assert {"aten::ones", "aten::zeros"} <= {e.name for e in outer.events()}
    assert timeline.record(lambda: torch.ones(3)).lanes() == ["host 1"]


@pytest.mark.parametrize("warm_up", [0, 1])
def test_an_error_of_the_action_comes_through_and_the_next_recording_works(warm_up: int) -> None:
    with pytest.raises(ZeroDivisionError):
        timeline.record(lambda: torch.ones(1) / (1 // 0), warm_up=warm_up)
    assert not torch.autograd._profiler_enabled() and recording._current is None
    assert timeline.record(lambda: torch.ones(1)).lanes() == ["host 1"]


def test_nothing_is_printed() -> None:
    """Also nothing past Python: the profiler's C++ side writes to the terminal in some releases."""
    code = (
        "import torch\nfrom shared import timeline\n"
        "for _ in range(2): timeline.record(lambda: torch.ones(3))\n"
        "from torch.profiler import profile\nwith profile(): torch.ones(3)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "KINETO_LOG_LEVEL"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "notebooks")
    command = [sys.executable, "-W", "always::UserWarning", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.cuda
def test_a_gpus_streams_are_lanes() -> None:
    host = [torch.randn(2**22).pin_memory() for _ in range(3)]
    side = torch.cuda.Stream()
    left = torch.randn(2048, 2048, device="cuda")

    def action() -> None:
        for number, source in enumerate(host):
            with timeline.mark(f"copy {number}"), torch.cuda.stream(side):
                source.to("cuda", non_blocking=True)
            with timeline.mark(f"work {number}"):
                left @ left

    found = timeline.record(action)
    assert {name for name in found.lanes() if name.endswith("copy")} and found.busy("GPU work") > 0
    assert [s.name for s in found.spans if s.lane.endswith("copy")] == ["copy 0", "copy 1", "copy 2"]
    assert {s.name for s in found.spans if s.lane.endswith("work")} == {"work 0", "work 1", "work 2"}
    assert [s.name for s in found.spans if s.lane == "host 1"][:2] == ["copy 0", "work 0"]
    assert 0 <= found.overlap_share("GPU copy", "GPU work") <= 1


# --- pictures -----------------------------------------------------------------------------------------


def on_cpu() -> Timeline:
    made = [Span("host 1", f"copy {i}", i * 1e-3, (i + 1) * 1e-3) for i in range(4)]
    return Timeline(
        [*made, *(Span("host 2", f"work {i}", (i + 1) * 1e-3, (i + 1.5) * 1e-3) for i in range(4))]
    )


def texts_in(picture: figures.Picture, part: int = 0) -> list[str]:
    axes = picture.figure.axes[part]
    return [label.get_text() for label in [*axes.texts, *axes.get_yticklabels()]]


def test_the_picture_names_lanes_and_spans() -> None:
    drawn = picture_of(on_cpu(), None, CAPTION)
    assert {"host 1\n主機 1", "host 2\n主機 2", "copy 0", "work 3"} <= set(texts_in(drawn))
    assert "4.5 ms" in drawn.caption.en and "75%" in drawn.caption.en
    assert drawn.caption.en.endswith("⟨⟩"), "nothing is recorded, and nothing said"
    assert_nested(drawn.html())


def test_a_profiler_that_sees_no_gpu_is_not_taken_for_a_machine_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As under WSL."""
    for gpu_here in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda gpu_here=gpu_here: gpu_here)
        assert ("WSL" in picture_of(on_cpu(), None, CAPTION).caption.en) is gpu_here


def test_apart_from_marks_the_texts_are_the_same_everywhere(on_gpu: Timeline) -> None:
    """With, without, and with a recorded GPU; that is what the stored outputs are compared by."""
    alone = Timeline([Span("host 1", "x", 0, 1)])
    recorded = on_gpu.to_json() | {"run": RUN}
    other = alone.to_json() | {"run": RUN}
    found = [(alone, None), (on_cpu(), None), (on_cpu(), recorded), (on_gpu, None), (on_cpu(), other)]
    pictures = [picture_of(*pair, CAPTION) for pair in found]
    for tag in ("en", "zh"):
        assert len({unmarked(getattr(p.caption, tag)) for p in pictures}) == 1
        assert len({getattr(p.alternative, tag) for p in pictures}) == 1


def test_names_are_written_where_they_fit_once_for_neighbours_and_not_over_inner_spans() -> None:
    work = [Span("a", f"work {i}", i, i + 0.9) for i in range(20)]
    written = texts_in(picture_of(Timeline(work), None, CAPTION))
    assert "3" in written and "work 3" not in written, "half a name says nothing; a number does"
    long = [Span("a", f"a very long name of a kernel{i}", 3 * i, 3 * i + 0.9) for i in range(20)]
    assert texts_in(picture_of(Timeline(long), None, CAPTION)) == ["a"]
    same = [Span("a", "work 0", i, i + 0.9) for i in range(10)]
    nested = [Span("b", "outer", 0, 10), Span("b", "inner", 5, 9)]
    assert sorted(texts_in(picture_of(Timeline(same + nested), None, CAPTION))) == [
        "a",
        "b",
        "inner",
        "work 0",
    ]


# --- what lessons call --------------------------------------------------------------------------------


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what lesson 04 notes from now on for a recording."""
    found: list[Any] = []
    current_lesson.use("04")
    monkeypatch.setattr(run_mode, "note", lambda *what: found.append(what))
    return found


@pytest.mark.parametrize("gpu_here", [False, True])
def test_a_timeline_is_shown_and_noted_without_a_gpu_above_the_recorded_one(
    gpu_here: bool, on_gpu: Timeline, shown: list[Any], noted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu_here)
    monkeypatch.setattr(recordings, "recorded", lambda name: on_gpu.to_json() | {"run": RUN})
    timeline.show("pipeline", on_gpu if gpu_here else on_cpu())
    assert len(shown[0].figure.axes) == (1 if gpu_here else 2)
    assert (f"{RUN}: 1.19 ms" in shown[0].caption.en) is not gpu_here
    assert "GPU stream 1 copy\nGPU 串流 1 複製" in texts_in(shown[0], -1)
    assert_nested(shown[0].html())
    kind, name, values = noted[0]
    assert (kind, name) == ("curve", "pipeline") and json.dumps(values)
    assert Timeline.from_json(values).lanes() == (on_gpu if gpu_here else on_cpu()).lanes()


# --- several, one above the other ---------------------------------------------------------------------

WAYS = {
    "slow": Timeline([Span("device 0", "A", 5.0, 5.004), Span("device 1", "B", 5.004, 5.010)]),
    "fast": Timeline([Span("device 1", "B", 0.0, 0.003), Span("device 0", "A", 0.0, 0.002)]),
}


def test_several_timelines_share_a_scale(shown: list[Any]) -> None:
    current_lesson.use("05")
    timelines("three_ways", WAYS)
    page = shown[0].html()
    assert_nested(page)
    assert "slow: 10 ms; fast: 3 ms" in page and "slow：10 ms；fast：3 ms" in page
    above, below = shown[0].figure.axes
    assert above.get_xlim() == below.get_xlim()
    assert [above.get_title(loc="left"), below.get_title(loc="left")] == ["slow", "fast"]
    for axes in (above, below):
        assert [t.get_text() for t in axes.get_yticklabels()] == ["device 1", "device 0"], "0 at the top"


# --- practice GPUs -------------------------------------------------------------------------------------


def test_the_log_of_practice_gpus_becomes_lanes_of_streams() -> None:
    log = [
        Entry("copy", "host to GPU", 0, 7, 1e-3, 3e-3),
        Entry("kernel", "mm", 0, 9, 2e-3, 4e-3),
        Entry("wait", "synchronize", -1, 0, 1e-3, 4e-3),
    ]
    found = from_log(log)
    assert found.modelled and found.lanes() == ["host 1", "GPU stream 1 copy", "GPU stream 2 work"]
    assert total_length(found.both_busy("GPU copy", "GPU work")) == pytest.approx(1e-3)
    assert found.seconds() == pytest.approx(3e-3)
    assert [span.name for span in found.spans] == ["wait", "host to GPU", "mm"]
    said = picture_of(found, None, CAPTION).caption
    assert "modelled" in said.en and "推算值" in said.zh and "machine's own" not in said.en
    two = from_log([*log, Entry("kernel", "mm", 1, 0, 2e-3, 4e-3)]).lanes()
    assert two[1:] == [
        f"GPU practice:{lane}" for lane in ("0 stream 1 copy", "0 stream 2 work", "1 stream 1 work")
    ]
    with pytest.raises(ValueError, match="nothing to draw"):
        from_log([])


@pytest.mark.skipif(torch.cuda.is_available(), reason="a machine with a GPU has no practice GPU")
def test_what_practice_gpus_did_is_recorded_from_their_log_and_not_noted(
    shown: list[Any], noted: list[Any]
) -> None:
    x = torch.ones(1000, device=ready()[0])
    found = timeline.record(lambda: x.add_(1))
    assert found.modelled and [(s.lane, s.name) for s in found.spans] == [("GPU stream 1 work", "add_")]
    timeline.show("pipeline", found)
    assert shown and not noted
    assert not timeline.record(lambda: torch.ones(3) + 1).modelled, "what ran on the CPU is not on the log"
