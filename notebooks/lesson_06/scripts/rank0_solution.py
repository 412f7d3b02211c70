import time
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
file = Path("numbers.pt")


def download():
    time.sleep(1)  # it takes a while
    torch.save(torch.arange(10.0), file)


if rank == 0:
    download()
dist.barrier()  # all ranks, rank 0 after the download
data = torch.load(file)
print(f"rank {rank}: {len(data)} numbers")
dist.destroy_process_group()
