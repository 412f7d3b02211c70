"""Which backend and device a rank takes: a pure function of three numbers, so that every case can be tested."""

from __future__ import annotations


def choose(local_rank: int, local_world_size: int, gpus: int, *, nccl: bool = True) -> tuple[str, str]:
    """Return the backend and the device of a rank: NCCL needs a GPU of its own per rank, gloo works everywhere.

    Args:
        local_rank: The rank's number on its machine, from 0.
        local_world_size: How many ranks its machine runs.
        gpus: How many GPUs that machine shows, as ``torch.cuda.device_count()`` says.
        nccl: Whether PyTorch was built with NCCL (on Windows it is not), as ``torch.distributed.is_nccl_available()``
            says.

    Returns:
        ``("nccl", "cuda:1")`` or ``("gloo", "cpu")``. All ranks of a machine get the same backend.

    Raises:
        ValueError: There is no such rank, or the number of GPUs is negative.
    """
    if not 0 <= local_rank < local_world_size or gpus < 0:
        raise ValueError(
            f"choose({local_rank}, {local_world_size}, {gpus}): a local rank lies between 0 and the local world size, "
            "and the number of GPUs is not negative."
        )
    return ("nccl", f"cuda:{local_rank}") if nccl and gpus >= local_world_size else ("gloo", "cpu")
