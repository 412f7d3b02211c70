"""FSDP2: every rank keeps only its share of weights, gradients and averages."""

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy

from notebook_torchrun import report

device = process_group.start()
rank, world_size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh(device.type, (world_size,))
torch.manual_seed(1)
images, labels = torch.rand(64, 64).to(device), torch.randint(10, (64,)).to(device)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)
    return nn.Sequential(*layers).to(device)


whole, model = network(), network()
for layer in (model[0], model[2]):
    fully_shard(layer, mesh=mesh)  # gathered for its turn, then freed again
fully_shard(model, mesh=mesh)

optimizers = [torch.optim.Adam(m.parameters()) for m in (whole, model)]
my_images, my_labels = (x.chunk(world_size)[rank] for x in (images, labels))
for _ in range(3):
    parts = [(whole, images, labels), (model, my_images, my_labels)]
    for (net, x, y), optimizer in zip(parts, optimizers, strict=True):
        cross_entropy(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

weight = model[0].weight
mine = [p.to_local() for p in model.parameters()]
gathered = [p.full_tensor() for p in model.parameters()]
pairs = zip(gathered, whole.parameters(), strict=True)
report(
    shapes=[list(weight.shape), list(weight.to_local().shape)],
    numbers=[sum(p.numel() for p in gathered), sum(p.numel() for p in mine)],
    momentum=list(optimizers[1].state[weight]["exp_avg"].to_local().shape),
    difference=max((p - q).abs().max().item() for p, q in pairs),
)
dist.destroy_process_group()
