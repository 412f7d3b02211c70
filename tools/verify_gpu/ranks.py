"""Several processes on the GPUs of one machine: what NCCL and gloo do with one GPU, and with more.

``python -m tools.verify_gpu.ranks FILE`` runs the cases, writes their results, and prints a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from notebook_torchrun import Run

SHARED = Path(__file__).with_name("one_gpu_two_ranks.py")
SCRIPT = Path(__file__).with_name("ranks_script.py")
TRAIN = Path(__file__).parents[2] / "notebooks" / "workers" / "train.py"
DUPLICATE = "nccl-dup-gpu"  # the clinic's entry


@dataclass(frozen=True)
class Case:
    """A launch, how many GPUs it needs, and what is right about it ("" where all is)."""

    gpus: int
    script: Path
    arguments: tuple[object, ...]
    processes: int
    wrong: Callable[[Run], str]


def _ended(backend: str) -> Callable[[Run], str]:
    def wrong(run: Run) -> str:
        if run.failure:
            return f"{run.failure.kind}: {run.failure.text.strip().splitlines()[-1][:200]}"
        return "" if run.backend == backend else f"ran on {run.backend}, not on {backend}"

    return wrong


def _same_as_one(backend: str, bound: float) -> Callable[[Run], str]:
    """All ranks must come to what one process computes, up to rounding."""

    def wrong(run: Run) -> str:
        if missing := _ended(backend)(run):
            return missing
        difference = max(result["difference"] for result in run.results if result)
        return "" if difference < bound else f"differs by {difference:.2e}"

    return wrong


def _refused(run: Run) -> str:
    from torch_doctor.errors.matching import find_cause

    if not run.failure:
        return "NCCL let two ranks share a GPU"
    match = find_cause("\n".join([*(text for _, text in run.lines), run.failure.text])).match
    name = match.entry.name if match else None
    return "" if name == DUPLICATE else f"the clinic took the refusal for {name}: {run.failure.text[-300:]}"


def cases(gpus: int) -> dict[str, Case]:
    """Return what can be tried with so many GPUs; without any, the case for a rehearsal."""
    train = ("--epochs", 1, "--batch", 16 * max(gpus, 1), "--gpu", "--checkpoint", "checkpoint.pt")
    in_float64, right = _same_as_one("gloo", 1e-9), _same_as_one("nccl", 1e-4)
    if not gpus:
        return {"rehearsal: two gloo ranks on the CPU": Case(0, SHARED, (), 2, in_float64)}
    found = {
        "NCCL with one rank": Case(1, SCRIPT, ("together",), 1, right),
        "training, one rank, NCCL": Case(1, TRAIN, train, 1, _ended("nccl")),
        "two gloo ranks share a GPU": Case(1, SHARED, (), 2, in_float64),
        "NCCL refuses two ranks on one GPU": Case(1, SCRIPT, ("one-gpu",), 2, _refused),
        "NCCL, a GPU for each rank": Case(2, SCRIPT, ("together",), gpus, right),
        "training, a GPU for each rank": Case(2, TRAIN, train, gpus, _ended("nccl")),
        "SyncBatchNorm": Case(2, SCRIPT, ("sync-batch-norm",), gpus, right),
    }
    return {name: case for name, case in found.items() if case.gpus <= gpus}


def main() -> int:
    """Run the cases; the exit status is 0 if all came out right."""
    import tempfile

    import torch

    from notebook_torchrun import launch

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
    sys.exit(main())
