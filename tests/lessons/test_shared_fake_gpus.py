"""Fake GPUs."""

import pytest
import torch
from torch._subclasses import fake_tensor

from shared.fake_gpus import fake_gpus


def test_two_fake_gpus_are_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch 2.11 initializes the GPU of a fake tensor, which fails for the second one of a machine with one."""

    def init_gpu_context(device: torch.device) -> None:
        raise torch.AcceleratorError("CUDA error: invalid device ordinal")

    monkeypatch.setattr(fake_tensor, "init_gpu_context", init_gpu_context, raising=False)
    with fake_gpus(), pytest.raises(RuntimeError, match=r"devices.* cuda:0.* cuda:1"):
        torch.empty(2, 3, device="cuda:0") + torch.empty(2, 3, device="cuda:1")
    assert fake_tensor.init_gpu_context is init_gpu_context, "put back"
