"""DistributedDataParallel with gloo where the ranks share one GPU (or the CPU): is the gradient that of one process?"""

import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from notebook_torchrun import report

sys.path.append(str(Path(__file__).parents[2] / "notebooks"))
from shared.networks import lenet  # noqa: E402

dist.init_process_group("gloo", timeout=timedelta(seconds=30))
rank, world_size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
# float64: with TF32 two ways to the same gradient differ in the third digit.
images = torch.rand(64, 1, 28, 28, dtype=torch.float64).to(device)
labels = torch.randint(10, (64,)).to(device)


def model() -> torch.nn.Module:
    """Return the same network on every rank."""
    torch.manual_seed(1)
    return lenet().to(device, torch.float64)


alone, shared = model(), DistributedDataParallel(model())
cross_entropy(alone(images), labels).backward()
cross_entropy(shared(images.chunk(world_size)[rank]), labels.chunk(world_size)[rank]).backward()
pairs = zip(alone.parameters(), shared.parameters(), strict=True)
report(device=str(device), difference=max((p.grad - q.grad).abs().max().item() for p, q in pairs))
del shared  # before its group: a model that outlives it may hang
dist.destroy_process_group()
