"""Practice GPUs that are started for a test, and stopped after it: other tests must not see them."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import practice_gpu

if torch.cuda.is_available():  # it does not start beside a CUDA GPU
    collect_ignore = ["test_device.py", "test_facts.py", "test_operators.py"]


@pytest.fixture(autouse=True)
def stopped(one_thread: None) -> Iterator[None]:
    yield
    practice_gpu.stop()


@pytest.fixture
def gpu() -> Any:
    """Return what torch.cuda is on a real GPU; there are two devices."""
    practice_gpu.start("T4", count=2)
    return torch.get_device_module("practice")
