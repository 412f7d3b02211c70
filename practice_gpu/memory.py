"""Memory of the practice GPUs: buffers of the host that PyTorch is handed as tensors of another device, by DLPack."""

from __future__ import annotations

import ctypes
import dataclasses
import struct
import weakref
from collections import defaultdict, deque
from typing import Any

import torch

from practice_gpu.ordering import Memory
from practice_gpu.simulation import Key, Work
from practice_gpu.state import NAME, state

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


def contiguous(size: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(1, n)
    return tuple(reversed(strides))


class Block(Memory):
    """A buffer and who has it. `users` are other streams that `record_stream` named."""

    __slots__ = ("host", "address", "size", "key", "users", "owner", "__weakref__")

    def __init__(self, size: int, key: Key) -> None:
        super().__init__()
        # Zeros: what is read too early is the same in every run.
        self.host = torch.zeros(size, dtype=torch.uint8)
        self.address, self.size, self.key, self.users = self.host.data_ptr(), size, key, set()


class Pinned(Memory):
    """Pinned memory of the host."""

    def __init__(self, address: int, size: int) -> None:
        super().__init__()
        self.address, self.size = address, size


@dataclasses.dataclass(slots=True)
class Statistics:
    """Bytes of one device, now and at most; and how often there were too few."""

    allocated: int = 0
    reserved: int = 0
    allocated_peak: int = 0
    reserved_peak: int = 0
    ooms: int = 0

    def reset_peaks(self) -> None:
        """Let the peaks be what there is now."""
        self.allocated_peak, self.reserved_peak = self.allocated, self.reserved


blocks: dict[int, Block] = {}  # by address, those in use
pinned: dict[int, Pinned] = {}  # by address
statistics: defaultdict[int, Statistics] = defaultdict(Statistics)
_freed: deque[int] = deque()  # addresses of storages that are gone
_cache: defaultdict[tuple[Key, int], list[Block]] = defaultdict(list)
_late: list[tuple[list[Work], Block]] = []  # freed, but another stream still uses them


def reap() -> None:
    """Take back the blocks that nobody holds any more, as PyTorch's own allocator does: for their stream."""
    while _freed:
        block = blocks.pop(_freed.popleft())
        statistics[block.key[0]].allocated -= block.size
        users = [last for key in block.users if (last := state.machine.queues[key].last)]
        block.users, block.owner = set(), None
        if users:
            _late.append((users, block))
        else:
            _cache[block.key, block.size].append(block)


def counts(device: int) -> Statistics:
    """Return the bytes of a device."""
    with state.lock:
        reap()
        return statistics[device]


def _return_late() -> None:
    for users, block in [*_late]:
        if all(map(state.machine.done, users)):
            _late.remove((users, block))
            block.uses.clear()  # the allocator has seen that they are over
            _cache[block.key, block.size].append(block)


def empty_cache(device: int | None = None) -> None:
    """Give back what is reserved but not allocated, and wait for the devices as cudaFree does."""
    reap()
    keys = [key for key in _cache if _cache[key] and device in (None, key[0][0])]
    if keys or _late:
        machine = state.machine
        machine.wait(state.last(range(state.count) if device is None else [device]), "empty_cache")
        _return_late()
    for key in [key for key in _cache if device in (None, key[0][0])]:
        statistics[key[0][0]].reserved -= key[1] * len(_cache.pop(key))


def forget() -> None:
    """Give back what is not allocated, and forget who used the rest."""
    empty_cache()
    for block in blocks.values():
        block.uses.clear()
    for counted in statistics.values():
        counted.reset_peaks()


def _block(size: int, device: int) -> Block:
    size, key, counted = max(512, -(-size // 512) * 512), state.key(device), statistics[device]
    if _freed:
        reap()
    if _late:
        _return_late()
    cached = _cache[key, size]
    if cached:
        block = cached.pop()
    else:
        limit = state.memory
        if counted.reserved + size > limit:
            empty_cache(device)
        if counted.reserved + size > limit:
            counted.ooms += 1
            raise torch.OutOfMemoryError(
                f"{NAME} out of memory. Tried to allocate {_shown(size)}. GPU {device} has a total capacity of {_shown(limit)} "
                f"of which {_shown(limit - counted.reserved)} is free. Of the allocated memory {_shown(counted.allocated)} is "
                f"allocated by PyTorch, and {_shown(counted.reserved - counted.allocated)} is reserved by PyTorch but unallocated."
            )
        block = Block(size, key)
        counted.reserved += size
        counted.reserved_peak = max(counted.reserved_peak, counted.reserved)
    counted.allocated += size
    if counted.allocated > counted.allocated_peak:
        counted.allocated_peak = counted.allocated
    return block


def _shown(size: int) -> str:
    for unit, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << unit:
            return f"{size / (1 << unit):.2f} {name}"
    return f"{size} bytes"


def room(shape: Form, device: int) -> tuple[torch.Tensor, Block]:
    """Return a tensor of a form on a practice GPU, which holds whatever was there before, and the block it lies in."""
    with state.lock:
        block = _block(shape.bytes, device)
        address = block.address
        made = shape.tensor(address, device)
        # PyTorch keeps the Python object of a storage as long as the storage: its end is the end of the memory.
        block.owner = weakref.ref(made.untyped_storage(), lambda _: _freed.append(address))
        blocks[address] = block
        return made, block


def new(shape: Form, device: int) -> torch.Tensor:
    """Return a tensor of a form on a practice GPU, which holds whatever was there before."""
    return room(shape, device)[0]


def block_of(tensor: torch.Tensor) -> Block:
    """Return the block that a tensor of a practice GPU lies in."""
    return blocks[tensor.untyped_storage().data_ptr()]


def lent(tensor: torch.Tensor, write: bool, uses: list[tuple[Memory, int, int, bool]]) -> torch.Tensor:
    """Return a tensor of the CPU with the memory of one of a practice GPU, and add to `uses` what it uses."""
    shape = form_of(tensor)
    if not shape.numel:
        return torch.empty_like(shape.meta, device="cpu")
    address, block = tensor.data_ptr(), block_of(tensor)
    low = address - block.address
    uses.append((block, low, low + shape.bytes, write))
    made = shape.tensor(address)
    if tensor.is_neg():
        made = torch._neg_view(made)
    return torch._conj(made) if tensor.is_conj() else made


def pin(tensor: torch.Tensor) -> torch.Tensor:
    """Declare the memory of a tensor of the CPU to be pinned, and return the tensor."""
    storage = tensor.untyped_storage()
    made = Pinned(storage.data_ptr(), storage.nbytes())
    weakref.finalize(storage, pinned.pop, made.address, None).atexit = False
    pinned[made.address] = made
    return tensor


def pinned_of(tensor: torch.Tensor) -> Pinned | None:
    """Return the pinned memory that a tensor of the CPU lies in, if it does."""
    address = tensor.untyped_storage().data_ptr()
    return next((p for p in pinned.values() if p.address <= address < p.address + p.size), None)
