"""What DistributedDataParallel copies, averages, sends early and leaves out."""

import copy
import json
import os
import tempfile
from pathlib import Path

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

from notebook_torchrun import report

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler is to be silent
device = process_group.start()
rank, world_size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)  # the batch of all ranks together, and my part of it
images, labels = torch.rand(64, 64).to(device), torch.randint(10, (64,)).to(device)
my_images, my_labels = (x.chunk(world_size)[rank] for x in (images, labels))


def network(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to(device)


def gradient(model: nn.Module) -> torch.Tensor:
    """Return all gradients as one long vector."""
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the largest difference of two gradients; 1 is as large as they are."""
    largest = torch.maximum(a.abs().max(), b.abs().max())
    return ((a - b).abs().max() / largest).item()


def constructor() -> dict:
    """Give each rank another model; look at a weight and a buffer."""
    model = nn.Sequential(network(seed=rank), nn.BatchNorm1d(10).to(device))
    model[1].running_mean += rank

    def look() -> list[float]:
        return [model[0][0].weight[0, 0].item(), model[1].running_mean[0].item()]

    before = look()
    DistributedDataParallel(model)
    return {"before": before, "after": look()}


def averages() -> dict:
    """Compare gradients: of my part, averaged by hand, by DDP, of the whole batch."""
    model = network(seed=0)
    cross_entropy(model(my_images), my_labels).backward()
    mine = gradient(model)
    by_hand = mine.clone()
    dist.all_reduce(by_hand)  # the sum over all ranks …
    by_hand /= world_size  # … and the mean

    ddp_model = DistributedDataParallel(network(seed=0))
    cross_entropy(ddp_model(my_images), my_labels).backward()
    by_ddp = gradient(ddp_model)

    model = network(seed=0)
    cross_entropy(model(images), labels).backward()
    whole = gradient(model)
    return {
        "mine against whole": distance(mine, whole),
        "by hand against whole": distance(by_hand, whole),
        "DDP against whole": distance(by_ddp, whole),
    }


def not_the_same() -> dict:
    """Get another gradient: by a summed loss, by unequal parts, by going past DDP."""
    model, ddp_model = network(seed=0), DistributedDataParallel(network(seed=0))
    cross_entropy(model(images), labels, reduction="sum").backward()
    cross_entropy(ddp_model(my_images), my_labels, reduction="sum").backward()
    summed = (gradient(ddp_model).norm() / gradient(model).norm()).item()

    ddp_model.zero_grad(), model.zero_grad()
    mine = slice(0, 48) if rank == 0 else slice(48, 64)  # 48 images here, 16 there
    cross_entropy(ddp_model(images[mine]), labels[mine]).backward()
    cross_entropy(model(images), labels).backward()
    unequal = distance(gradient(ddp_model), gradient(model))

    ddp_model.zero_grad()
    cross_entropy(ddp_model.module(my_images), my_labels).backward()
    mine = gradient(ddp_model)
    other = mine.clone()
    dist.broadcast(other, src=0)
    past = distance(mine, other)
    return {"summed loss": summed, "unequal parts": unequal, "past DDP": past}


def wide() -> nn.Sequential:
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(6)]
    return nn.Sequential(*layers).to(device)


def buckets(megabytes: float | None) -> list:
    """Return the size of each bucket, in the order of sending."""
    sizes = []

    def hook(state, bucket):
        sizes.append(bucket.buffer().nbytes)
        return allreduce_hook(state, bucket)

    ddp_model = DistributedDataParallel(wide(), bucket_cap_mb=megabytes)
    ddp_model.register_comm_hook(None, hook)
    for _ in range(2):  # the first step shows in which order gradients get ready
        sizes.clear()
        ddp_model(torch.ones(8, 512, device=device)).sum().backward()
    return sizes


def accumulation() -> dict:
    """Accumulate four batches without and with no_sync; count, compare gradients."""
    model, count = network(seed=0), []
    ddp_model = DistributedDataParallel(network(seed=0))

    def hook(state, bucket):
        count.append(1)
        return allreduce_hook(state, bucket)

    ddp_model.register_comm_hook(None, hook)
    parts = list(zip(my_images.chunk(4), my_labels.chunk(4), strict=True))
    for x, y in parts:
        (cross_entropy(ddp_model(x), y) / 4).backward()
    every, n_every = gradient(ddp_model).clone(), len(count)

    ddp_model.zero_grad(), count.clear()
    with ddp_model.no_sync():  # the forward pass as well
        for x, y in parts[:-1]:
            (cross_entropy(ddp_model(x), y) / 4).backward()
    (cross_entropy(ddp_model(parts[-1][0]), parts[-1][1]) / 4).backward()
    cross_entropy(model(images), labels).backward()
    both, whole = (every, gradient(ddp_model)), gradient(model)
    return {
        "all-reduces": [n_every, len(count)],
        "against the whole batch": [distance(found, whole) for found in both],
    }


def mixed_precision() -> dict:
    """Train in bfloat16, then with a scaler while rank 1 alone overflows."""
    ddp_model = DistributedDataParallel(network(seed=0))
    with torch.autocast(device.type, torch.bfloat16):  # around the wrapped model
        scores = ddp_model(my_images)
        loss = cross_entropy(scores, my_labels)
    loss.backward()
    found = {
        "scores": str(scores.dtype),
        "gradients": str(gradient(ddp_model).dtype),
    }

    ddp_model.zero_grad()
    optimizer = torch.optim.SGD(ddp_model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device.type, init_scale=1024.0)
    before = copy.deepcopy(ddp_model.module.state_dict())
    loss = cross_entropy(ddp_model(my_images), my_labels)
    loss = loss * float("inf") if rank == 1 else loss
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    after = ddp_model.module.state_dict()
    same = all(torch.equal(value, before[name]) for name, value in after.items())
    return found | {"step skipped": same, "scale": scaler.get_scale()}


def trace() -> dict:
    """Return what PyTorch's profiler saw of one step."""
    ddp_model = DistributedDataParallel(wide(), bucket_cap_mb=1)
    batch = torch.randn(256, 512, device=device)
    for _ in range(3):
        ddp_model(batch).square().mean().backward()
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    dist.barrier()
    with profile(activities=activities, acc_events=True) as profiler:
        ddp_model(batch).square().mean().backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text())


report(constructor=constructor(), averages=averages(), not_the_same=not_the_same())
report(
    buckets={"default": buckets(None), "1 MB": buckets(1)},
    accumulation=accumulation(),
)
report(mixed_precision=mixed_precision())
spans = [event for event in trace()["traceEvents"] if event.get("ph") == "X"]
for event in spans if device.type == "cpu" else ():
    event.pop("args", None)  # on a GPU, they tell the streams
report(trace=[event for event in spans if "cat" in event])
dist.destroy_process_group()
