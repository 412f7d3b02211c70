"""The workers of lesson 06: listings in the notebook, rules for every worker, and other sizes and networks than the lesson's.

The notebook's own tests run most workers; what runs them here once more is marked as nightly.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist

from course_utils import launch
from shared import timeline

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "06_distributed_data_parallel.ipynb"
WORKERS = ROOT / "notebooks" / "workers"
SCRIPTS = sorted(path.name for path in WORKERS.glob("*.py"))


def code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def calls(function: str) -> Iterator[tuple[int, str, list[Any]]]:
    """Yield (position of the cell, its stored Markdown, constant arguments) of every call of `function`."""
    for position, cell in enumerate(code_cells()):
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                outputs = [out["data"].get("text/markdown", "") for out in cell["outputs"] if "data" in out]
                stored = "".join("".join(text) for text in outputs)
                yield position, stored, [a.value for a in node.args if isinstance(a, ast.Constant)]


def definition(tree: ast.Module, name: str) -> ast.stmt:
    return next(node for node in tree.body if getattr(node, "name", None) == name)


# --- listings -----------------------------------------------------------------------------


def test_every_listing_is_the_current_file() -> None:
    shown = [arguments for *_, arguments in calls("source") if arguments]
    assert len(shown) >= 10
    for _, stored, (script, *functions) in [found for found in calls("source") if found[2]]:
        text = (WORKERS / script).read_text(encoding="utf-8")
        tree = ast.parse(text)
        parts = [ast.get_source_segment(text, definition(tree, name)) for name in functions] or [text.strip()]
        assert stored == "```python\n" + "\n\n".join(parts) + "\n```", f"{script} {functions}: record again"


def test_a_worker_is_shown_before_it_runs() -> None:
    listed: dict[str, int] = {}
    for position, _, arguments in calls("source"):
        if arguments:
            listed.setdefault(arguments[0], position)
    for position, _, arguments in calls("launch"):
        script = arguments[0].removeprefix("workers/")
        assert (WORKERS / script).is_file()
        assert listed.get(script, position) < position, f"{script} runs before it is shown"


def test_the_slurm_listing_is_the_current_file() -> None:
    stored = "".join("".join(out["data"].get("text/markdown", "")) for cell in code_cells()
                     for out in cell["outputs"] if "data" in out and "sbatch" in "".join(cell["source"]))  # fmt: skip
    assert stored == f"```bash\n{(WORKERS / 'slurm.sbatch').read_text(encoding='utf-8').strip()}\n```"


def test_every_worker_is_used() -> None:
    text = "".join("".join(cell["source"]) for cell in code_cells())
    text += "".join((WORKERS / script).read_text(encoding="utf-8") for script in SCRIPTS)
    unused = [
        s for s in SCRIPTS if f"workers/{s}" not in text and f"import {s.removesuffix('.py')}\n" not in text
    ]
    assert not unused


# --- rules that the lesson gives -------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS)
def test_workers_keep_the_rules(script: str) -> None:
    text = (WORKERS / script).read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a listing begins with a line that says what it is"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if name.endswith("init_process_group"):
                limit = given.get("timeout", "")
                limit = next(iter(re.findall(rf"^{re.escape(limit)} = (.+?)(?: #|$)", text, re.M)), limit)
                seconds = re.search(r"timedelta\(seconds=(\w+)\)", limit)
                assert seconds, "a group without a timeout waits for half an hour"
                assert not seconds[1].isdigit() or int(seconds[1]) <= 60
            if name.endswith("destroy_process_group"):
                break
    assert not re.search(r"MASTER_PORT\W+\d|:\d{4,5}\b|--master-port", text), (
        "a fixed port, which two jobs would share"
    )
    if script != "process_group.py":
        assert "destroy_process_group" in text or script == "clinic.py", "only clinic.py crashes on purpose"
    assert "torch.cuda.amp" not in text and "local_rank" not in re.findall(r'"--([\w-]+)"', text)


def test_the_recommended_timeout_is_the_default() -> None:
    text = (WORKERS / "process_group.py").read_text(encoding="utf-8")
    assert re.search(r"def start\(seconds: float = (\d+)", text)[1] == "60"  # type: ignore[index]


def test_workers_compute_in_float32_where_tf32_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's containers switch it on, and bounds such as 1e-5 would not hold."""
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


