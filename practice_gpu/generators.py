"""Random numbers on practice GPUs: those that the CPU draws from the same seed."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from practice_gpu.state import NAME, state

# PyTorch hands a kernel another Python object for the same generator.
_made: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()


class Generator(torch.Generator):
    """The random numbers of a practice GPU: those of the CPU for the same seed.

    Args:
        device: The practice GPU.
    """

    def __new__(cls, device: Any = None) -> Generator:
        """Make one of the CPU, which is what draws."""
        made = super().__new__(cls)
        made.index = state.index(device)
        _made[made._cdata] = made
        return made

    def __init__(self, *device: Any) -> None:
        pass

    @property
    def device(self) -> torch.device:
        """The practice GPU."""
        return torch.device(NAME, self.index)


defaults: list[Generator] = []  # of each device


def of_host(given: torch.Generator | None, device: int, now: bool) -> torch.Generator:
    """Return the generator of the CPU from which a kernel draws.

    Args:
        given: The generator that the program names.
        device: Whose generator is taken without one.
        now: Whether it draws at once. Otherwise it draws late, and which numbers is decided now.

    Raises:
        RuntimeError: The generator is not one of practice GPUs.
    """
    if given is None:
        given = defaults[device]
    elif given._cdata not in _made:
        raise RuntimeError(f"Expected a '{NAME}' device type for generator but found '{given.device.type}'")
    if now:
        return given
    return torch.Generator().manual_seed(int(torch.empty((), dtype=torch.int64).random_(generator=given)))
