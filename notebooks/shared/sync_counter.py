"""Count device-to-host synchronizations (``.item()``, ``.cpu()``, ``.numpy()``).

The calls are counted, not the time: on a CPU they hardly wait, but they are the same calls as on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class SyncCounter:
    """How often values were copied from the device to the host.

    Attributes:
        items: Single numbers: ``item``, ``float(…)``, a comparison.
        copies: Whole tensors: ``cpu``, ``tolist``, a printed tensor.
        numpy_calls: ``numpy``, which needs a tensor that is on the host already.
    """

    def __init__(self) -> None:
        self.items = 0
        self.copies = 0
        self.numpy_calls = 0

    @property
    def count(self) -> int:
        """Number of synchronizations.

        ``x.cpu().item()`` and ``x.cpu().numpy()`` are one each: their second step works on the host's copy.
        """
        return max(self.items, self.copies, self.numpy_calls)


_COPIES = {"cpu", "tolist", "__repr__", "__format__"}


@contextmanager
def counting() -> Iterator[SyncCounter]:
    """Count the synchronizations of the block.

    Yields:
        The counter, which goes on counting until the block ends.
    """
    counter = SyncCounter()

    class CountCalls(TorchFunctionMode):
        """Counts calls of the user's code. PyTorch turns the mode off inside of a call, so its own calls do not count."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = getattr(func, "__name__", "")
            counter.numpy_calls += name in ("numpy", "__array__")
            counter.copies += name in _COPIES
            counter.copies += name == "to" and any(str(a) == "cpu" for a in (*args[1:], *kwargs.values()))
            if func is torch.tensor and args and isinstance(args[0], (list, tuple)):
                # It builds a new tensor from Python numbers, so it copies each element to the host first.
                counter.items += sum(isinstance(item, torch.Tensor) for item in args[0])
            return func(*args, **kwargs)

    class CountItems(TorchDispatchMode):
        """Counts the one operation that every ``.item()``, ``float(…)`` and comparison ends in."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counter.items += func is torch.ops.aten._local_scalar_dense.default
            return func(*args, **(kwargs or {}))

    with CountItems(), CountCalls():
        yield counter
