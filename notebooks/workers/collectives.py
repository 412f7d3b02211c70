"""Three collectives: what each rank holds before and after."""

import process_group
import torch
import torch.distributed as dist

from notebook_torchrun import report

device = process_group.start()
rank, world_size = dist.get_rank(), dist.get_world_size()


def mine(length: int = 4) -> torch.Tensor:
    """Return what this rank brings along: 1, 2, 3, 4 or 10, 20, 30, 40."""
    numbers = torch.arange(1, length + 1, dtype=torch.float32, device=device)
    return numbers * 10**rank


seen = {}
x = mine()
dist.broadcast(x, src=0)
seen["broadcast"] = mine().tolist(), x.tolist()

x = mine()
dist.all_reduce(x)
seen["all_reduce"] = mine().tolist(), x.tolist()

rows = [torch.zeros(2, device=device) for _ in range(world_size)]
dist.all_gather(rows, mine(2))
seen["all_gather"] = mine(2).tolist(), torch.cat(rows).tolist()

report(collectives=seen)
dist.destroy_process_group()
