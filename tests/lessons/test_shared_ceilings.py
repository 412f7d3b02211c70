"""What a machine reaches at best."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from tabled import tabled

from shared import ceilings as module
from shared.ceilings import ceilings, rating
from shared.gpu_ratings import ratings


def test_ceilings_count_what_their_docstring_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every action taking one second, a rate is the amount of work itself."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(module, "best_time", lambda action, **_: 1.0)
    monkeypatch.setattr(module, "host_length", lambda: (2**20, False))
    ceilings.cache_clear()
    try:
        assert ceilings() == {"copy": 2 * 2**20 * 4, "matmul": 2 * 1024**3}
    finally:
        ceilings.cache_clear()


MIB = 2**20


@tabled
def test_what_is_copied_is_four_times_as_large_as_the_caches(
    sizes: list[str],
    free: int,
    limit: str,
    buffer: int,
    cached: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each two processors share a cache of the last level."""
    for cpu in range(2 * len(sizes)):
        for level, size, shared in (
            (2, "1024K", f"{cpu}"),
            (3, sizes[cpu // 2], f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}"),
        ):
            index = tmp_path / f"devices/system/cpu/cpu{cpu}/cache/index{level}"
            index.mkdir(parents=True)
            for name, text in (("level", level), ("size", size), ("shared_cpu_list", shared)):
                (index / name).write_text(f"{text}\n", encoding="utf-8")
    if limit:
        (tmp_path / "fs/cgroup").mkdir(parents=True)
        (tmp_path / "fs/cgroup/memory.max").write_text(f"{limit}\n", encoding="utf-8")
        (tmp_path / "fs/cgroup/memory.current").write_text(f"{128 * MIB}\n", encoding="utf-8")
    monkeypatch.setattr(module, "SYSTEM", tmp_path)
    monkeypatch.setattr(sys, "platform", "linux" if sizes else "darwin")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(2 * len(sizes))), raising=False)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free * MIB))
    module.host_length.cache_clear()
    try:
        assert module.host_length() == (buffer * MIB // 4, cached)
    finally:
        module.host_length.cache_clear()


def test_a_rating_comes_from_the_gpu_or_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(name="NVIDIA H200", memory_clock_rate=3_201_000, memory_bus_width=6144)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: gpu)
    assert rating("bandwidth") == pytest.approx(4.917e12, rel=1e-3)
    assert rating("half") == ratings()["NVIDIA H200"]["half"]
    del gpu.memory_clock_rate
    assert rating("bandwidth") == ratings()["NVIDIA H200"]["bandwidth"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert rating("half") is None and rating("bandwidth") is None
