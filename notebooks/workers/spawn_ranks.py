"""Two processes by spawn, without torchrun: ranks and meeting place are our own task.

Runs by itself: python spawn_ranks.py
"""

import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, world_size, meeting):
    dist.init_process_group(
        "gloo",
        init_method=meeting,
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=30),
    )
    total = torch.tensor(float(rank))
    dist.all_reduce(total)
    if rank == 0:
        print(f"{world_size} processes, sum of their ranks: {total.item():g}")
    dist.destroy_process_group()


if __name__ == "__main__":  # each child imports this file, and must not spawn again
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder, "meeting").as_uri()  # where they find each other
        mp.spawn(work, args=(2, meeting), nprocs=2)  # rank comes first, by itself
