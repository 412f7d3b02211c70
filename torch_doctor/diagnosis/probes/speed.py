"""Measure a matrix product on the CPU and on the GPU, and report the number of threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any


def best(function: Callable[[], Any], finish: Callable[[], Any], runs: int = 5) -> float:
    """Return the shortest time of some runs in seconds; `finish` waits for the end of the work."""
    function()
    finish()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        finish()
        times.append(time.perf_counter() - start)
    return min(times)


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report threads and cores, and the time of a 1024 × 1024 product on the CPU and on the first GPU."""
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    emit(threads=torch.get_num_threads(), cores=cores)
    n = 1024
    a = torch.ones(n, n)
    on_cpu = best(lambda: a @ a, lambda: None)
    emit(cpu_gflops=2 * n**3 / on_cpu / 1e9)
    if torch.cuda.is_available():
        b = a.cuda()
        on_gpu = best(lambda: b @ b, torch.cuda.synchronize)
        emit(gpu_over_cpu=on_cpu / on_gpu)
