"""The explorers of lesson 04: schedules that keep their rules on the whole grid, and waits as PyTorch has them."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.explorers import Explorer, copy_pipeline, hidden_waits, stream_overlap
from course_utils.explorers.copy_pipeline import ONE, PAGEABLE, PINNED
from course_utils.explorers.hidden_waits import LINES
from course_utils.timeline import Span, Timeline

pytestmark = pytest.mark.usefixtures("no_warnings")

COPY, WORK = 5e-3, 4e-3


def lane(plan: Timeline, name: str) -> list[Span]:
    return [span for span in plan.spans if span.lane == name]


def texts(html: str) -> tuple[str, str]:
    """Return the caption's two texts without tags."""
    found = re.search(r'<span lang="en">(.*)</span><span lang="zh-Hant">(.*)</span></figcaption>', html, re.S)
    assert found
    return re.sub("<[^>]*>", "", found[1]), re.sub("<[^>]*>", "", found[2])


EXPLORERS: dict[str, Explorer] = {
    "pipeline": copy_pipeline.explorer(COPY, WORK),
    "waits": hidden_waits.EXPLORER,
    "streams": stream_overlap.EXPLORER,
}


@pytest.mark.parametrize("name", EXPLORERS)
def test_pictures_are_drawn_without_a_warning(name: str) -> None:
    """The defaults, and each value of each control."""
    explorer = EXPLORERS[name]
    sample = [explorer.defaults() | {c.name: value} for c in explorer.controls for _, value in c.options]
    for choices in sample:
        html = explorer.html(**choices)
        assert html.count("<img") == 1
        en, zh = texts(html)
        assert re.search("[a-z]{3}.*[.]$", en) and re.search("[一-鿿].*。$", zh)


# --- pipeline -----------------------------------------------------------------------------------------


def plan(copy: float = 1, work: float = 1, **choices: Any) -> copy_pipeline.Pipeline:
    usual = {"chunks": 4, "buffers": 2, "factor": 1, "mode": PINNED}
    return copy_pipeline.compute(copy, work, **usual | choices)


