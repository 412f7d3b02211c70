"""Lesson 06: its instruments, its drawing, and the scripts that its cells write, run as the lesson runs them."""

import ast
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import lesson_cells
import pytest
import torch
import torch.distributed as dist

from lesson_06 import dp_against_ddp
from tools.written import script_in

ROOT = Path(__file__).parents[2]
WORKERS = ROOT / "notebooks" / "workers"
INSTRUMENTS = ("collectives.py", "one_step.py", "overlap.py", "process_group.py")


CELLS = [cell.text for cell in lesson_cells.cells("code") if cell.lesson == "06"]
# What the lesson's cells write, by name: the last version of each.
SCRIPTS = {found.name[:-3]: found.text for text in CELLS if (found := script_in(text))}


# --- listings and rules -------------------------------------------------------------------------------


def test_a_listing_is_no_more_than_a_learner_reads_at_once() -> None:
    shown = [call for cell, call in lesson_cells.calls("source") if cell.lesson == "06"]
    assert len(shown) == 4
    for call in shown:
        file, *parts = (argument.value for argument in call.args if isinstance(argument, ast.Constant))
        text = (WORKERS / file).read_text(encoding="utf-8")
        named = {node.name: node for node in ast.parse(text).body if hasattr(node, "name")}
        assert sum(named[part].end_lineno - named[part].lineno + 2 for part in parts) <= 44, (file, parts)


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
    texts |= {cell.id: cell.text for cell in lesson_cells.cells("code")}
    choosing = {k for k, text in texts.items() if '"nccl"' in text and "init_process_group(" in text}
    assert {"train.py", "process_group.py", "distribute_solution.py", "scaling-script"} <= choosing
    assert {key for key in choosing if "is_nccl_available()" not in texts[key]} == set()


def test_launches_on_gpus_or_of_many_ranks_may_take_three_minutes() -> None:
    """Eight ranks that load PyTorch from a network's disk and start NCCL for the first time may need one."""
    sources = {cell.text.partition("\n")[0][12:]: cell.text for cell in lesson_cells.cells("code")}
    found = []
    for cell, call in [(cell, c) for cell, c in lesson_cells.calls("launch") if cell.lesson in ("06", "07")]:
        given = {word.arg: ast.unparse(word.value) for word in call.keywords}
        name = getattr(call.args[0], "value", "train.py")  # a variable stands for it, or for a copy
        text = sources.get(name) or (WORKERS / Path(name).name).read_text(encoding="utf-8")
        many = given.get("processes", "2") not in ("1", "2")
        if many or re.search("cuda|process_group.start", text):
            found.append((cell.id, name, given.get("limit")))
    assert len(found) > 7 and [place for place in found if place[-1] != "180"] == []


def test_instruments_join_by_the_shared_start() -> None:
    for name in set(INSTRUMENTS) - {"process_group.py"}:
        text = (WORKERS / name).read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)) and "process_group.start(" in text
        assert f"workers/{name}" in "".join(CELLS)


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


# --- scripts, under bare torchrun ----------------------------------------------------------------------


def torchrun(
    folder: Path, name: str, processes: int = 2, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a script of the lesson as a learner does who has copied it elsewhere: without this repository."""
    (folder / f"{name}.py").write_text(SCRIPTS[name], encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", f"{name}.py"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **variables}
    if sys.platform != "linux":
        environment.pop("GLOO_SOCKET_IFNAME")
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr[-2000:]
    return sorted(done.stdout.split("\n"))


@pytest.mark.nightly  # by day lesson 06 runs the same scripts, and its outputs are compared
def test_four_culprits_and_no_more(tmp_path: Path) -> None:
    text = torchrun(tmp_path, "culprits").stdout
    for name, verdict in {
        "mean loss, equal parts": "True, gradient 1.00 times as long",
        "summed loss": "False, gradient 0.50 times as long",
        "unequal parts, 48 and 16": "False",
        "BatchNorm": "False",
        "past the wrapper, ranks alike": "False",
    }.items():
        assert text.count(f"{name}: {verdict}") == 1, text


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2, 4])
def test_gradients_averaged_by_hand_are_those_of_the_whole_batch(tmp_path: Path, ranks: int) -> None:
    text = torchrun(tmp_path, "by_hand", ranks).stdout
    for line in ("mine False", "by hand True", "DDP True"):
        assert text.count(line) == ranks, text


@pytest.mark.nightly
def test_the_first_step_sends_one_bucket(tmp_path: Path) -> None:
    lines = said(torchrun(tmp_path, "buckets"))  # a layer has 1.002 MiB
    assert "cap None, step 0: 6.01 MiB" in lines and "cap 1, step 0: 6.01 MiB" in lines
    assert "cap None, step 1: 1.00 MiB, 5.01 MiB" in lines
    assert f"cap 1, step 1: {', '.join(['1.00 MiB'] * 6)}" in lines


@pytest.mark.nightly
@pytest.mark.skipif(
    not hasattr(torch._C._distributed_c10d, "_dump_fr_trace"),
    reason="this PyTorch records no collectives of gloo",
)
def test_the_flight_recorder_shows_where_the_ways_part(tmp_path: Path) -> None:
    """The lesson reads the same number with another operation: five batches against four and a barrier."""
    done = torchrun(tmp_path, "uneven")
    assert done.returncode != 0 and "Timed out waiting" in done.stderr
    last = []
    for rank in range(2):
        entries = pickle.loads((tmp_path / f"flight_{rank}").read_bytes())["entries"]
        if not entries:
            pytest.skip("this PyTorch records collectives of NCCL only")
        last.append((entries[-1]["collective_seq_id"], entries[-1]["profiling_name"]))
    assert last[0][0] == last[1][0]
    assert [name for _, name in last] == ["gloo:all_reduce", "gloo:barrier"]


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
