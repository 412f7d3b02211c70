"""One process, or the ranks that torchrun has started: the same program for both."""

import os
import socket
from argparse import Namespace
from datetime import timedelta

import torch
import torch.distributed as dist

# DDP would import it later. It holds the group that is there then, which so outlives
# destroy_process_group(), with threads that now and then abort a process as it ends.
import torch.distributed.nn.functional  # noqa: F401
from torch import Tensor

from devices import cpu
from run_folder import RunError

# How long a rank waits for the others: longer than any of them reads the data, writes
# a checkpoint or computes the baselines.
LIMIT = timedelta(minutes=10)


def start(options: Namespace) -> None:
    """Join the other ranks, if torchrun has started some, and take a device."""
    names = "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"
    found = [int(os.environ.get(name, name.endswith("SIZE"))) for name in names]
    options.rank, options.local_rank, options.world, local = found
    if options.batch % options.world:
        ranks = f"{options.world} ranks"
        raise RunError(f"--batch {options.batch} must be a multiple of {ranks}")
    gpus = 0 if options.cpu else torch.cuda.device_count()
    if 0 < gpus < local:
        here = f"{socket.gethostname()} has {gpus} GPUs for {local} ranks"
        raise RunError(f"{here}: start fewer, or give --cpu")
    options.device, name = torch.device("cpu"), cpu()
    if gpus:
        options.device = torch.device("cuda", options.local_rank)
        torch.cuda.set_device(options.device)
        name = torch.cuda.get_device_name()
    elif options.precision == "tf32":
        raise RunError("--precision tf32 exists on GPUs only: take float32")
    options.devices = [f"{options.device} ({name})"]
    if "RANK" in os.environ:
        join(options)
    ranks = f"{options.world} rank{'s' if options.world > 1 else ''}"
    say(options, f"{ranks}: {', '.join(options.devices)}")


def join(options: Namespace) -> None:
    """Meet the other ranks, and let each know on what the others compute."""
    gpu = options.device.type == "cuda"
    nccl = gpu and dist.is_nccl_available()  # it is not on Windows
    backend, own = ("nccl", options.device) if nccl else ("gloo", None)
    dist.init_process_group(backend, timeout=LIMIT, device_id=own)
    all_devices = options.devices * options.world
    dist.all_gather_object(all_devices, options.devices[0])
    options.devices = all_devices


def say(options: Namespace, text: str) -> None:
    if options.rank == 0:  # once, not once per rank
        print(text, flush=True)


def wait() -> None:
    """Let all ranks come here."""
    if dist.is_initialized():
        dist.barrier()


def add_up(values: Tensor) -> Tensor:
    """Replace values by their sum over all ranks."""
    if dist.is_initialized():
        dist.all_reduce(values)
    return values


def decide(choice: object) -> object:
    """Return what rank 0 has chosen, on all ranks."""
    chosen = [choice]
    if dist.is_initialized():
        dist.broadcast_object_list(chosen)
    return chosen[0]
