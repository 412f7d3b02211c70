"""The journey of lesson 08: its programs learn the same, its table keeps and compares, and nobody's old file stops it."""

import ast
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import cells

from bilingual import Bilingual
from course_utils import lesson, needs, recordings, settings
from lesson_08 import journey, journey_measuring, programs
from lesson_08.journey import RULE, Row
from lesson_08.journey_picture import LIMITS, STEPS, board, table_of
from shared.timeline import Span, Timeline

CPU, F64 = torch.device("cpu"), torch.float64
ROW = Row(100.0, 0.5, 2.0, "data", "", "cpu", "A processor", "A processor", "2.13.0", "2026-11-23", RULE)
SOURCES = (programs.from_table, programs.from_device)


@pytest.fixture(autouse=True)
def in_lesson(monkeypatch: pytest.MonkeyPatch, one_thread: None, shown: list[Any]) -> None:
    lesson.use("08")
    monkeypatch.setattr(journey, "_last", {})
    monkeypatch.setattr(journey_measuring, "_errors", {})
    monkeypatch.setattr(journey, "try_gpu", lambda: CPU)
    monkeypatch.setattr(journey, "display", shown.append)
    monkeypatch.setattr(recordings, "runs", list)  # whatever the course has recorded


# --- the programs --------------------------------------------------------------------------------------------


def functions(source: str) -> dict[str, str]:
    """Return the functions of a program by name, without docstrings, types and comments."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
            found[node.name] = ast.unparse(node)
    return found


def test_the_notebook_shows_the_slow_program_as_it_is() -> None:
    shown: dict[str, str] = {}
    for cell in cells():
        if cell.lesson == "08" and cell.id.startswith("slow-"):
            shown |= functions(cell.text)
    own = functions(inspect.getsource(programs))
    for name in ("circle", "from_table", "report_each", "train"):
        assert shown[name] == own[name]


def test_all_sources_give_the_same_batches_in_the_same_order() -> None:
    found = [list(source(programs.ready(), programs.order(20), 8, CPU, F64)) for source in SOURCES]
    assert [len(batches) for batches in found] == [3, 3] and len(found[0][2][0]) == 4
    for batches in found[1:]:
        for mine, other in zip(found[0], batches, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(mine, other, strict=True))


def test_the_order_is_one_permutation_after_the_other() -> None:
    total = len(programs.ready().windows(CPU, F64))
    two = programs.order(2 * total)
    assert torch.equal(two[:50], programs.order(50))
    assert all(torch.equal(half.sort().values, torch.arange(total)) for half in two.split(total))
    assert not torch.equal(*two.split(total))


def test_windows_come_from_the_training_rows_only() -> None:
    data = programs.ready()
    rows = programs.order(10_000).max().item() + programs.PAST + programs.AHEAD
    assert rows <= data.rows["train"].stop < len(data.table) and data.columns[0] == "temperature"


# --- measuring -----------------------------------------------------------------------------------------------


def test_the_best_of_several_runs_counts_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    speeds = iter([10, 1000, 500, 2000, 700, 800])

    def timed(train: Any, device: Any, count: int, **part: Any) -> tuple[Any, float]:
        calls.append(count)
        return None, count / next(speeds)

    monkeypatch.setattr(journey_measuring, "timed", timed)
    monkeypatch.setattr(journey_measuring, "RUNS", 4)
    monkeypatch.setattr(programs, "error", lambda model: 0.25)
    assert journey.rate(None, CPU, batch=32) == (2000, 0.25)  # type: ignore[arg-type]
    assert calls == [64, 1024, 160, 160, 160, 160], "two steps, what is compared, then about 0.15 s each"


def timeline_of(data: float, gpu: float) -> Timeline:
    """Return a timeline of one second: a share of it waits for data, in another a GPU computes."""
    spans = [Span("host 1", "data", 0.0, data / 2), Span("host 1", "data", 1 - data / 2, 1.0)]
    return Timeline([*spans, *([Span("GPU stream 1 work", "data", 0.0, gpu)] if gpu else [])])


LIMITING = [
    (timeline_of(0.4, 0.0), 1.0, "data"),
    (timeline_of(0.1, 0.0), 0.9, "launch"),
    (timeline_of(0.1, 0.0), 0.2, "compute"),
    (timeline_of(0.1, 0.9), 0.9, "compute"),
    (timeline_of(0.1, 0.2), 0.2, "launch"),
    (timeline_of(0.5, 0.2), 0.2, "data"),
    (timeline_of(0.5, 0.9), 0.2, "data"),
]


@pytest.mark.parametrize(("recorded", "small", "limit"), LIMITING)
def test_the_limit_is_read_from_a_timeline(
    recorded: Timeline, small: float, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(train: Any, device: Any, count: int, **part: Any) -> tuple[Any, float]:
        assert (count, part["batch"]) == (4, 1)
        return None, small

    monkeypatch.setattr(journey_measuring.timeline, "record", lambda action, warm_up: recorded)
    monkeypatch.setattr(journey_measuring, "timed", timed)
    assert journey_measuring.limit(programs.train, CPU, 32.0, batch=8) == limit in LIMITS


def test_a_marked_source_gives_the_same_batches_and_a_span_for_each() -> None:
    source = journey_measuring._marked(programs.from_device)
    recorded = journey_measuring.timeline.record(
        lambda: list(source(programs.ready(), programs.order(24), 8, CPU, F64)), warm_up=0
    )
    assert [span.name for span in recorded.spans] == ["data"] * 4, "three batches, and the end"


def test_a_step_is_measured_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journey, "rate", lambda *_, learn, **__: (100.0, 0.5 if learn else None))
    monkeypatch.setattr(journey, "limit", lambda *_, **__: "data")
    for key in ("batch", "slow"):
        journey.measure(key, programs.train)
    found = journey.rows()
    assert [(key, row.rate, row.error, row.waits, row.limit) for key, row in found.items()] == [
        ("slow", 100, None, 2, "data"),
        ("batch", 100, 0.5, 2, "data"),
    ]


# --- compiling -----------------------------------------------------------------------------------------------


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that has a model compiled, as if there were a compiler, and returns what is said."""
    monkeypatch.setattr(needs, "missing", lambda need: None)

    def compiled(compile: Any, pays: Any = None) -> str:
        monkeypatch.setattr(torch, "compile", compile)
        return str(journey.try_compile(programs.train, pays, True, batches=programs.from_device).text)

    return compiled


