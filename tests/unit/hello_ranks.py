"""Every process says who it is, and all add up their ranks: what the tests of the launcher launch."""

import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist

from notebook_torchrun import report

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
steps = parser.parse_args().steps

rank = int(os.environ["RANK"])  # my number among all processes
local_rank = int(os.environ["LOCAL_RANK"])  # my number on this machine
world_size = int(os.environ["WORLD_SIZE"])  # how many we are

# NCCL needs a GPU of its own for every process; gloo works on any machine.
enough_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
backend = "nccl" if enough_gpus and dist.is_nccl_available() else "gloo"
device = torch.device(f"cuda:{local_rank}" if backend == "nccl" else "cpu")
if backend == "nccl":
    torch.cuda.set_device(device)
dist.init_process_group(backend, timeout=timedelta(seconds=30))

total = torch.zeros(1, device=device)
for step in range(steps):
    value = torch.tensor([float(rank + step)], device=device)
    dist.all_reduce(value)  # every process now holds the sum
    total += value
    together = f"together we have {value.item():g}"
    print(f"I am rank {rank} of {world_size}. Step {step}: {together}.")

report(rank=rank, total=total.item())
dist.destroy_process_group()
