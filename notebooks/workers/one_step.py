"""Train with DataParallel or with DDP, on the same batch: how long does a step take?"""

import sys
import time

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report
from shared.networks import resnet18

way, width = sys.argv[1], int(sys.argv[2])
device = process_group.start()  # one process for DataParallel, one per GPU for DDP
torch.manual_seed(0)
images, labels = torch.rand(256, 1, 28, 28), torch.randint(10, (256,))  # of all GPUs
model = resnet18(width).to(device)
if way == "DDP":
    rank, world_size = dist.get_rank(), dist.get_world_size()
    images, labels = (x.chunk(world_size)[rank] for x in (images, labels))
    mine = [device] if device.type == "cuda" else None
    wrapped = DistributedDataParallel(model, device_ids=mine)
else:
    wrapped = nn.DataParallel(model, device_ids=[0, 1])
images, labels = images.to(device), labels.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def step() -> float:
    """Make one step of training; return its loss."""
    loss = nn.functional.cross_entropy(wrapped(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()  # waits until the GPU has got as far


def seconds() -> float:
    """Return the time of a step; all ranks begin together."""
    dist.barrier()
    begin = time.perf_counter()
    step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


loss = step()  # the first steps find algorithms and fill the memory pools
steps = [seconds() for _ in range(10 if device.type == "cuda" else 2)]
report(seconds=min(steps), images=len(images), loss=loss)
wrapped = None  # freed before its group
dist.destroy_process_group()
