"""A ring all-reduce by hand, in three ways: how many bytes leave a machine?"""

import os

import process_group
import torch
import torch.distributed as dist

from notebook_torchrun import report

# gloo on purpose: this is about who sends what to whom, not about speed.
device = process_group.start(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
per_machine = int(os.environ["LOCAL_WORLD_SIZE"])
machine = int(os.environ["GROUP_RANK"])
machines = world_size // per_machine
machine_of = torch.zeros(world_size, dtype=torch.int64)
machine_of[rank] = machine
dist.all_reduce(machine_of)  # now it has the machine of every rank
machine_of = machine_of.tolist()

crossed = 0  # bytes that this rank has sent to another machine


def pass_on(piece: torch.Tensor, ring: list[int]) -> torch.Tensor:
    """Send `piece` to the right neighbour; return what comes from the left one."""
    global crossed
    place = ring.index(rank)
    right, left = ring[(place + 1) % len(ring)], ring[place - 1]
    arrived = torch.empty_like(piece)
    sending = dist.isend(piece, right)
    dist.recv(arrived, left)
    sending.wait()
    if machine_of[right] != machine:
        crossed += piece.nbytes
    return arrived


def reduce_scatter(x: torch.Tensor, ring: list[int]) -> torch.Tensor:
    """Add up one chunk for each member of the ring; return the one that ends here."""
    n, place = len(ring), ring.index(rank)
    chunks = x.chunk(n)
    for step in range(n - 1):
        arrived = pass_on(chunks[(place - step) % n], ring)
        chunks[(place - step - 1) % n].add_(arrived)
    return chunks[(place + 1) % n]


def all_gather(x: torch.Tensor, ring: list[int]) -> None:
    """Pass the finished chunks on until everybody has all of them."""
    n, place = len(ring), ring.index(rank)
    chunks = x.chunk(n)
    for step in range(n - 1):
        arrived = pass_on(chunks[(place + 1 - step) % n], ring)
        chunks[(place - step) % n].copy_(arrived)


def all_reduce(x: torch.Tensor, ring: list[int]) -> None:
    reduce_scatter(x, ring)
    all_gather(x, ring)


def in_turns(x: torch.Tensor) -> None:
    """A ring that changes machines at every step: 0, 2, 1, 3."""
    ring = [
        local + per_machine * m
        for local in range(per_machine)
        for m in range(machines)
    ]
    all_reduce(x, ring)


def machine_by_machine(x: torch.Tensor) -> None:
    all_reduce(x, list(range(world_size)))


def inside_first(x: torch.Tensor) -> None:
    """Add up inside each machine, then across, then spread the sum inside."""
    inside = [machine * per_machine + local for local in range(per_machine)]
    across = [rank % per_machine + per_machine * m for m in range(machines)]
    mine = reduce_scatter(x, inside)  # a part of the sum over this machine
    all_reduce(mine, across)  # the same part, over all machines
    all_gather(x, inside)


length = 2**10 * world_size**2
right = torch.full((length,), float(sum(range(1, world_size + 1))))
sent = {}
for way in (in_turns, machine_by_machine, inside_first):
    crossed, x = 0, torch.full((length,), float(rank + 1))
    way(x)
    assert torch.equal(x, right), way.__name__
    total = torch.tensor(crossed)
    dist.all_reduce(total)
    sent[way.__name__] = total.item()
print(f"rank {rank}, machine {machine}, local rank {os.environ['LOCAL_RANK']}")
report(machine=machine, bytes=length * 4, crossed=sent)
dist.destroy_process_group()
