"""Pretended GPUs behave as real ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from shared.pretended_gpus import CPU, pretended_gpus

pytestmark = pytest.mark.usefixtures("no_warnings")


def test_pretended_tensors_move_as_real_ones_do() -> None:
    with pretended_gpus(2) as traffic:
        x = torch.ones(2, 3)
        there = x.to("cuda:0")
        assert x.device == CPU and there.device == torch.device("cuda:0") and there.is_cuda
        assert there.to("cuda:0") is there and there.to("cuda") is there
        assert there.to("cuda:0", copy=True) is not there
        assert there.to(torch.float16).device == there.device
        assert there.cuda(1).device == torch.device("cuda:1")
        assert torch.equal(there.cpu(), x) and type(there.cpu()) is torch.Tensor
        assert torch.ones_like(there).device == there.device
        assert torch.ones_like(there, device="cpu").device == CPU
        assert (2 * there + there).sum().device == there.device
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            x.to("cuda:2")
    roads = [(one.source, one.target, one.bytes) for one in traffic.transfers]
    home = ("cuda:0", "cpu", 24)
    assert roads == [("cpu", "cuda:0", 24), ("cuda:0", "cuda:1", 24), home, home]
    assert (there + 1).device == torch.device("cuda:0"), "after the block as well"


def test_a_pretended_model_moves_in_place_and_learns() -> None:
    with pretended_gpus():
        model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        weight, before = model[0].weight, model[0].weight.detach().clone()
        assert model.to("cuda:0") is model and model[0].weight is weight and weight.is_leaf
        assert {t.device for t in (*model.parameters(), *model.buffers())} == {torch.device("cuda:0")}
        assert isinstance(weight, nn.Parameter) and len(list(model.parameters())) == 4
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.rand(5, 4, device="cuda:0")).square().mean().backward()
        assert weight.grad is not None and weight.grad.device == torch.device("cuda:0")
        optimizer.step()
        model.to("cpu")
        assert weight.device == CPU and type(weight) is nn.Parameter and not torch.equal(weight, before)


MIXED = {
    "two tensors": lambda gpu, host: gpu + host,
    "a list": lambda gpu, host: torch.cat([gpu, host]),
    "a number on the GPU": lambda gpu, host: gpu.sum() * host,
    "a layer": lambda gpu, host: nn.functional.linear(host, gpu[None]),
    "one number with a dimension": lambda gpu, host: gpu + torch.ones(1),
    "in place": lambda gpu, host: torch.zeros(()).add_(gpu.sum()),
    "an index on the GPU": lambda gpu, host: host[gpu.long()],
}


@pytest.mark.parametrize("mixed", MIXED)
def test_mixed_devices_are_refused(mixed: str) -> None:
    with pretended_gpus():
        gpu, host = torch.zeros(3, device="cuda:0"), torch.zeros(3)
        with pytest.raises(RuntimeError, match="same device|two different devices"):
            MIXED[mixed](gpu, host)


def test_what_may_be_mixed() -> None:
    with pretended_gpus():
        gpu, host = torch.arange(3.0, device="cuda:0"), torch.arange(3.0)
        assert (gpu * torch.tensor(2.0)).device == gpu.device
        assert gpu[torch.tensor([0, 2])].tolist() == [0.0, 2.0]
        assert gpu.copy_(host + 1).tolist() == [1.0, 2.0, 3.0]
        gpu[:] = host
        assert gpu.device != host.device and gpu.tolist() == [0.0, 1.0, 2.0]


ASKING = {
    "item": lambda x: x[0].item(),
    "float": lambda x: float(x[0]),
    "if": lambda x: bool(x[0] > 1),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "print": lambda x: repr(x),
    "format": lambda x: f"{x[0]:.2f}",
    "mask": lambda x: x[x > 1],
    "tensor": lambda x: torch.tensor([x[0]]),
}


@pytest.mark.parametrize("way", ASKING)
def test_the_host_waits_once_for_a_value(way: str) -> None:
    with pretended_gpus() as traffic:
        x = torch.arange(3.0, device="cuda:0")
        y = x * 2 + x.sum()
        assert traffic.waits == 0 and not traffic.transfers
        ASKING[way](y)
    assert traffic.waits == 1


def test_numpy_refuses_a_pretended_tensor_in_pytorchs_words() -> None:
    with pretended_gpus(), pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.ones(2, device="cuda:0").numpy()


@pytest.mark.parametrize("to", [
    lambda t, o: t.to(o.device), lambda t, o: t.to("cuda:1"), lambda t, o: t.to(1), lambda t, o: t.to(o),
    lambda t, o: t.to(device="cuda:1"), lambda t, o: t.to(o.device, non_blocking=True), lambda t, o: t.cuda(1),
    lambda t, o: t.to(o.device, torch.float64).float(), lambda t, o: t.cpu().to(o.device),
])  # fmt: skip
def test_every_way_to_move_a_tensor(to: Callable[[Any, Any], Any]) -> None:
    with pretended_gpus(2):
        t, other = torch.tensor([1.0, 2.0], device="cuda:0"), torch.tensor([10.0, 20.0], device="cuda:1")
        moved = to(t, other)
        assert moved.device == other.device and (moved + other).tolist() == [11, 22]
        moved.add_(1)
        assert t.tolist() == [1, 2] and t.device == torch.device("cuda:0"), "a copy"


def test_results_are_on_the_device_of_their_operands() -> None:
    with pretended_gpus(2):
        a = torch.tensor([1.0, 2.0], device="cuda:1")
        made = [a.clone(), a[0], a.view(2, 1), torch.stack([a, a]), torch.zeros(3, device=a.device)]
        assert {t.device for t in [*made, *a.chunk(2)]} == {torch.device("cuda:1")}
        a.chunk(2)[1].add_(5)
        assert a.tolist() == [1, 7], "a view shares the memory"