# --- train.py ------------------------------------------------------------------------------------------


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small trainings are quicker so, above all beside other programs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Killed(Exception):
    """Instead of the signal that kills a rank."""


@pytest.fixture
def train_here(
    one_thread: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., dict[str, Any]]:
    """Return a function that runs train.py in this process, as the only rank, and returns what it reports and saves."""
    spec = importlib.util.spec_from_file_location("train", WORKERS / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Any] = {}
    orders: list[list[int]] = []  # the labels of each epoch, in the order of training

    def kill() -> None:
        raise Killed

    def training_data(batch: int, original: Any = module.training_data) -> tuple[Any, Any]:
        loader, sampler = original(batch)

        class Watched:
            def __iter__(self) -> Iterator[Any]:
                orders.append([])
                for images, labels in loader:
                    orders[-1] += labels.tolist()
                    yield images, labels

        return Watched(), sampler

    def run(name: str, *options: object) -> dict[str, Any]:
        checkpoint = tmp_path / f"{name}.pt"
        monkeypatch.setattr(sys, "argv", ["train.py", *map(str, options)])
        monkeypatch.setenv("CHECKPOINT", str(checkpoint))
        found.clear(), orders.clear()
        try:
            module.main()
        except Killed:
            pass
        finally:
            dist.destroy_process_group()
        return found | {"orders": list(orders), "saved": torch.load(checkpoint, weights_only=True)}

    def alone(backend: str, timeout: Any, original: Any = dist.init_process_group) -> None:
        original(backend, timeout=timeout, store=dist.HashStore(), rank=0, world_size=1)

    for variable in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(variable, str(int(variable == "LOCAL_WORLD_SIZE")))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(dist, "init_process_group", alone)
    monkeypatch.setattr(module, "training_data", training_data)
    monkeypatch.setattr(module, "crash", kill)
    monkeypatch.setattr(module, "report", found.update)
    return run


def test_every_forgotten_part_of_a_checkpoint_changes_the_weights(one_thread: None) -> None:
    """The cells of the experiment; the smallest effect is well above the bound of the claim, which is 0.02."""
    judged: list[bool] = []
    names = {
        "torch": torch,
        "nn": torch.nn,
        "facts": lambda rows, fixed: judged.append(len(rows) == 5 and len(fixed) == 1),
    }
    names["claim"] = lambda name, value: judged.append(value)
    for cell in code_cells():
        if cell["id"] in ("resume-parts", "resume-forget", "resume-forget-claim"):
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert judged == [True, True]
    missed = names["missed"]
    assert missed.pop("nothing") == 0
    assert len(missed) == 5 and min(missed.values()) > 0.04, missed


def test_gradients_averaged_by_hand_are_those_of_the_whole_batch() -> None:
    """The worker's own functions on rank 0 of two; DDP itself is left out here."""
    text = (WORKERS / "inside_ddp.py").read_text(encoding="utf-8")
    parts = [definition(ast.parse(text), name) for name in ("network", "gradient", "distance", "averages")]
    torch.manual_seed(1)
    images, labels = torch.rand(64, 64), torch.randint(10, (64,))
    names = {
        "torch": torch,
        "nn": torch.nn,
        "device": "cpu",
        "world_size": 2,
        "images": images,
        "labels": labels,
    }
    names |= {
        "my_images": images[:32],
        "my_labels": labels[:32],
        "DistributedDataParallel": lambda model: model,
    }
    names["cross_entropy"] = torch.nn.functional.cross_entropy

    def all_reduce(mine: torch.Tensor) -> None:
        other = names["network"](seed=0)
        names["cross_entropy"](other(images[32:]), labels[32:]).backward()
        mine += names["gradient"](other)

    names["dist"] = SimpleNamespace(all_reduce=all_reduce)
    exec(compile(ast.Module(parts, []), "inside_ddp", "exec"), names)
    found = names["averages"]()
    assert found["by hand against whole"] < 1e-5 < 0.1 < found["mine against whole"]


