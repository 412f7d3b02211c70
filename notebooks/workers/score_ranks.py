"""Time a learner's `train` in one process and in all, in turn: FILE EPOCHS

In turn, because another program on this machine would slow down only one of two separate
measurements. While one process trains, the others wait without computing.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report
from shared import program, score_rules

LIMIT = timedelta(seconds=60)
NCCL = torch.cuda.is_available() and dist.is_nccl_available()


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # as if the file had been started
    spec.loader.exec_module(module)
    return module


@contextmanager
def group(
    store: dist.Store, name: str, ranks: int, device: torch.device
) -> Iterator[bool]:
    """Join a group of the first `ranks` ranks; the others are told that they are not in."""
    rank = int(os.environ["RANK"])
    if rank < ranks:
        os.environ["WORLD_SIZE"] = str(ranks)
        dist.init_process_group(
            "nccl" if NCCL else "gloo",
            store=dist.PrefixStore(name, store),
            rank=rank,
            world_size=ranks,
            timeout=LIMIT,
            device_id=device if NCCL else None,
        )
        yield True
        dist.barrier()
        dist.destroy_process_group()
        store.set(f"{name} is over", "")
    else:
        store.wait([f"{name} is over"], 3 * LIMIT)
        yield False


def timed(
    train: score_rules.Train, device: torch.device, epochs: int
) -> tuple[nn.Module, float]:
    """Return the trained network, and the seconds from when all begin until all end."""
    dist.barrier()
    begin = time.perf_counter()
    network, _ = score_rules.timed(train, device, epochs)
    dist.barrier()
    seconds = time.perf_counter() - begin
    if isinstance(network, DistributedDataParallel):
        network = network.module
    score_rules.examine_network(network)
    mine = torch.cat([p.detach().flatten() for p in network.parameters()])
    of_all = [None] * dist.get_world_size()
    dist.all_gather_object(of_all, mine.cpu().float())
    score_rules.examine_ranks(of_all)
    return network, seconds


def measure(train: score_rules.Train, device: torch.device, epochs: int) -> dict:
    """Return what the fastest of several runs reached, by the number of processes."""
    store, rank, world = next(rendezvous("env://", timeout=LIMIT))
    times = {ranks: [] for ranks in (1, world)}
    shares = []
    for turn in range(score_rules.MOST_RUNS):
        for ranks, seconds in times.items():
            with group(store, f"turn {turn} of {ranks}", ranks, device) as member:
                if member:
                    network, needed = timed(train, device, epochs)
                    seconds.append(needed)
                    shares.append(score_rules.accuracy(network, device))
        if rank == 0:  # decides for all
            spent = sum(map(sum, times.values()))
            enough = turn > 0 and spent > 2 * score_rules.ENOUGH_SECONDS
            store.set(f"enough {turn}", str(enough))
        if store.get(f"enough {turn}") == b"True":
            break
    accuracy = min(shares)  # every rank is a member of the larger group
    score_rules.examine_learning(accuracy)
    rates = {n: epochs * program.IMAGES / min(t) for n, t in times.items() if t}
    for ranks, rate in rates.items():
        score_rules.examine_rate(rate, device, ranks)
    return {"rates": rates, "accuracy": accuracy, "times": times}


def main() -> None:
    path, epochs = Path(sys.argv[1]), int(sys.argv[2])
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if NCCL else "cpu")
    if NCCL:
        torch.cuda.set_device(device)
    try:
        train = score_rules.examine_file(vars(imported(path)))
        report(**measure(train, device, epochs), device=str(device))
    except score_rules.Refused as error:
        report(refused=[error.reason.en, error.reason.zh])
        raise SystemExit(1) from None


main()
