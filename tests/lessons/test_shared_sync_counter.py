"""What counts as a synchronization, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from shared.sync_counter import SyncCounter, counting

X, Y = torch.arange(4.0), torch.tensor(3.0)

CALLS: dict[str, tuple[Callable[[], Any], int]] = {
    "item": (lambda: Y.item(), 1),
    "float": (lambda: float(Y), 1),
    "comparison": (lambda: bool(Y > 1), 1),
    "max of Python": (lambda: max(Y, Y + 1), 1),
    "cpu": (lambda: X.cpu(), 1),
    "to": (lambda: X.to("cpu"), 1),
    "to a device": (lambda: X.to(device=torch.device("cpu")), 1),
    "tolist": (lambda: X.tolist(), 1),
    "print": (lambda: repr(X), 1),
    "format a number": (lambda: f"{Y:.2f}", 1),
    "format a tensor": (lambda: f"{X}", 1),
    "numpy": (lambda: X.numpy(), 1),
    "cpu and item": (lambda: Y.cpu().item(), 1),
    "cpu and numpy": (lambda: X.cpu().numpy(), 1),
    "a loop": (lambda: [value.item() for value in X], 4),
    "a tensor of tensors": (lambda: torch.tensor(list(X)), 4),
    "stack": (lambda: torch.stack(list(X)).tolist(), 1),
    "a sum": (lambda: X.sum(), 0),
    "a data type": (lambda: X.to(torch.float64), 0),
    "detach": (lambda: X.detach(), 0),
    "a shape": (lambda: X.shape[0] + X.dim(), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_how_often_a_call_synchronizes(name: str) -> None:
    call, count = CALLS[name]
    with counting() as synchronizations:
        call()
    assert synchronizations.count == count


def test_nothing_is_counted_after_the_block() -> None:
    with counting() as synchronizations:
        Y.item()
    Y.item()
    X.cpu()
    assert synchronizations.count == 1


def test_the_kinds_are_counted_apart() -> None:
    with counting() as found:
        Y.item(), X.cpu(), X.cpu(), X.numpy()
    assert isinstance(found, SyncCounter)
    assert (found.items, found.copies, found.numpy_calls) == (1, 2, 1) and found.count == 2
