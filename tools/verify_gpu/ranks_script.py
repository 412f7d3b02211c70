"""What NCCL must do: `together` (a GPU for each rank), `one-gpu` (all ranks on GPU 0, to be refused), `sync-batch-norm`."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report

LIMIT = timedelta(seconds=30)
what, local_rank = sys.argv[1], int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", 0 if what == "one-gpu" else local_rank)
torch.cuda.set_device(device)

if what == "one-gpu":
    dist.init_process_group("gloo", timeout=LIMIT)  # to meet the others
    group = dist.new_group(backend="nccl", timeout=LIMIT)
else:
    dist.init_process_group("nccl", timeout=LIMIT, device_id=device)
    group = None
rank, world_size = dist.get_rank(), dist.get_world_size()

if what == "sync-batch-norm":  # as one process normalizes the whole batch
    whole = torch.randn(32, 4, generator=torch.Generator().manual_seed(0)).to(device)
    mine, right = whole.chunk(world_size)[rank], nn.BatchNorm1d(4).to(device)(whole).chunk(world_size)[rank]
    synchronized = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(4)).to(device)
    model = DistributedDataParallel(synchronized, device_ids=[device])
    difference = (model(mine) - right).abs().max().item()
    per_rank = (nn.BatchNorm1d(4).to(device)(mine) - right).abs().max().item()
    report(backend=dist.get_backend(), difference=difference, per_rank=per_rank)
    del model, synchronized  # before the group: a model that outlives it may hang
else:
    value = torch.tensor([float(rank)], device=device)
    dist.all_reduce(value, group=group)
    report(backend=dist.get_backend(), difference=abs(value.item() - sum(range(world_size))))
dist.destroy_process_group()
