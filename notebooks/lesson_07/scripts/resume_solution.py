import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=64 // world_size, sampler=sampler)
ddp = DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.02, momentum=0.9)
file = Path("checkpoint.pt")

first = 0  # the epoch to begin with
found = torch.tensor(int(rank == 0 and file.exists()))
dist.broadcast(found, src=0)  # one rank decides
if found:
    state = torch.load(file)
    ddp.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["epoch"] + 1  # that one was complete
for epoch in range(first, 4):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = ((ddp(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        parts = {"model": ddp.module, "optimizer": optimizer}
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save(state | {"epoch": epoch}, "checkpoint.part")
        os.replace("checkpoint.part", file)
    dist.barrier()
dist.destroy_process_group()
