"""Seven collectives, before and after; and how long an all-reduce takes."""

import time

import process_group
import torch
import torch.distributed as dist

from notebook_torchrun import report

device = process_group.start()
rank, world_size = dist.get_rank(), dist.get_world_size()
# torch.distributed has two names for it: the older one warns in new releases.
reduce_scatter = (
    getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
)


def mine(length: int = 4) -> torch.Tensor:
    """Return what this rank brings along: 1, 2, 3, 4 or 10, 20, 30, 40."""
    numbers = torch.arange(1, length + 1, dtype=torch.float32, device=device)
    return numbers * 10**rank


def empty(length: int) -> torch.Tensor:
    return torch.zeros(length, device=device)


def tour() -> dict:
    """Call each collective once; return what this rank held before and after."""
    part = 4 // world_size
    seen = {}

    x = mine()
    dist.broadcast(x, src=0)
    seen["broadcast"] = mine().tolist(), x.tolist()

    x = empty(part)
    dist.scatter(x, list(mine().chunk(world_size)) if rank == 0 else None, src=0)
    seen["scatter"] = mine().tolist() if rank == 0 else None, x.tolist()

    rows = [empty(part) for _ in range(world_size)] if rank == 0 else None
    dist.gather(mine(part), rows, dst=0)
    seen["gather"] = mine(part).tolist(), torch.cat(rows).tolist() if rows else None

    x = mine()
    dist.reduce(x, dst=0)  # what the others hold afterwards is not defined
    seen["reduce"] = mine().tolist(), x.tolist() if rank == 0 else None

    x = mine()
    dist.all_reduce(x)
    seen["all_reduce"] = mine().tolist(), x.tolist()

    rows = [empty(part) for _ in range(world_size)]
    dist.all_gather(rows, mine(part))
    seen["all_gather"] = mine(part).tolist(), torch.cat(rows).tolist()

    x = empty(part)
    reduce_scatter(x, mine())
    seen["reduce_scatter"] = mine().tolist(), x.tolist()
    return seen


def seconds(action, samples: int) -> float:
    """Return the fastest of a few runs; all ranks begin together."""
    found = []
    for _ in range(samples):
        dist.barrier()
        begin = time.perf_counter()
        action()
        if device.type == "cuda":
            torch.cuda.synchronize()
        found.append(time.perf_counter() - begin)
    return min(found)


def sweep() -> list:
    """Return (bytes, seconds) of an all-reduce, from 4 bytes to 64 MiB."""
    points = []
    for power in (2, 8, 12, 16, 20, 22, 24, 26):
        size = 2**power
        x = empty(size // 4)
        dist.all_reduce(x)  # warm-up
        samples = 5 if power > 22 else 15
        points.append((size, seconds(lambda x=x: dist.all_reduce(x), samples)))
    return points


def pieces() -> tuple:
    """Return the seconds for 200 small all-reduces, and for one of as many bytes."""
    small, flat = [empty(1000) for _ in range(200)], empty(200_000)
    many = seconds(lambda: [dist.all_reduce(x) for x in small], 3)
    return many, seconds(lambda: dist.all_reduce(flat), 9)


report(collectives=tour())
report(sweep=sweep(), pieces=pieces())
time.sleep(
    0.1
)  # some releases hang now and then if a rank leaves while memory is being freed
dist.destroy_process_group()
