"""Every process says who it is, and all add up their ranks: what the tests of the launcher launch."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from notebook_torchrun import report

rank, local_rank, world_size = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
nccl = torch.cuda.device_count() >= world_size and dist.is_nccl_available()
device = torch.device(f"cuda:{local_rank}" if nccl else "cpu")
if nccl:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if nccl else "gloo", timeout=timedelta(seconds=30))
total = torch.zeros(1, device=device)
for step in range(int(sys.argv[2])):
    value = torch.tensor([float(rank + step)], device=device)
    dist.all_reduce(value)  # every process now holds the sum
    total += value
    print(f"I am rank {rank} of {world_size}. Step {step}: together we have {value.item():g}.")
report(rank=rank, total=total.item())
dist.destroy_process_group()
