"""The best speeds measured on this machine (memory bandwidth, matrix products, transfers), and what its GPU is rated at."""

import os
import sys
from functools import cache
from pathlib import Path

import psutil
import torch

from course_utils.measure import Action, best_time
from shared.gpu_ratings import rated_bandwidth, ratings

SYSTEM = Path("/sys")  # of Linux


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


def _last_level_caches() -> int:
    """Return how many bytes the caches of the last level hold together, of the processors that this process may use."""
    found: dict[int, dict[str, int]] = {}
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    try:
        for processor in processors:
            for index in SYSTEM.glob(f"devices/system/cpu/cpu{processor}/cache/index*"):
                level, size, shared = (
                    (index / name).read_text().strip() for name in ("level", "size", "shared_cpu_list")
                )
                found.setdefault(int(level), {})[shared] = 1024 * int(size.removesuffix("K"))
    except (OSError, ValueError):
        found = {}
    if found:
        return sum(found[max(found)].values())
    # Not said: a sandbox, perhaps on a large server; macOS and Windows, mostly on desktop computers.
    return 2**28 if sys.platform == "linux" else 2**26


def _free() -> int:
    """Return how many bytes this process may still take: of the machine's memory, and of its container's."""
    free = psutil.virtual_memory().available
    limit, used = (SYSTEM / "fs/cgroup" / name for name in ("memory.max", "memory.current"))
    if limit.is_file() and limit.read_text().strip() != "max":
        free = min(free, int(limit.read_text()) - int(used.read_text()))
    return free


@cache
def host_length() -> tuple[int, bool]:
    """Return how many float32 numbers a copy in the host's memory moves, and whether caches may hold some of them.

    Each of the two buffers is four times as large as the last-level caches (the rule of STREAM, McCalpin), as far as
    1 GiB and a quarter of the free memory allow; more would take seconds.
    """
    wanted = max(2**24, _last_level_caches())  # as many float32 numbers as bytes: four times as large
    length = min(wanted, 2**28, max(2**20, _free() // 16))
    return length, length < wanted


def _copy_rate(length: int, device: torch.device) -> float:
    source = torch.ones(length, device=device)  # not zeros: the system might map them all to one page
    target = torch.empty_like(source)
    return 2 * source.nbytes / _quickest(lambda: target.copy_(source))


def _measure_ceilings() -> dict[str, float]:
    cuda = torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    result = {"copy": _copy_rate(2**26 if cuda else host_length()[0], device)}

    def rate(size: int, dtype: torch.dtype) -> float:
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        return 2 * size**3 / _quickest(lambda: left @ right)

    sizes = (2048, 4096, 8192) if cuda else (1024,)
    result["matmul"] = max(rate(size, torch.float32) for size in sizes)
    if cuda:
        result["host_copy"] = _copy_rate(host_length()[0], torch.device("cpu"))
        half = torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
        result["half"] = max(rate(size, half) for size in sizes)
        # Not larger: under WSL all processes together may pin a gigabyte or less, and PyTorch keeps what was pinned.
        pinned, part = torch.empty(2**24).pin_memory(), torch.empty(2**24, device=device)
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
