"""CPU tensors that pretend to be on GPUs, so that an answer which moves tensors can be checked on any machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from course_utils.exercises import Wrong


class PretendedTensor(torch.Tensor):
    """A CPU tensor that says it is on another device, usually a GPU; see :class:`PretendedDevices`."""

    pretended: torch.device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The pretended device."""
        return self.pretended


def pretend(tensor: torch.Tensor, device: torch.device | str) -> PretendedTensor:
    """Return `tensor` as one that pretends to be on `device` (no copy)."""
    result = tensor.as_subclass(PretendedTensor)
    result.pretended = torch.device(device)
    return result


def _device_of(tensor: torch.Tensor) -> torch.device:
    return tensor.pretended if isinstance(tensor, PretendedTensor) else torch.device("cpu")


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested lists and tuples."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _as_device(value: Any) -> torch.device | None:
    """Return the device that an argument of ``to`` means: a tensor's, ``"cuda:1"``, ``1``; None for other arguments."""
    if isinstance(value, PretendedTensor):
        return value.pretended
    if isinstance(value, torch.device):
        device = value
    elif isinstance(value, str):
        device = torch.device(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        device = torch.device("cuda", value)
    else:
        return None
    return torch.device("cuda", 0) if device == torch.device("cuda") else device


class PretendedDevices(TorchFunctionMode):
    """In this context, results are on the device of their operands, and to mix two devices is an error, as with real ones."""

    _MAY_MIX = ("copy_", "__setitem__", "set_", "__set__", "__get__")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func` on the CPU, and mark its result with a device."""
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        tensors = list(_tensors([*args, *kwargs.values()]))
        operands = [tensor for tensor in tensors if isinstance(tensor, PretendedTensor)]
        device = operands[0].pretended if operands else None
        if name in ("to", "cpu", "cuda"):
            return self._move(name, args, kwargs)
        if "device" in kwargs:  # a factory function
            device = _as_device(kwargs.pop("device"))
        if operands and name not in self._MAY_MIX:
            devices = {
                _device_of(tensor) for tensor in tensors if tensor.dim()
            }  # a single number may be anywhere
            if len(devices) > 1:
                raise Wrong(
                    en=f"You compute with tensors of {len(devices)} devices at once ({', '.join(sorted(map(str, devices)))}). Copy one to the other's device first: `t.to(other.device)`.",
                    zh=f"你直接拿 {len(devices)} 個裝置上的張量來計算（{'、'.join(sorted(map(str, devices)))}）。要先把其中一個複製到另一個所在的裝置：`t.to(other.device)`。",
                )
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        if device is not None and device.type == "cuda":
            return self._mark(result, device, operands)
        return result

    def _mark(self, result: Any, device: torch.device, operands: list[PretendedTensor]) -> Any:
        """Return `result`, or the tensors in it, as tensors on `device`; an operand itself (of ``add_``) stays as it is."""
        if isinstance(result, torch.Tensor):
            return result if any(result is operand for operand in operands) else pretend(result, device)
        if type(result) in (list, tuple):
            return type(result)(self._mark(part, device, operands) for part in result)
        return result

    def _move(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Do what ``tensor.to(…)``, ``.cpu()`` and ``.cuda(…)`` do: copy, unless device and type stay the same."""
        source, *rest = args
        named = [*rest, *(kwargs[key] for key in ("device", "other") if key in kwargs)]
        default = _device_of(source) if name == "to" else _as_device(name)
        target = next((device for device in map(_as_device, named) if device is not None), default)
        dtype = next((v for v in [*rest, kwargs.get("dtype")] if isinstance(v, torch.dtype)), source.dtype)
        with torch._C.DisableTorchFunctionSubclass():
            if target == _device_of(source) and dtype == source.dtype and not kwargs.get("copy"):
                return source
            return pretend(source.to(dtype, copy=True), target)
