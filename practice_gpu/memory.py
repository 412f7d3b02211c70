"""Memory of the practice GPUs, which are buffers of the host; and the pinned memory of the host."""

import dataclasses
import weakref
from collections import defaultdict, deque
from typing import Any

import torch

from practice_gpu.forms import Form, form_of
from practice_gpu.ordering import Memory
from practice_gpu.simulation import Key, Work
from practice_gpu.state import NAME, state


class Block(Memory):
    """A buffer and who has it. `users` are other streams that `record_stream` named."""

    __slots__ = ("host", "address", "size", "key", "users", "owner", "_lent", "__weakref__")

    def __init__(self, size: int, key: Key) -> None:
        super().__init__()
        # Zeros: what is read too early is the same in every run.
        self.host = torch.zeros(size, dtype=torch.uint8)
        self.address, self.size, self.key, self.users = self.host.data_ptr(), size, key, set()
        self._lent: tuple[Form | None, int, Any] = None, 0, None

    def lend(self, shape: Form, address: int) -> torch.Tensor:
        """Return a tensor of the CPU of a form at an address in it; mostly it is the one that was asked for last."""
        if self._lent[0] is not shape or self._lent[1] != address:
            self._lent = shape, address, shape.tensor(address)
        return self._lent[2]


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
        limit = int(state.fraction * state.memory)
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
    made = block.lend(shape, address)
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
