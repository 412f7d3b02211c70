"""What a machine reaches at best."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from course_utils.gpu_ratings import ratings
from shared import ceilings as module
from shared.ceilings import ceilings, rating


def test_ceilings_of_this_machine() -> None:
    """The numbers depend on the machine, so only what is certain is asserted: the names, and the orders of size."""
    ceilings.cache_clear()
    found = ceilings()
    gpu = {"host_copy", "half", "to_device", "from_device", "launch"}
    assert set(found) == {"copy", "matmul"} | (gpu if torch.cuda.is_available() else set())
    assert 1e9 < found["copy"] < 1e14
    assert 1e9 < found["matmul"] < 1e16
    assert ceilings() is found, "measured once per session"


def test_ceilings_count_what_their_docstring_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every action taking one second, a rate is the amount of work itself."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(module, "best_time", lambda action, **_: 1.0)
    ceilings.cache_clear()
    try:
        assert ceilings() == {"copy": 2 * 2**24 * 4, "matmul": 2 * 1024**3}
    finally:
        ceilings.cache_clear()


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
