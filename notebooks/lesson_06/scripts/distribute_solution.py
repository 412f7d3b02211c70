import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 64  # of all ranks together
limit = timedelta(minutes=5)
if torch.cuda.is_available() and dist.is_nccl_available():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=limit, device_id=device)
else:
    device = torch.device("cpu")
    dist.init_process_group("gloo", timeout=limit)
rank, world_size = dist.get_rank(), dist.get_world_size()
if BATCH % world_size:
    raise SystemExit(f"{world_size} ranks cannot share a batch of {BATCH}")

torch.manual_seed(0)
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=BATCH // world_size, sampler=sampler)
ids = [device] if device.type == "cuda" else None
model = DistributedDataParallel(torch.nn.Linear(1, 1).to(device), device_ids=ids)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(3):
    sampler.set_epoch(epoch)
    for some_x, some_y in loader:
        some_x, some_y = some_x.to(device), some_y.to(device)
        loss = ((model(some_x) - some_y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()  # of my share of the last batch
    dist.all_reduce(mean)
    if rank == 0:
        print(f"epoch {epoch}: loss {mean.item() / world_size:.4f}")
dist.destroy_process_group()
