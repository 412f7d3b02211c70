"""What moves between devices is counted as it is, whatever the line looks like."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from course_utils.lesson_gpus import ready
from lesson_02.traffic import Traffic

pytestmark = pytest.mark.usefixtures("no_warnings")


@pytest.mark.skipif(torch.cuda.device_count() == 1, reason="needs two GPUs, and none is hidden for a test")
def test_copies_between_devices_are_counted_with_their_bytes() -> None:
    first, second = ready(2)
    x = torch.ones(2, 3)
    with Traffic() as traffic:
        there = x.to(first)
        _ = (
            there.to(first),
            there.to(torch.float16),
            torch.ones_like(there),
            there * 2,
            there * torch.tensor(2.0),
        )
        _ = there.to(second), there.cpu(), x.to(first, torch.float16), there.to("cpu", torch.float16)
        there[0] = x[0]
        x.copy_(there)
    a, b = str(first), str(second)
    home = (a, "cpu", 24)
    assert traffic.transfers == [
        ("cpu", a, 24), (a, b, 24), home, ("cpu", a, 12), home, ("cpu", a, 12), home
    ]  # fmt: skip
    assert traffic.fetches == 3
    x.to(first)
    assert len(traffic.transfers) == 7, "not after the block"


def test_each_tensor_of_a_model_is_a_copy() -> None:
    (gpu,) = ready()
    with Traffic() as traffic:
        nn.BatchNorm1d(3).to(gpu)
    assert [one.bytes for one in traffic.transfers] == [12, 12, 12, 12, 8] and not traffic.fetches


ASKING: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x[0].item(),
    "float": lambda x: float(x[0]),
    "if": lambda x: bool(x[0] > 1),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "print": lambda x: repr(x),
    "format": lambda x: f"{x[0]:.2f}",
    "mask": lambda x: x[x > 1],
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x.masked_select(x > 1),
    "tensor": lambda x: torch.tensor([x[0], 3.0]),
}


@pytest.mark.parametrize("way", ASKING)
def test_the_host_fetches_once(way: str) -> None:
    x = torch.arange(3.0, device=ready()[0])
    with Traffic() as traffic:
        y = x * 2 + x.sum()
        _ = y[1:], y[torch.tensor([0])], torch.tensor([1, 2])
        assert traffic.fetches == 0 and not traffic.transfers
        ASKING[way](y)
    assert traffic.fetches == 1


def test_on_the_cpu_nothing_is_fetched() -> None:
    x = torch.arange(3.0)
    with Traffic() as traffic:
        for ask in ASKING.values():
            ask(x)
    assert traffic.fetches == 0 and not traffic.transfers
