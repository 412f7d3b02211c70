"""Pretended GPUs: tensors that say they are on ``cuda:0``, move as real ones do, and are computed on the CPU.

PyTorch's fake tensors hold no data, and on a build without CUDA many operations on fake GPU tensors raise errors of
another kind or end the process. They are used here for one thing, where they are at their best: an operation on mixed
devices is handed to them, so that it is PyTorch itself that refuses, in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from shared.fake_gpus import fake_gpus

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Transfer:
    """One copy between devices: from where, to where, how many bytes."""

    source: str
    target: str
    bytes: int


@dataclass
class Traffic:
    """What happened on the pretended GPUs.

    Attributes:
        transfers: The copies between devices, in their order.
        waits: How often the host fetched a value, and would have waited for a GPU.
    """

    transfers: list[Transfer] = field(default_factory=list)
    waits: int = 0


class PretendedTensor(torch.Tensor):
    """A CPU tensor that says it is on another device."""

    place: torch.device = torch.device("cuda", 0)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Go on pretending after the block that pretends."""
        return _Pretending(8).__torch_function__(func, types, args, kwargs)

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The pretended device."""
        return self.place

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        """Whether the pretended device is a GPU."""
        return self.place.type == "cuda"


class PretendedParameter(PretendedTensor, nn.Parameter):
    """A parameter that says it is on another device."""


def place_of(tensor: torch.Tensor) -> torch.device:
    """Return the device that `tensor` says it is on."""
    return tensor.place if isinstance(tensor, PretendedTensor) else CPU


def _put(tensor: torch.Tensor, place: torch.device) -> torch.Tensor:
    """Let `tensor` say that it is on `place`, and return it."""
    parameter = isinstance(tensor, nn.Parameter) and not getattr(tensor, "_is_param", False)
    if place == CPU:
        if isinstance(tensor, PretendedTensor):
            tensor.__class__ = nn.Parameter if parameter else torch.Tensor
        return tensor
    tensor.__class__ = PretendedParameter if parameter else PretendedTensor
    tensor.place = place  # type: ignore[attr-defined]
    return tensor


def _mark(result: Any, place: torch.device) -> Any:
    """Put the tensors in `result` on `place`, except those that are somewhere else already."""
    if isinstance(result, torch.Tensor):
        return result if isinstance(result, PretendedTensor) else _put(result, place)
    if isinstance(result, (list, tuple)):
        for part in result:
            _mark(part, place)
    return result


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _device(value: Any) -> torch.device | None:
    """Return the device that an argument means; None for other arguments."""
    if isinstance(value, torch.Tensor):
        return place_of(value)
    if isinstance(value, (str, torch.device)):
        found = torch.device(value)
        return torch.device("cuda", 0) if found.type == "cuda" and found.index is None else found
    if isinstance(value, int) and not isinstance(value, bool):
        return torch.device("cuda", value)
    return None


_MAY_MIX = {"copy_", "__setitem__", "__set__", "set_", "_has_compatible_shallow_copy_type", "is_same_size"}
_ASKS = {"item", "tolist", "nonzero", "masked_select", "__bool__", "__float__", "__int__", "__index__"}
_ASKS |= {"__repr__", "__format__"}
_NUMPY = "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
_INDEX = "indices should be either on cpu or on the same device as the indexed tensor ({})"


def _refuse(func: Any, args: Any, kwargs: dict[str, Any], devices: set[torch.device]) -> None:
    """Let PyTorch refuse to compute with tensors of several devices, by means of fake tensors of the same shapes."""

    def fake(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return torch.empty(value.shape, dtype=value.dtype, device=place_of(value))
        return type(value)(map(fake, value)) if type(value) in (list, tuple) else value

    try:
        with torch.no_grad(), fake_gpus():
            func(*map(fake, args), **{key: fake(value) for key, value in kwargs.items()})
    except RuntimeError as error:
        if "same device" in str(error):  # older releases have other words for fake tensors than for real ones
            raise
    first, second = sorted(map(str, devices), reverse=True)[:2]
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
    )


class _Pretending(TorchFunctionMode):
    """Runs every operation on the CPU, and lets its result say where it would be."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count, self.traffic = count, Traffic()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func` on the CPU."""
        with torch._C.DisableTorchFunctionSubclass():
            return self._pretend(func, args, dict(kwargs or {}))

    def _pretend(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("to", "cpu", "cuda"):
            return self._move(name, args, kwargs)
        tensors = list(_tensors([*args, *kwargs.values()]))
        there = next((place for place in map(place_of, tensors) if place != CPU), CPU)
        if kwargs.get("device") is not None:  # a factory function
            there = self._known(_device(kwargs.pop("device")))
        elif name == "__getitem__":
            self._check_index(args)
            there = place_of(args[0])
        elif name not in _MAY_MIX:
            # A single number of the host may meet tensors of any device; one on a GPU may not, nor one that is changed.
            changed = args[:1] if name.startswith("__i") or name.endswith("_") > name.endswith("__") else ()
            inside = [*_tensors(changed), *(t for t in tensors if t.dim() or place_of(t) != CPU)]
            devices = set(map(place_of, inside))
            if len(devices) > 1:
                _refuse(func, args, kwargs, devices)
        self._count(func, name, args, tensors)
        if name == "__format__":  # of a subclass, PyTorch formats no number
            args = (args[0].as_subclass(torch.Tensor), *args[1:])
        result = func(*args, **kwargs)
        if name == "__set__":
            if len(tensors) == 2:  # param.data = …, as Module.to does
                _put(args[0], place_of(args[1]))
            return result
        return _mark(result, there) if there != CPU else result

    def _known(self, place: torch.device | None) -> torch.device:
        """Return `place`, or raise as PyTorch does for a GPU that is not there."""
        assert place is not None
        if place.type == "cuda" and place.index >= self.count:
            raise RuntimeError("CUDA error: invalid device ordinal")
        return place

    def _check_index(self, args: Any) -> None:
        source, index = place_of(args[0]), list(_tensors(args[1:]))
        if any(place_of(tensor) not in (CPU, source) for tensor in index):
            raise RuntimeError(_INDEX.format(source))
        self.traffic.waits += any(tensor.dtype == torch.bool and place_of(tensor) != CPU for tensor in index)

    def _count(self, func: Any, name: str, args: Any, tensors: list[torch.Tensor]) -> None:
        """Count what `func` asks of a GPU."""
        there = [tensor for tensor in tensors if place_of(tensor) != CPU]
        if name in ("numpy", "__array__") and there:
            raise TypeError(f"{_NUMPY.format(place_of(there[0]))}first.")
        if func is torch.tensor:
            self._fetch(there)
        elif name in _ASKS:
            self._fetch(there[:1])
        elif name in ("copy_", "__setitem__"):
            value = args[-1]
            if isinstance(value, torch.Tensor) and place_of(value) != place_of(args[0]):
                self._moved(value, place_of(args[0]), value.dtype)

    def _fetch(self, tensors: list[torch.Tensor]) -> None:
        self.traffic.waits += len(tensors)
        for tensor in tensors:
            self.traffic.transfers.append(Transfer(str(place_of(tensor)), "cpu", tensor.nbytes))

    def _moved(self, tensor: torch.Tensor, target: torch.device, dtype: torch.dtype) -> None:
        self.traffic.waits += target == CPU
        size = tensor.numel() * dtype.itemsize
        self.traffic.transfers.append(Transfer(str(place_of(tensor)), str(target), size))

    def _move(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Do what ``to``, ``cpu`` and ``cuda`` do: copy, unless device and type stay the same."""
        source, *rest = args
        named = [*rest, *(kwargs[key] for key in ("device", "other") if key in kwargs)]
        wanted = [value for value in named if isinstance(value, (str, torch.device, torch.Tensor, int))]
        default = place_of(source) if name == "to" else _device(name)
        target = self._known(next((d for d in map(_device, wanted) if d is not None), default))
        like = next((value.dtype for value in named if isinstance(value, torch.Tensor)), source.dtype)
        given = (value for value in [*rest, kwargs.get("dtype")] if isinstance(value, torch.dtype))
        dtype = next(given, like)
        if target == place_of(source) and dtype == source.dtype and not kwargs.get("copy"):
            return source
        if target != place_of(source):
            self._moved(source, target, dtype)
        return _put(source.to(dtype, copy=True), target)


@contextmanager
def pretended_gpus(count: int = 1) -> Iterator[Traffic]:
    """Let the block use `count` pretended GPUs: ``cuda:0``, ``cuda:1`` and so on.

    Args:
        count: How many GPUs there are.

    Yields:
        What was moved and fetched, while the block runs.
    """
    pretending = _Pretending(count)
    with pretending:
        yield pretending.traffic
