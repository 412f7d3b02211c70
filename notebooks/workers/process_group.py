"""The first lines of a script for several processes as a function, for the instruments beside it."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def start(seconds: float = 60, backend: str | None = None) -> torch.device:
    """Join the group that torchrun describes, and return this process's device.

    Args:
        seconds: How long a collective may wait; by default it is 10 to 30 minutes.
        backend: "nccl" or "gloo"; None takes NCCL if there is a GPU for each process.
    """
    local_rank = int(os.environ["LOCAL_RANK"])
    enough_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    if backend is None:
        backend = "nccl" if enough_gpus and dist.is_nccl_available() else "gloo"
    device = torch.device(f"cuda:{local_rank}" if backend == "nccl" else "cpu")
    bound = {}
    if backend == "nccl":
        torch.cuda.set_device(device)
        bound = {"device_id": device}
    torch.set_float32_matmul_precision("highest")  # some containers switch TF32 on
    dist.init_process_group(backend, timeout=timedelta(seconds=seconds), **bound)
    return device
