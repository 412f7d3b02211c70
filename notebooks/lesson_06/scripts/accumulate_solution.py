from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
x = torch.linspace(-3, 3, 64).unsqueeze(1)[rank::world_size]  # my share
y = torch.sin(x)

torch.manual_seed(0)
ddp = DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    pieces = list(zip(x.chunk(4), y.chunk(4), strict=True))
    for number, (some_x, some_y) in enumerate(pieces):
        last = number == len(pieces) - 1
        with nullcontext() if last else ddp.no_sync():
            loss = ((ddp(some_x) - some_y) ** 2).mean() / len(pieces)
            loss.backward()
    optimizer.step()

dist.destroy_process_group()
