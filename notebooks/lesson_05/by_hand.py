"""DataParallel by hand, as lesson 05 builds it step by step in its sections 5.2 and 5.3, for the sections after them."""

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.func import functional_call


def scatter(batch: torch.Tensor, devices: Sequence[torch.device]) -> list[torch.Tensor]:
    """Cut a batch as ``chunk`` does and return the pieces, each on its device; perhaps fewer pieces than devices."""
    pieces = batch.chunk(len(devices))
    return [piece.to(device) for piece, device in zip(pieces, devices, strict=False)]


def parallel_apply(
    copies: Sequence[Callable[..., torch.Tensor]], pieces: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Apply each copy to its piece, in a thread of its own. A new thread does not inherit ``torch.no_grad()``."""
    enabled = torch.is_grad_enabled()

    def work(model: Callable[..., torch.Tensor], piece: torch.Tensor) -> torch.Tensor:
        with torch.set_grad_enabled(enabled):
            return model(piece)

    with ThreadPoolExecutor(len(pieces)) as threads:
        return list(threads.map(work, copies, pieces))


def gather(outputs: Sequence[torch.Tensor], device: torch.device | str) -> torch.Tensor:
    """Join the outputs on one device, along the batch; a single number (a loss) becomes an entry of a vector."""
    return torch.cat([torch.atleast_1d(output).to(device) for output in outputs])


_OF_MODULES = ("_parameters", "_buffers", "_modules")


def shells(module: nn.Module, devices: Sequence[torch.device]) -> Iterator[nn.Module]:
    """Yield a copy of `module` per device, for other weights to be put in.

    As in PyTorch, the first shares the module's own buffers, and all share the objects that its other attributes name: what
    a copy assigns is lost, what it appends to a list stays.
    """
    for number, device in enumerate(devices):
        shell = copy.deepcopy(module).to(device)
        for own, original in zip(shell.modules(), module.modules(), strict=True):
            own.__dict__.update({k: v for k, v in vars(original).items() if k not in _OF_MODULES})
            if number == 0:
                own._buffers.update(original._buffers)
        yield shell


class ByHand(nn.Module):
    """nn.DataParallel for any list of devices, also with one of them several times."""

    def __init__(self, module: nn.Module, devices: Sequence[torch.device]) -> None:
        super().__init__()
        self.module, self.devices = module, devices

    def copies(self, n: int) -> Iterator[Callable[..., Any]]:
        """Yield n copies whose weights are made by an operation, so that their gradients come back to the module's."""
        for shell, device in zip(shells(self.module, self.devices[:n]), self.devices, strict=False):
            weights = {name: p.to(device, copy=True) for name, p in self.module.named_parameters()}
            yield partial(functional_call, shell, weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the module's output for `x`, computed in pieces."""
        pieces = scatter(x, self.devices)
        copies = list(self.copies(len(pieces)))
        outputs = parallel_apply(copies, pieces)
        return gather(outputs, self.devices[0])
