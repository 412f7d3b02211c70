"""Counts how often code makes the host wait for a value, on every machine: on a CPU the wait is short, but the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Fetches:
    """How often values were fetched from the device to the host."""

    def __init__(self) -> None:
        self.scalars = 0  # one number at a time: item, float(…), a comparison
        self.wholes = 0  # cpu, tolist, a printed tensor
        self.arrays = 0  # numpy, which needs a tensor that has been fetched already

    @property
    def count(self) -> int:
        """Number of waits; ``x.cpu().item()`` and ``x.cpu().numpy()`` are one, since the second step is the host's own."""
        return max(self.scalars, self.wholes, self.arrays)


_WHOLE = {"cpu", "tolist", "__repr__", "__format__"}


@contextmanager
def counting() -> Iterator[Fetches]:
    """Count what makes the host wait for a value while the block runs."""
    fetches, inside = Fetches(), [0]

    class Calls(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = getattr(func, "__name__", "")
            if inside[0] == 0:
                fetches.arrays += name in ("numpy", "__array__")
                fetches.wholes += name in _WHOLE
                fetches.wholes += name == "to" and any(str(a) == "cpu" for a in (*args[1:], *kwargs.values()))
                if func is torch.tensor and args and isinstance(args[0], (list, tuple)):
                    # It builds a new tensor from Python numbers, and fetches each of them to get there.
                    fetches.scalars += sum(isinstance(item, torch.Tensor) for item in args[0])
            inside[0] += 1
            try:
                return func(*args, **kwargs)
            finally:
                inside[0] -= 1

    class Scalars(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # Every `.item()`, float(…) and comparison ends in this one operation.
            fetches.scalars += func is torch.ops.aten._local_scalar_dense.default
            return func(*args, **(kwargs or {}))

    with Scalars(), Calls():
        yield fetches
