"""Several processes on the GPUs of one machine: what NCCL and gloo do with one GPU, and with more.

``python -m tools.verify_gpu.ranks FILE`` runs the cases, writes their results, and prints a line. Each rank runs this
file too, with what it is to do: ``together`` (NCCL, a GPU for each rank), ``one-gpu`` (NCCL, all ranks on GPU 0, to be
refused), ``sync-batch-norm`` (NCCL), or ``share`` (gloo, all ranks on one GPU or on the CPU).
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import Run, launch, report
from torch_doctor.errors.matching import find_cause

THIS = Path(__file__).resolve()
NOTEBOOKS = THIS.parents[2] / "notebooks"
TRAIN = NOTEBOOKS / "workers" / "train.py"
TASKS = ("together", "one-gpu", "sync-batch-norm", "share")  # of a rank
DUPLICATE = "nccl-dup-gpu"  # the clinic's entry


# --- one rank -------------------------------------------------------------------------------------------


def rank(what: str) -> None:
    """Do in one rank `what` is asked for, and report how much it differs from what one process computes."""
    limit = timedelta(seconds=30)
    alone = what in ("one-gpu", "share")  # all ranks on one device
    device = torch.device("cuda", 0 if alone else int(os.environ["LOCAL_RANK"]))
    if what == "share" and not torch.cuda.is_available():
        device = torch.device("cpu")
    else:
        torch.cuda.set_device(device)
    if alone:  # for one-gpu: to meet the others
        dist.init_process_group("gloo", timeout=limit)
    else:
        dist.init_process_group("nccl", timeout=limit, device_id=device)
    group = dist.new_group(backend="nccl", timeout=limit) if what == "one-gpu" else None
    number, world_size = dist.get_rank(), dist.get_world_size()
    # In functions: a model that outlives its group may hang.
    if what == "share":
        difference = _gradient(device, number, world_size)
    elif what == "sync-batch-norm":
        difference = _normalized(device, number, world_size)
    else:
        value = torch.tensor([float(number)], device=device)
        dist.all_reduce(value, group=group)
        difference = abs(value.item() - sum(range(world_size)))
    report(backend=dist.get_backend(), device=str(device), difference=difference)
    dist.destroy_process_group()


def _gradient(device: torch.device, number: int, world_size: int) -> float:
    """Return how far the gradient of DistributedDataParallel is from that of one process."""
    sys.path.append(str(NOTEBOOKS))
    from shared.networks import lenet

    torch.manual_seed(0)
    # float64: with TF32 two ways to the same gradient differ in the third digit.
    images = torch.rand(64, 1, 28, 28, dtype=torch.float64).to(device)
    labels = torch.randint(10, (64,)).to(device)
    one = lenet().to(device, torch.float64)
    shared = DistributedDataParallel(deepcopy(one))
    cross_entropy(one(images), labels).backward()
    cross_entropy(shared(images.chunk(world_size)[number]), labels.chunk(world_size)[number]).backward()
    pairs = zip(one.parameters(), shared.parameters(), strict=True)
    return max((p.grad - q.grad).abs().max().item() for p, q in pairs)


def _normalized(device: torch.device, number: int, world_size: int) -> float:
    """Return how far SyncBatchNorm is from one process that normalizes the whole batch."""
    whole = torch.randn(32, 4, generator=torch.Generator().manual_seed(0)).to(device)
    right = nn.BatchNorm1d(4).to(device)(whole).chunk(world_size)[number]
    synchronized = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(4)).to(device)
    model = DistributedDataParallel(synchronized, device_ids=[device])
    return (model(whole.chunk(world_size)[number]) - right).abs().max().item()


# --- the cases ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A launch, how many GPUs it needs, and what is right about it ("" where all is)."""

    gpus: int
    script: Path
    arguments: tuple[object, ...]
    processes: int
    wrong: Callable[[Run], str]


def _ended(backend: str, bound: float | None = None) -> Callable[[Run], str]:
    """With a `bound`, all ranks must come to what one process computes, up to rounding."""

    def wrong(run: Run) -> str:
        if run.failure:
            return f"{run.failure.kind}: {run.failure.text.strip().splitlines()[-1][:200]}"
        if run.backend != backend:
            return f"ran on {run.backend}, not on {backend}"
        difference = 0.0 if bound is None else max(result["difference"] for result in run.results if result)
        return "" if bound is None or difference < bound else f"differs by {difference:.2e}"

    return wrong


def _refused(run: Run) -> str:
    if not run.failure:
        return "NCCL let two ranks share a GPU"
    match = find_cause("\n".join([*(text for _, text in run.lines), run.failure.text])).match
    name = match.entry.name if match else None
    return "" if name == DUPLICATE else f"the clinic took the refusal for {name}: {run.failure.text[-300:]}"


def cases(gpus: int) -> dict[str, Case]:
    """Return what can be tried with so many GPUs; without any, the case for a rehearsal."""
    train = ("--epochs", 1, "--batch", 16 * max(gpus, 1), "--gpu", "--checkpoint", "checkpoint.pt")
    in_float64, right = _ended("gloo", 1e-9), _ended("nccl", 1e-4)
    if not gpus:
        return {"rehearsal: two gloo ranks on the CPU": Case(0, THIS, ("share",), 2, in_float64)}
    found = {
        "NCCL with one rank": Case(1, THIS, ("together",), 1, right),
        "training, one rank, NCCL": Case(1, TRAIN, train, 1, _ended("nccl")),
        "two gloo ranks share a GPU": Case(1, THIS, ("share",), 2, in_float64),
        "NCCL refuses two ranks on one GPU": Case(1, THIS, ("one-gpu",), 2, _refused),
        "NCCL, a GPU for each rank": Case(2, THIS, ("together",), gpus, right),
        "training, a GPU for each rank": Case(2, TRAIN, train, gpus, _ended("nccl")),
        "SyncBatchNorm": Case(2, THIS, ("sync-batch-norm",), gpus, right),
    }
    return {name: case for name, case in found.items() if case.gpus <= gpus}


def main() -> int:
    """Run the cases; the exit status is 0 if all came out right."""
    outcomes: dict[str, dict[str, object]] = {}
    results = Path(sys.argv[1]).resolve()
    for name, case in cases(torch.cuda.device_count()).items():
        with tempfile.TemporaryDirectory() as folder, chdir(folder):  # train.py writes where it is started
            run = launch(case.script, *case.arguments, processes=case.processes, limit=90, show="quiet")
        outcomes[name] = {"wrong": case.wrong(run), "backend": run.backend, "seconds": round(run.seconds, 1)}
        outcomes[name] |= {"results": run.results, "failure": run.failure.text if run.failure else None}
        print(f"{name}: {outcomes[name]['wrong'] or 'ok'}", flush=True)
        # After each case: if the time is up in a later one, what was found stays.
        results.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    wrong = {name: outcome["wrong"] for name, outcome in outcomes.items() if outcome["wrong"]}
    print("; ".join(f"{name}: {why}" for name, why in wrong.items()) or f"{len(outcomes)} cases as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] in TASKS:
        rank(sys.argv[1])
    else:
        sys.exit(main())