def test_a_compiler_that_is_missing_or_fails_is_named_and_keeps_nothing(
    compiled: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(model: Any) -> Any:
        raise RuntimeError("no Python.h\nmore")

    monkeypatch.setattr(journey, "rate", lambda *_, **__: (100.0, None))
    assert "failed: no Python.h" in compiled(broken)
    monkeypatch.setattr(needs, "missing", lambda need: Bilingual("needs a C++ compiler", "需要 C++ 編譯器"))
    assert "needs a C++ compiler" in compiled(broken) and journey.rows() == {}


def test_compiling_is_counted_against_what_it_saves(
    compiled: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = iter([(100.0, None), (400.0, 0.25)])
    monkeypatch.setattr(journey, "rate", lambda *_, **__: next(rates))
    monkeypatch.setattr(journey, "timed", lambda *_, **__: (None, 30.0))
    monkeypatch.setattr(journey, "limit", lambda *_, **__: "compute")
    called: list[Any] = []
    text = compiled(lambda model: model, lambda *seconds: called.append(seconds) or 12.0)
    assert called == [(30.0, 0.08, 0.02)] and "30 s" in text and "80 ms" in text and "12" in text
    assert journey.rows()["compile"].rate == 400 and journey.rows()["compile"].error == 0.25


# --- what is kept --------------------------------------------------------------------------------------------


def test_a_row_from_elsewhere_is_kept_in_its_place() -> None:
    journey.add("ranks", 500, note="2 processes")
    journey.add("slow", 100.0)
    assert list(journey.rows()) == ["slow", "ranks"]
    assert "2 processes" in journey.table().text and "5 ×" in journey.table().text


def test_what_cannot_be_a_row_is_refused() -> None:
    for key, rate, word in (("fast", 1.0, "fast"), *(("slow", x, str(x)) for x in (0.0, math.nan, math.inf))):
        with pytest.raises(ValueError, match=word):
            journey.add(key, rate)


def test_a_damaged_row_is_left_out_and_the_others_stay() -> None:
    for change in ({"error": math.nan}, {"waits": -1}, {"limit": "moon"}):
        settings.write("journey", {"slow": asdict(ROW), "batch": asdict(ROW) | change, "other": asdict(ROW)})
        assert set(journey.rows()) == {"slow"}


def test_where_nothing_can_be_saved_the_session_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "write", lambda *_: False)
    journey.add("slow", 100.0)
    assert journey.rows() == {} and journey.known()["slow"].rate == 100


# --- the table and the board ---------------------------------------------------------------------------------


def test_the_table_has_a_line_for_each_step_and_marks_what_differs_between_machines() -> None:
    block = table_of({"slow": ROW, "gather": replace(ROW, rate=250.0, error=None, limit="compute")})
    assert_nested(block.html)
    bare = re.sub("⟨[^⟩]*⟩", "", block.text)
    assert len(block.text.splitlines()) == len(STEPS) + 1 and not re.search(r"\d", bare)
    assert bare == re.sub("⟨[^⟩]*⟩", "", table_of({}).text), "the checks compare the same whatever is kept"
    assert "2.5 ×" in block.text and "等資料" in block.text


def test_gains_are_counted_on_one_computer_only() -> None:
    gpu = {"device": "cuda", "machine": "A GPU"}
    others = {"machine": "Another"}, gpu | {"cpu": "Another"}, {"torch": "2.6.0"}, {"rule": 0}
    for change, same in ((gpu, True), *((other, False) for other in others)):
        other = replace(ROW, rate=200.0, **change)
        assert ROW.comparable(other) is same
        assert ("2 ×" in table_of({"slow": ROW, "loader": other}).text) is same
        assert ("Hatched" in board({"slow": ROW, "gather": other}, "slow").caption.en) is not same


@pytest.mark.parametrize("gpu", [True, False])
def test_recorded_numbers_are_those_of_their_machine(
    gpu: bool, monkeypatch: pytest.MonkeyPatch, no_warnings: None
) -> None:
    machine = {"gpus": [{"name": "H100"}] if gpu else [], "cpu": "A processor", "torch": "2.13.0+cu130"}
    run = {
        "machine": machine,
        "date": "2026-11-23",
        "curves": {"journey-slow": {"rate": 120.0}},
        "claims": {},
    }
    monkeypatch.setattr(recordings, "runs", lambda: [run])
    picture = board({"slow": ROW}, "slow")
    assert [bar.get_width() for bar in picture.figure.axes[0].patches] == [100, 120]
    assert ("H100" in picture.beside) is gpu and ("A processor" in picture.caption.en) is not gpu


# --- the learner's own functions -----------------------------------------------------------------------------


def test_the_learners_function_is_taken_once_it_is_right(shown: list[Any]) -> None:
    def mine(rate: float, batch: int, new_batch: int) -> float:
        return rate * (new_batch / batch) ** 0.5

    assert journey.yours("new_rate", mine, programs.new_rate) is mine and "your function" in str(shown[-1])
    for wrong in (lambda *_: ..., lambda rate, batch, new: rate, None):
        assert journey.yours("new_rate", wrong, programs.new_rate) is programs.new_rate
        assert "until yours passes" in str(shown[-1])
    assert len({re.sub("⟨[^⟩]*⟩", "", block.text) for block in shown}) == 1
