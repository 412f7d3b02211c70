"""What moves between devices while a block runs, on CUDA GPUs and on practice GPUs alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
_COPIES = {_aten._to_copy, _aten.copy_}
_SIZED = {_aten.nonzero, _aten.masked_select}


class Transfer(NamedTuple):
    """One copy between devices: from where, to where, how many bytes."""

    source: str
    target: str
    bytes: int


class _Texts(TorchFunctionMode):
    """Notices what PyTorch reads of a GPU without an operation that a dispatch mode sees."""

    def __init__(self, traffic: Traffic) -> None:
        super().__init__()
        self.traffic = traffic

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count a tensor that becomes text, and each one in a list that becomes a tensor."""
        name, (value, *_) = getattr(func, "__name__", ""), args or (None,)
        read = [value] if name == "__repr__" else []
        if name == "tensor" and isinstance(value, (list, tuple)):  # torch.tensor, which practice GPUs replace
            read = value
        for tensor in read:
            self.traffic.fetch(tensor)
        return func(*args, **(kwargs or {}))


class Traffic(TorchDispatchMode):
    """Counts, while its block runs, what is copied between devices, and how often the host fetches a value.

    Attributes:
        transfers: The copies between devices, in their order.
        fetches: How often the host needed a value of a GPU, and waited for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.transfers: list[Transfer] = []
        self.fetches = 0
        self._texts = _Texts(self)

    def __enter__(self) -> Traffic:
        """Begin to count."""
        super().__enter__()
        self._texts.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Count no more."""
        self._texts.__exit__(*error)
        super().__exit__(*error)

    def fetch(self, tensor: Any) -> None:
        """Count `tensor`, if it is on a GPU, as fetched by the host."""
        if isinstance(tensor, torch.Tensor) and not tensor.is_cpu:
            self.fetches += 1
            self.transfers.append(Transfer(str(tensor.device), "cpu", tensor.nbytes))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and count it."""
        result, operation = func(*args, **(kwargs or {})), func.overloadpacket
        if operation in _COPIES:
            source = args[operation is _aten.copy_]
            if source.device != result.device:
                # Another type is made on the CPU's side, before a copy to a GPU and after one from it.
                size = source.element_size() if result.is_cpu else result.element_size()
                self.transfers.append(Transfer(str(source.device), str(result.device), result.numel() * size))
                self.fetches += result.is_cpu
        elif operation is _aten._local_scalar_dense:
            self.fetch(args[0])
        elif operation in _SIZED or (operation is _aten.index and any(map(_is_mask, args[1]))):
            self.fetches += not args[0].is_cpu  # the size of the result depends on values
        return result


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