@pytest.mark.parametrize("copy, work, choices, total", [
    (1, 1, {}, 5),                       # c0 | c1 w0 | c2 w1 | c3 w2 | w3
    (1, 1, {"buffers": 1}, 8), (1, 1, {"mode": ONE}, 8), (1, 1, {"mode": PAGEABLE}, 8),
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
    for choices in EXPLORERS["pipeline"].grid():
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
            assert held <= choices["buffers"] if choices["mode"] == PINNED else held <= 1
        if choices["mode"] != PINNED:
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
        if choices["mode"] != PINNED or choices["buffers"] == 1 or choices["chunks"] == 1:
            assert found.total == pytest.approx(found.alone) and found.share == pytest.approx(0, abs=1e-9)
        else:  # with equal chunks the second buffer is all that it takes
            assert found.total == pytest.approx(found.best)
            assert found.share == pytest.approx(1 - 1 / choices["chunks"])


def test_each_control_matters() -> None:
    usual = EXPLORERS["pipeline"].defaults()
    total = copy_pipeline.compute(COPY, WORK, **usual).total
    for name, value in (("chunks", 16), ("buffers", 1), ("factor", 2), ("mode", ONE)):
        assert copy_pipeline.compute(COPY, WORK, **usual | {name: value}).total > 1.2 * total


def test_what_was_measured_is_marked_and_the_rest_is_the_same_on_every_machine() -> None:
    for choices in EXPLORERS["pipeline"].grid():
        if choices["chunks"] in (1, 8) and choices["buffers"] < 3 and choices["factor"] == 1:
            pages = [
                copy_pipeline.explorer(*seconds).html(**choices) for seconds in ((5e-3, 4e-3), (1e-4, 3e-4))
            ]
            kept = [re.sub('<span class="measured">[^<]*</span>|base64,[^"]*', "M", page) for page in pages]
            assert kept[0] == kept[1] and pages[0] != pages[1]


@pytest.mark.parametrize("choices, en, zh", [
    ({}, "the copies and the last piece of work", "全部的複製"), ({"factor": 0.25}, "the first copy", "全部的運算"),
    ({"buffers": 1}, "nowhere to go", "沒有地方放"), ({"mode": ONE}, "one queue", "一個佇列"),
    ({"mode": PAGEABLE}, "the host is stuck", "可分頁"), ({"chunks": 1}, "nothing to overlap", "只有一份"),
])  # fmt: skip
def test_the_reason_is_named(choices: dict[str, Any], en: str, zh: str) -> None:
    explorer = EXPLORERS["pipeline"]
    said = texts(explorer.html(**explorer.defaults() | choices))
    assert en in said[0] and zh in said[1]


def test_the_numbers_of_the_default_pipeline() -> None:
    """8 chunks, 5 ms to copy, 4 ms to work: 44 ms instead of 72 ms; 28 of 32 ms overlap."""
    en, zh = texts(EXPLORERS["pipeline"].html(**EXPLORERS["pipeline"].defaults()))
    assert en.startswith(
        "8 chunks, 2 buffers: 44 ms in all; without overlap 72 ms, at best 44 ms. Overlap: 88% of"
    )
    assert zh.startswith(
        "8 份、2 塊緩衝區：共 44 ms；完全不重疊要 72 ms，最好的情況是 44 ms。重疊的時間，占較短一方的 88%。"
    )


@pytest.mark.parametrize("bad", [{"chunks": 0}, {"buffers": 0}, {"factor": 0}, {"mode": "two streams"}])
def test_a_pipeline_that_is_none_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="positive numbers|is not known"):
        plan(**bad)
    with pytest.raises(ValueError, match="positive numbers"):
        plan(copy=0.0)


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


@pytest.mark.parametrize("code", LINES)
def test_every_line_runs(code: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names("cpu"))


@pytest.mark.cuda
@pytest.mark.parametrize("code", LINES)
def test_a_real_gpu_agrees(code: str) -> None:
    """PyTorch's own alarm goes off in the lines that wait, and in no other."""
    there = names("cuda")
    program = compile(code, "line", "exec")
    silent = contextlib.redirect_stdout(io.StringIO())
    with silent:
        exec(program, there)  # what a first use loads and allocates may wait
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "a prototype feature"
        torch.cuda.set_sync_debug_mode("error")
    try:
        with silent:
            exec(program, there)
        waited = False
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
    there = names("cuda")
    program = compile(code, "line", "exec")
    silent = contextlib.redirect_stdout(io.StringIO())
    with silent:
        exec(program, there)
    torch.cuda.synchronize()
    done = torch.cuda.Event()
    torch.cuda._sleep(300_000_000)  # clock cycles: more than a tenth of a second
    done.record()
    with silent:
        exec(program, there)
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
    for choices in EXPLORERS["waits"].grid():
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


def test_the_longer_the_gpu_works_the_less_a_wait_costs() -> None:
    seconds = [value for _, value in EXPLORERS["waits"].controls[1].options]
    shares = [
        found.idle_share(found.with_line)
        for found in (hidden_waits.compute(line="x.cpu()", seconds=s) for s in seconds)
    ]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.5 and shares[-1] < 0.1


def test_the_verdict_and_the_numbers_are_said() -> None:
    en, zh = texts(hidden_waits.EXPLORER.html(line="x[mask]", seconds=1e-3))
    assert en.startswith("The host waits. How many elements") and zh.startswith("主機會等。選出幾個元素")
    assert "idle for 17% of the time, without this line for 0%" in en and "17%" in zh
    en, zh = texts(hidden_waits.EXPLORER.html(line="x.shape", seconds=1e-4))
    assert en.startswith("The host does not wait.") and zh.startswith("主機不用等。")
    assert "idle for 75% of the time, with or without this line" in en and "75%" in zh


def test_lines_and_reasons_are_all_different() -> None:
    assert (
        len({line.why.en for line in LINES.values()})
        == len({line.why.zh for line in LINES.values()})
        == len(LINES)
    )
    waiting = [line.waits for line in LINES.values()]
    assert 8 <= sum(waiting) <= len(waiting) - 8


@pytest.mark.parametrize("bad", [{"line": "x.cuda()"}, {"seconds": 0}])
def test_unknown_lines_and_times_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one of the lines loss.item"):
        hidden_waits.compute(**{"line": "x.cpu()", "seconds": 1e-3} | bad)


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
    for choices in EXPLORERS["streams"].grid():
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
    for choices in EXPLORERS["streams"].grid():
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


def test_each_reason_is_said() -> None:
    explorer = EXPLORERS["streams"]
    for choices, en, zh in (
        (
            {},
            "Kernels of 25% of the GPU. One stream: 324 µs; two streams: 168 µs, a speed-up of 1.93. They overlap",
            "加速比 1.93",
        ),
        ({"share": 100}, "The GPU is full", "GPU 已經滿了"),
        ({"duration": 2e-6}, "The launches decide", "關鍵在啟動"),
    ):
        said = texts(explorer.html(**explorer.defaults() | choices))
        assert en in said[0] and zh in said[1]


@pytest.mark.parametrize(
    "bad", [{"share": 0}, {"share": 101}, {"duration": 0}, {"launch": 0}, {"streams": 3}]
)
def test_impossible_streams_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="1 or 2 streams"):
        stream_overlap.compute(**{"share": 50, "duration": 1e-5, "launch": 1e-5, "streams": 2} | bad)
