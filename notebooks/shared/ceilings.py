"""The best speeds measured on this machine (memory bandwidth, matrix products, transfers), and what its GPU is rated at."""

from __future__ import annotations

from functools import cache

import torch

from course_utils.gpu_ratings import rated_bandwidth, ratings
from course_utils.measure import Action, best_time


@cache
def ceilings() -> dict[str, float]:
    """Measure the best speeds of this machine's default device, once per session.

    Returns:
        ``copy``: bytes per second read plus written by a large copy inside the device's memory (both
        directions counted, as in NVIDIA's and STREAM's convention);
        ``matmul``: float32 operations per second of a large matrix product (2·n³ operations);
        with CUDA also ``host_copy`` (a copy in the host's memory), ``half`` (bfloat16 or float16 product),
        ``to_device`` and ``from_device`` (pinned copies, bytes per second) and ``launch`` (seconds to queue one
        tiny operation).
    """
    result = _measure_ceilings()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # otherwise the learner's next nvidia-smi shows an unused gigabyte
    return result


def _quickest(action: Action) -> float:
    """Return the shorter of the times with one CPU thread and with as many as are set.

    On a busy machine one thread can win. After ``torch.set_num_threads(1)`` it is the only one.
    """
    return min(best_time(action, threads=1), best_time(action, threads=None))


def _measure_ceilings() -> dict[str, float]:
    cuda = torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    length = 2**26 if cuda else 2**24  # 256 MiB or 64 MiB of float32: far more than any cache
    source, target = torch.randn(length, device=device), torch.empty(length, device=device)
    result = {"copy": 2 * source.nbytes / _quickest(lambda: target.copy_(source))}

    def rate(size: int, dtype: torch.dtype) -> float:
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        return 2 * size**3 / _quickest(lambda: left @ right)

    sizes = (2048, 4096, 8192) if cuda else (1024,)
    result["matmul"] = max(rate(size, torch.float32) for size in sizes)
    if cuda:
        host, other = torch.randn(2**24), torch.empty(2**24)
        result["host_copy"] = 2 * host.nbytes / _quickest(lambda: other.copy_(host))
        half = torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
        result["half"] = max(rate(size, half) for size in sizes)
        # Not larger: under WSL all processes together may pin a gigabyte or less, and PyTorch keeps what was pinned.
        pinned, part = torch.empty(2**24).pin_memory(), target[: 2**24]
        result["to_device"] = pinned.nbytes / best_time(lambda: part.copy_(pinned, non_blocking=True))
        result["from_device"] = pinned.nbytes / best_time(lambda: pinned.copy_(part, non_blocking=True))
        one = torch.zeros(1, device=device)
        result["launch"] = best_time(lambda: [one.add_(1) for _ in range(1000)]) / 1000
    return result


def rating(quantity: str) -> float | None:
    """Return what the current GPU is rated at, or None without a GPU or where the rating is not known.

    Args:
        quantity: ``"bandwidth"`` (bytes per second) or ``"half"`` (dense half-precision operations per second).
    """
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    reported = rated_bandwidth(properties) if quantity == "bandwidth" else None
    return reported or ratings().get(properties.name, {}).get(quantity)