ENOUGH = 0.65  # accuracy after four epochs; ten classes


def test_the_template_learns_and_resumes(train_here: Callable[..., dict[str, Any]]) -> None:
    whole = train_here("whole")
    assert whole["accuracy"] > ENOUGH and whole["losses"][-1] < whole["losses"][0] / 2
    assert len({tuple(order) for order in whole["orders"]}) == 4, "another order in every epoch"
    crashed = train_here("crashed", "--crash-in-epoch", 2)
    assert "losses" not in crashed and crashed["saved"]["epoch"] == 1
    resumed = train_here("crashed")
    assert resumed["first_epoch"] == 2 and resumed["losses"] == whole["losses"][2:]
    assert resumed["orders"] == whole["orders"][2:] and resumed["accuracy"] == whole["accuracy"]
    weights = resumed["saved"]["model"]
    assert all(torch.equal(value, weights[name]) for name, value in whole["saved"]["model"].items())


@pytest.mark.parametrize("ranks", [2, *(pytest.param(n, marks=pytest.mark.nightly) for n in (4, 8))])
def test_the_template_learns_in_several_processes_as_in_one(
    ranks: int, train_here: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    alone = train_here("alone", "--precision", "float64")
    hidden = {"CHECKPOINT": tmp_path / "together.pt", "CUDA_VISIBLE_DEVICES": ""}
    script = "workers/train.py", "--precision", "float64"
    run = launch(*script, processes=ranks, environment=hidden, show="quiet", limit=60 * ranks).check()
    for result in run.results:
        assert result["losses"] == pytest.approx(alone["losses"], rel=1e-9)
        assert result["accuracy"] == pytest.approx(alone["accuracy"]) and result["accuracy"] > ENOUGH


def trained(folder: Path, name: str, *options: object, **how: Any) -> tuple[Any, dict[str, Any]]:
    path = folder / f"{name}.pt"
    run = launch("workers/train.py", *options, show="quiet", environment={"CHECKPOINT": path}, **how)
    return run, torch.load(path, weights_only=True) if path.exists() else {}


@pytest.mark.nightly
def test_a_second_launch_resumes_a_crashed_training_exactly(tmp_path: Path) -> None:
    """As the lesson does with --max-restarts, but by a second launch, and in bfloat16."""
    options = "--epochs", 2, "--batch", 128, "--precision", "bfloat16"
    with ThreadPoolExecutor() as pool:  # two jobs at once, which must not disturb each other
        undisturbed = pool.submit(trained, tmp_path, "whole", *options)
        crashed, half = trained(tmp_path, "crashed", *options, "--crash-in-epoch", 1)
    whole, right = undisturbed.result()
    assert (crashed.failure.kind, crashed.failure.rank, crashed.failure.exit) == ("killed", 1, -9)
    assert half["epoch"] == 0 and len(half["random"]) == 2
    resumed, end = trained(tmp_path, "crashed", *options)
    assert resumed.ok and whole.ok
    assert [r["first_epoch"] for r in resumed.results] == [1, 1]
    assert resumed.results[0]["losses"] == whole.results[0]["losses"][1:]
    assert all(torch.equal(v, right["model"][k]) for k, v in end["model"].items())
    momentum = [state["optimizer"]["state"][0]["momentum_buffer"] for state in (end, right)]
    assert torch.equal(*momentum) and end["scheduler"] == right["scheduler"]
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ""} == {"crashed.pt", "whole.pt"}


