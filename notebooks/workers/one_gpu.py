"""Two ranks on one GPU: NCCL refuses, gloo works and shares it."""

import sys
from datetime import timedelta

import process_group
import torch
import torch.distributed as dist

from notebook_torchrun import report

backend = sys.argv[1]
process_group.start(backend="gloo")  # to meet the others
group = dist.new_group(backend=backend, timeout=timedelta(seconds=30))
x = torch.ones(1, device="cuda:0")  # on every rank: LOCAL_RANK was forgotten
dist.all_reduce(x, group=group)
report(sum=x.item())
dist.destroy_process_group()
