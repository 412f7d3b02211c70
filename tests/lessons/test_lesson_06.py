"""Lesson 06: its instruments, rules for the scripts that its cells write, and its drawings."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import lesson_cells
import pytest
import torch
import torch.distributed as dist

from lesson_06 import dp_against_ddp
from lesson_06.collectives import colours, picture
from shared.charts import RANK_COLOURS
from tools.written import script_in

ROOT = Path(__file__).parents[2]
WORKERS = ROOT / "notebooks" / "workers"
CELLS = [cell.text for cell in lesson_cells.cells() if cell.lesson == "06"]
# What the lesson's cells write, by name: the last version of each.
SCRIPTS = {found.name[:-3]: found.text for text in CELLS if (found := script_in(text))}


# --- listings and rules -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_keep_the_rules_of_the_lesson(name: str) -> None:
    text = SCRIPTS[name]
    assert not re.search(r"MASTER_PORT\W+\d|:\d{4,5}\b|--master-port|nccl", text), "a fixed port or backend"
    tree = ast.parse(text)
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert imported - ({"train"} if name == "own" else set()) <= {"torch", "shared"} | set(
        sys.stdlib_module_names
    )
    assert ("shared" in imported) == (name == "faster")
    if "init_process_group" in text and name not in ("crash", "evaluate", "uneven"):  # these end early
        assert text.rstrip().endswith("dist.destroy_process_group()") or name == "spawned"


def test_whatever_can_choose_nccl_asks_whether_it_is_there() -> None:
    """PyTorch for Windows has none, however many GPUs there are."""
    files = [*WORKERS.rglob("*.py"), *(ROOT / "notebooks").glob("lesson_*/scripts/*.py")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in files}
    texts |= {cell.id: cell.text for cell in lesson_cells.cells()}
    choosing = {k for k, text in texts.items() if '"nccl"' in text and "init_process_group(" in text}
    assert {"train.py", "process_group.py", "distribute_solution.py", "scaling-script"} <= choosing
    assert {key for key in choosing if "is_nccl_available()" not in texts[key]} == set()


def test_launches_on_gpus_or_of_many_ranks_may_take_three_minutes() -> None:
    """Eight ranks that load PyTorch from a network's disk and start NCCL for the first time may need one."""
    sources = {cell.text.partition("\n")[0][12:]: cell.text for cell in lesson_cells.cells()}
    found = []
    for cell, call in [(cell, c) for cell, c in lesson_cells.calls("launch") if cell.lesson in ("06", "07")]:
        given = {word.arg: ast.unparse(word.value) for word in call.keywords}
        name = getattr(call.args[0], "value", "train.py")  # a variable stands for it, or for a copy
        text = sources.get(name) or (WORKERS / Path(name).name).read_text(encoding="utf-8")
        many = given.get("processes", "2") not in ("1", "2")
        if many or re.search("cuda|process_group.start", text):
            found.append((cell.id, name, given.get("limit")))
    assert len(found) > 7 and [place for place in found if place[-1] != "180"] == []


def test_workers_compute_in_float32_where_tf32_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's containers switch it on."""
    spec = importlib.util.spec_from_file_location("process_group", WORKERS / "process_group.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    monkeypatch.setattr(dist, "init_process_group", lambda *arguments, **options: None)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        module.start(backend="gloo")
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision(before)


# --- the drawing ----------------------------------------------------------------------------------------


def test_the_drawn_steps_send_every_gradient_once() -> None:
    work, link = 0.03, 0.006
    drawn = {
        "DataParallel": dp_against_ddp.data_parallel(work, link, 0.001),
        "DDP": dp_against_ddp.ddp(work, link, 0.001),
    }

    def seconds(way: str, lane: str, name: str) -> float:
        return sum(s.end - s.start for s in drawn[way].spans if s.lane == lane and s.name.startswith(name))

    for way in drawn:
        assert seconds(way, "link", "gradients") == pytest.approx(link)
        assert seconds(way, "device 0", "work") == seconds(way, "device 1", "work") == pytest.approx(work)
    assert seconds("DataParallel", "link", "weights") == pytest.approx(link)
    assert seconds("DDP", "link", "weights") == 0
    assert seconds("DataParallel", "device 1", "update") == 0 < seconds("DDP", "device 1", "update")
    assert drawn["DDP"].seconds() < drawn["DataParallel"].seconds()


def test_slow_links_hide_nothing_but_the_buckets_before_the_end() -> None:
    fast, slow = dp_against_ddp.ddp(0.06, 0.004, 0.001), dp_against_ddp.ddp(0.06, 0.12, 0.001)
    assert fast.seconds() == pytest.approx(0.06 + 0.001 + 0.001), "only the last of four buckets is seen"
    assert slow.seconds() == pytest.approx(0.03 + 0.12 + 0.001), "the link sets the pace"


# --- pictures of collectives -----------------------------------------------------------------------------

A, B = [1, 2], [10, 20]
MOVES = {
    "broadcast": ([A, B], [A, A]),
    "all_reduce": ([A, B], [[11, 22], [11, 22]]),
    "all_gather": ([A, B], [A + B, A + B]),
}


def test_the_boxes_hold_the_numbers_in_their_rows() -> None:
    """Texts as they stand in the axes, from left to right."""
    axes, rows = picture(MOVES).figure.axes[0], {0: [], 1: []}
    for text in sorted(axes.texts, key=lambda text: text.get_position()[0]):
        if text.get_position()[1] in rows and text.get_text():
            rows[text.get_position()[1]].append(text.get_text())
    assert rows == {0: ["1", "2", "1", "2"], 1: ["10", "20", "1", "2"]}


def test_a_number_has_the_colour_of_the_rank_it_came_from_and_a_sum_all() -> None:
    blue, orange = RANK_COLOURS[:2]
    assert [colours([A, B], value) for value in (2, 20, 22)] == [[blue], [orange], [blue, orange]]