# --- DataParallel and DDP ------------------------------------------------------------------------------------------


def test_the_claim_that_compares_data_parallel_and_ddp_can_be_run() -> None:
    """The claim's cell with its own functions, on a tiny network: on the CPU the claim itself is skipped."""
    (cell,) = [cell for cell in code_cells() if cell["id"] == "against-race-claim"]
    launched: list[tuple[Any, ...]] = []
    claims: list[tuple[str, float, dict[str, Any]]] = []

    def tiny(way: str, processes: int) -> Any:
        hidden = {"CUDA_VISIBLE_DEVICES": ""}
        return launch("workers/one_step.py", way, 2, processes=processes, show="quiet", environment=hidden)

    with ThreadPoolExecutor() as pool:  # both at once: only the losses count here
        runs = dict(
            zip(("DataParallel", "DDP"), pool.map(tiny, ("DataParallel", "DDP"), (1, 2)), strict=True)
        )

    def launch_finished(script: str, way: str, width: int, *, processes: int, show: str) -> Any:
        launched.append((script, way, width, processes))
        return runs[way]

    def claim(name: str, measure: Any, **bounds: Any) -> None:
        claims.append((name, measure(), bounds))

    exec(compile("".join(cell["source"]), "<cell>", "exec"), {"launch": launch_finished, "claim": claim})
    script = "workers/one_step.py"
    assert launched == [(script, "DataParallel", 64, 1), (script, "DDP", 64, 2)], (
        "64 is the published network"
    )
    one, two = runs["DataParallel"].results, runs["DDP"].results
    assert [r["images"] for r in one] == [256] and [r["images"] for r in two] == [128, 128]
    assert one[0]["loss"] == pytest.approx(sum(r["loss"] for r in two) / 2, abs=0.01), "the same batch"
    ((name, ratio, bounds),) = claims
    assert ratio == one[0]["seconds"] / max(r["seconds"] for r in two)
    assert name == "6.14" and bounds == {"at_least": 1.0, "needs": "two_gpus"}


def test_the_drawn_step_sends_every_gradient_once() -> None:
    """The cells that draw DataParallel and DDP, with numbers for the work and for the link."""
    drawn: dict[str, timeline.Timeline] = {}
    points = {"points": {"256": {"alone": 0.03}}, "bytes": 2**20}
    names = {"Span": timeline.Span, "Timeline": timeline.Timeline, "a": 0.001, "per_byte": 1e-8}
    names |= {"scaling": SimpleNamespace(results=[points]), "timelines": lambda _, found: drawn.update(found)}
    for cell in code_cells():
        if cell["id"] in ("against-model", "against-model-ddp"):
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)

    def seconds(way: str, lane: str, name: str) -> float:
        return sum(s.end - s.start for s in drawn[way].spans if (s.lane, s.name) == (lane, name))

    whole = 2**20 * 1e-8
    assert seconds("DDP", "link", "copy gradients") == pytest.approx(4 * 0.001 + whole), "four calls"
    for name in ("copy weights", "copy gradients"):
        assert seconds("DataParallel", "link", name) == pytest.approx(0.001 + whole)
    for way in drawn:
        assert seconds(way, "device 0", "work") == seconds(way, "device 1", "work") == pytest.approx(0.03)


# --- several machines ----------------------------------------------------------------------------------


