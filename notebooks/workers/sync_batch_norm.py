"""BatchNorm over the batch of all ranks together (needs a GPU for each rank)."""

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report

device = process_group.start()
rank, world_size = dist.get_rank(), dist.get_world_size()
whole = torch.randn(32, 4, generator=torch.Generator().manual_seed(0)).to(device)
mine = whole.chunk(world_size)[rank]

alone = nn.BatchNorm1d(4).to(device)
synchronized = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(4)).to(device)
ddp_model = DistributedDataParallel(synchronized, device_ids=[device])

# As one process normalises the whole batch, and of that my part:
right = alone(whole).chunk(world_size)[rank]
report(
    per_rank=(nn.BatchNorm1d(4).to(device)(mine) - right).abs().max().item(),
    synchronized=(ddp_model(mine) - right).abs().max().item(),
)
ddp_model = None  # freed before its group
dist.destroy_process_group()
