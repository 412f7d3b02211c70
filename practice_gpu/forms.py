"""Forms of tensors, and tensors that PyTorch is handed by DLPack: on the CPU or on a practice GPU, at any address."""

import ctypes
import struct
from typing import Any

import torch

_CPU, _EXTENSION = 1, 12  # DLPack's numbers of devices
_CODES = {torch.bool: 6, torch.bfloat16: 4}
_CODES |= dict.fromkeys((torch.complex32, torch.complex64, torch.complex128), 5)
_CODES |= dict.fromkeys((torch.float16, torch.float32, torch.float64), 2)
_CODES |= dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), 0)
_CODES |= dict.fromkeys((torch.uint8, torch.uint16, torch.uint32, torch.uint64), 1)

# One DLManagedTensor for all: PyTorch reads it at once, and there is no deleter for which it would have to stay.
_LAYOUT = struct.Struct("<QiiiBBHQQQQQ")
_managed = ctypes.create_string_buffer(_LAYOUT.size)
_address = ctypes.addressof(_managed)
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
ON_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


class Form:
    """A dtype with sizes and strides, as DLPack wants them. One object per form: `form` finds it."""

    __slots__ = ("dtype", "size", "stride", "numel", "bytes", "_arrays", "_numbers", "meta")

    def __init__(self, dtype: torch.dtype, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.dtype, self.size, self.stride = dtype, size, stride
        self.meta = torch.empty_strided(size, stride, dtype=dtype, device="meta")
        self.numel = self.meta.numel()
        last = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        self.bytes = (last + 1) * dtype.itemsize if self.numel else 0
        array = ctypes.c_int64 * max(1, len(size))
        self._arrays = array(*size), array(*stride)
        shape, steps = map(ctypes.addressof, self._arrays)
        self._numbers = len(size), _CODES.get(dtype, 1), 8 * dtype.itemsize, 1, shape, steps, 0, 0, 0

    def tensor(self, address: int, device: int | None = None) -> torch.Tensor:
        """Return a tensor of this form at an address of the host, as one of the CPU or of a practice GPU."""
        kind, index = (_CPU, 0) if device is None else (_EXTENSION, device)
        _LAYOUT.pack_into(_managed, 0, address, kind, index, *self._numbers)
        made = torch._C._from_dlpack(_capsule(_address, b"dltensor", None))
        if self.dtype in _CODES:
            return made
        return torch.ops.aten.view.dtype.redispatch(ON_CPU, made, self.dtype)  # float8, say


_forms: dict[Any, Form] = {}


def form(dtype: torch.dtype, size: tuple[int, ...], stride: tuple[int, ...]) -> Form:
    """Return the form of a tensor."""
    key = dtype, size, stride
    found = _forms.get(key)
    if found is None:
        if len(_forms) > 20_000:
            _forms.clear()
        found = _forms[key] = Form(dtype, tuple(size), tuple(stride))
    return found


def form_of(tensor: torch.Tensor) -> Form:
    """Return the form of a tensor."""
    return form(tensor.dtype, tensor.size(), tensor.stride())