@pytest.mark.nightly
def test_traffic_between_three_machines_with_one_rank_each() -> None:
    """There is nothing to reduce inside a machine: all three ways send 2 (N - 1) S."""
    run = launch("workers/two_machines.py", nodes=3, processes=1, show="quiet", limit=90).check()
    assert sorted(result["machine"] for result in run.results) == [0, 1, 2]
    for result in run.results:
        assert {sent / result["bytes"] for sent in result["crossed"].values()} == {4}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def two_namespaces() -> Iterator[list[str]]:
    """Two connected network namespaces, 10.77.0.1 and 10.77.0.2."""
    if not shutil.which("ip") or not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("network namespaces need Linux, iproute2 and root")
    names = [f"course-{uuid.uuid4().hex[:6]}-{n}" for n in (1, 2)]
    ends = [f"v{uuid.uuid4().hex[:8]}" for _ in names]
    try:
        try:
            for name in names:
                ip("netns", "add", name)
            ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for number, (name, link) in enumerate(zip(names, ends, strict=True), start=1):
                ip("link", "set", link, "netns", name, "name", "cable0")
                ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "cable0")
                ip("-n", name, "link", "set", "cable0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"this machine allows no network namespaces: {error}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20)


@pytest.mark.nightly
def test_between_two_machines_with_their_own_addresses(two_namespaces: list[str]) -> None:
    """The command of the lesson, in two network namespaces."""
    environment = os.environ | {
        "GLOO_SOCKET_IFNAME": "cable0",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "notebooks")]),
    }
    agents = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run", "--nnodes=2"]
            # In a new namespace every port is free.
            + [
                "--nproc-per-node=1",
                f"--node-rank={number}",
                "--master-addr=10.77.0.1",
                "--master-port=29400",
            ]
            + [str(WORKERS / "two_machines.py")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, name in enumerate(two_namespaces)
    ]
    try:
        outputs = [agent.communicate(timeout=90) for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
    assert [agent.returncode for agent in agents] == [0, 0], outputs[0][1][-2000:] + outputs[1][1][-2000:]
    results = [json.loads(line) for out, _ in outputs for line in out.splitlines() if line.startswith("{")]
    assert [result["machine"] for result in results] == [0, 1]
    assert all(sent == 2 * results[0]["bytes"] for result in results for sent in result["crossed"].values())


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_slurm_file_starts_one_torchrun_per_machine(tmp_path: Path) -> None:
    """Run it with a fake Slurm that writes down its arguments."""
    tools = {
        "scontrol": 'echo "node07"; echo "node08"',
        "srun": 'printf "%s\\n" "$@" > "$NOTED"; env | grep -E "^(CHECKPOINT|OMP)" >> "$NOTED"',
    }
    for name, body in tools.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(stat.S_IRWXU)
    given = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "NOTED": str(tmp_path / "noted"),
        "SLURM_JOB_ID": "123456",
        "SLURM_JOB_NAME": "lenet",
        "SLURM_JOB_NODELIST": "node[07-08]",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_GPUS_PER_NODE": "h100:8",  # as it is where the file asks for a kind of GPU
        "SLURM_CPUS_PER_TASK": "64",
        "SLURM_SUBMIT_DIR": "/home/somebody",
    }
    subprocess.run(
        ["bash", str(WORKERS / "slurm.sbatch")], env=given, check=True, capture_output=True, timeout=20
    )
    noted = (tmp_path / "noted").read_text().split("\n")
    assert noted[:2] == ["--cpus-per-task=64", "torchrun"]
    for word in ("--nnodes=2", "--nproc-per-node=8", "--rdzv-id=123456", "train.py", "--max-restarts=3"):
        assert word in noted
    (endpoint,) = [word for word in noted if word.startswith("--rdzv-endpoint=")]
    assert endpoint == "--rdzv-endpoint=node07:23456", "the first machine, and a port of this job"
    assert "CHECKPOINT=/home/somebody/checkpoint-lenet.pt" in noted and "OMP_NUM_THREADS=8" in noted


def test_the_slurm_file_asks_for_one_task_per_machine() -> None:
    text = (WORKERS / "slurm.sbatch").read_text(encoding="utf-8")
    options = dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)", text, re.M))
    assert options["ntasks-per-node"] == "1", (
        "torchrun starts the processes; more tasks would start them again"
    )
    assert {"nodes", "gpus-per-node", "cpus-per-task", "time"} <= set(options)
