"""What a machine reaches at best."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from course_utils.gpu_ratings import ratings
from shared import ceilings as module
from shared.ceilings import ceilings, rating


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


MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    "sizes, free, limit, buffer, cached",
    [
        (["8192K"] * 1, 20 * GIB, None, 64 * MIB, False),  # a laptop
        (["32768K"] * 2, 20 * GIB, "max", 256 * MIB, False),  # two chiplets
        (["32768K"] * 24, 700 * GIB, None, GIB, True),  # a large server: 768 MiB
        (["32768K"] * 2, 20 * GIB, f"{512 * MIB}", 96 * MIB, True),  # the same in a small container
        ([], 20 * GIB, None, 256 * MIB, False),  # nothing is said, as on macOS and Windows
        (["?"], 20 * GIB, None, GIB, False),  # nor in a sandbox on a server
        ([], GIB // 2, None, 128 * MIB, True),
    ],
)
def test_what_is_copied_is_four_times_as_large_as_the_caches(
    sizes: list[str], free: int, limit: str | None, buffer: int, cached: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
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
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    module.host_length.cache_clear()
    try:
        assert module.host_length() == (buffer // 4, cached)
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
