"""Rank 0 has five batches, rank 1 only four."""

from datetime import timedelta

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report

# gloo on purpose: when the time is up it raises; NCCL would end the process.
device = process_group.start(backend="gloo")
rank = dist.get_rank()
hasty = dist.new_group(timeout=timedelta(seconds=2))  # for the gradients
model = DistributedDataParallel(nn.Linear(8, 1), process_group=hasty)
batches = torch.ones(5 if rank == 0 else 4, 2, 8)

for batch in batches:
    model(batch).sum().backward()
dist.barrier()  # whoever is done waits here for the others
report(batches=len(batches))
dist.destroy_process_group()
