"""Mistakes that everybody makes once, caught and reported. Then rank 1 crashes."""

from datetime import timedelta

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report

# gloo on purpose: its errors can be caught. NCCL ends the process instead.
device = process_group.start(backend="gloo")
rank = dist.get_rank()


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


def unused_parameters(group) -> None:
    model = DistributedDataParallel(TwoHeads(), process_group=group)
    for _ in range(2):
        model(torch.ones(1, 4)).sum().backward()


def unused_parameters_found(group) -> None:
    options = {"process_group": group, "find_unused_parameters": True}
    model = DistributedDataParallel(TwoHeads(), **options)
    for _ in range(2):
        model(torch.ones(1, 4)).sum().backward()


def with_batch_norm(group) -> DistributedDataParallel:
    model = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)).eval()
    return DistributedDataParallel(model, process_group=group)


def rank_0_evaluates(group) -> None:
    model = with_batch_norm(group)
    if rank == 0:
        with torch.no_grad():
            model(torch.ones(3, 4))


def rank_0_evaluates_the_module(group) -> None:
    model = with_batch_norm(group)
    if rank == 0:
        with torch.no_grad():
            model.module(torch.ones(3, 4))


def other_shapes(group) -> None:
    dist.all_reduce(torch.ones(2 + rank), group=group)


def other_order(group) -> list:
    """Sum a loss (1 on each rank) and a count (100), but not in the same order."""
    loss, count = torch.tensor([1.0]), torch.tensor([100.0])
    for value in (loss, count) if rank == 0 else (count, loss):
        dist.all_reduce(value, group=group)
    return [loss.item(), count.item()]


def joined(group) -> int:
    model = DistributedDataParallel(nn.Linear(4, 1), process_group=group)
    batches = torch.ones(5 if rank == 0 else 4, 2, 4)
    with Join([model]):
        for batch in batches:
            model(batch).sum().backward()
    return len(batches)


def provoke(mistake) -> None:
    group = dist.new_group(timeout=timedelta(seconds=2))
    try:
        outcome = {"returned": mistake(group)}
    except Exception as error:
        outcome = {"raised": type(error).__name__, "text": str(error)}
    report(**{mistake.__name__: outcome})
    dist.barrier()  # in the group of all


for mistake in (unused_parameters, unused_parameters_found):
    provoke(mistake)
for mistake in (rank_0_evaluates, rank_0_evaluates_the_module, other_order):
    provoke(mistake)
# As TORCH_DISTRIBUTED_DEBUG=DETAIL does:
dist.set_debug_level(dist.DebugLevel.DETAIL)
provoke(other_shapes)
dist.set_debug_level(dist.DebugLevel.OFF)
provoke(joined)

labels = torch.tensor([3, 1, 4] if rank == 0 else [1, 5, 10])  # ten classes, 0 to 9
loss = nn.functional.cross_entropy(torch.zeros(3, 10), labels)
dist.all_reduce(loss)
