"""How long a training step takes alone and together, for several batch sizes."""

import time

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report

device = process_group.start()
rank = dist.get_rank()
# A GPU would spend as long on 1024 rows as on 16: hardly more than launching takes.
factor = 128 if device.type == "cuda" else 1
torch.manual_seed(0)
layers = [
    nn.Linear(64, 512),
    nn.ReLU(),
    nn.Linear(512, 512),
    nn.ReLU(),
    nn.Linear(512, 10),
]
model = nn.Sequential(*layers).to(device)
ddp_model = DistributedDataParallel(model)


def step(batch: torch.Tensor) -> None:
    ddp_model(batch).square().mean().backward()


def alone(batch: torch.Tensor) -> None:
    ddp_model.module(batch).square().mean().backward()


def four(batch: torch.Tensor, synchronize: bool) -> None:
    """Accumulate four batches."""
    if synchronize:
        for _ in range(4):
            step(batch)
    else:
        with ddp_model.no_sync():
            for _ in range(3):
                step(batch)
        step(batch)


def seconds(action, participants: list[int]) -> float:
    """Return how long `action` takes; other ranks wait in the next barrier."""
    dist.barrier()
    begin = time.perf_counter()
    if rank in participants:
        action()
        if device.type == "cuda":
            torch.cuda.synchronize()
    return time.perf_counter() - begin


def measure(rows: int) -> dict[str, float]:
    """Return the fastest time of each way to use a batch of `rows` · `factor`."""
    batch = torch.randn(rows * factor, 64, device=device)
    everybody = list(range(dist.get_world_size()))
    ways = {
        "alone": (lambda: alone(batch), [0]),
        "together": (lambda: step(batch), everybody),
    }
    if rows == 16:  # little work, so that the all-reduces count
        ways["four"] = (lambda: four(batch, synchronize=True), everybody)
        ways["four, no_sync"] = (lambda: four(batch, synchronize=False), everybody)
    found = {name: [] for name in ways}
    for turn in range(25):  # all meet the same noise
        for name, (action, participants) in ways.items():
            spent = seconds(action, participants)
            if turn:  # the first one warms up
                found[name].append(spent)
    return {name: min(times) for name, times in found.items()}


points = {rows: measure(rows) for rows in (16, 64, 256, 1024)}
size = sum(p.nbytes for p in model.parameters())
report(points=points, factor=factor, bytes=size)
ddp_model = None  # freed before its group
dist.destroy_process_group()
