"""Memory of the practice GPUs, which are buffers of the host; and the pinned memory of the host."""

import bisect
import operator
import weakref
from collections import Counter, defaultdict, deque
from typing import Any

import torch

from practice_gpu.forms import Form, form_of
from practice_gpu.ordering import Memory
from practice_gpu.simulation import Key, Work
from practice_gpu.state import NAME, state


class Block(Memory):
    """Bytes of a segment and who has them. `users` are other streams that `record_stream` named."""

    def __init__(self, segment: torch.Tensor, address: int, size: int, key: Key) -> None:
        super().__init__()
        self.segment, self.address, self.size, self.key, self.users = segment, address, size, key, set()
        self.free, self.before, self.behind = False, None, None
        self._lent: tuple[Form | None, int, Any] = None, 0, None

    def cut(self, size: int) -> "Block":
        """Keep so many bytes, and return the block of the others."""
        rest = Block(self.segment, self.address + size, self.size - size, self.key)
        rest.before, rest.behind, self.behind, self.size = self, self.behind, rest, size
        if rest.behind:
            rest.behind.before = rest
        rest.uses = [use for use in self.uses if use.high > rest.address]
        self.uses = [use for use in self.uses if use.low < rest.address]
        return rest

    def join(self) -> None:
        """Take in the block behind."""
        other = self.behind
        self.behind, self.size = other.behind, self.size + other.size
        if self.behind:
            self.behind.before = self
        self.uses = [*dict.fromkeys(self.uses + other.uses)]

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


# As CUDA's allocator has it: up to 1 MiB comes from segments of 2 MiB, up to 10 MiB from those of 20, more has its own.
_SMALL, _SEGMENT, _LARGE = 1 << 20, 2 << 20, 10 << 20
ALLOCATED, RESERVED = "allocated_bytes.all.current", "reserved_bytes.all.current"
blocks: dict[int, Block] = {}  # by address, those in use
pinned: dict[int, Pinned] = {}  # by address
statistics: defaultdict[int, Counter[str]] = defaultdict(Counter)  # of each device, by PyTorch's names
_freed: deque[int] = deque()  # addresses of storages that are gone
# What is free, the smallest first: by stream, and whether it is of a segment for small tensors.
_pools: defaultdict[tuple[Key, bool], list[Block]] = defaultdict(list)
_size = operator.attrgetter("size")
_late: list[tuple[list[Work], Block]] = []  # freed, but another stream still uses them


def reap() -> None:
    """Take back the blocks that nobody holds any more, as PyTorch's own allocator does: for their stream."""
    while _freed:
        block = blocks.pop(_freed.popleft())
        _count(block.key[0], ALLOCATED, -block.size)
        users = [last for key in block.users if (last := state.machine.queues[key].last)]
        block.users, block.owner = set(), None
        if users:
            _late.append((users, block))
        else:
            _give_back(block)


def _give_back(block: Block) -> None:
    pool = _pools[block.key, block.segment.numel() == _SEGMENT]
    if block.behind and block.behind.free:
        pool.remove(block.behind)
        block.join()
    if block.before and block.before.free:
        block = block.before
        pool.remove(block)
        block.join()
    block.forget(state.machine.known)
    block.free = True
    bisect.insort(pool, block, key=_size)


def counts(device: int) -> Counter[str]:
    """Return the bytes of a device, now and at most, and how often there were too few."""
    with state.lock:
        reap()
        return statistics[device]


def _count(device: int, what: str, size: int) -> None:
    counted = statistics[device]
    counted[what] += size
    if counted[what] > counted[peak := what.replace("current", "peak")]:
        counted[peak] = counted[what]


def reset_peaks(device: int) -> None:
    """Let the peaks of a device be what there is now."""
    counted = counts(device)
    for what in (ALLOCATED, RESERVED):
        counted[what.replace("current", "peak")] = counted[what]


def _return_late() -> None:
    for users, block in [*_late]:
        if all(map(state.machine.done, users)):
            _late.remove((users, block))
            block.uses.clear()  # the allocator has seen that they are over
            _give_back(block)


def empty_cache(device: int | None = None) -> None:
    """Give back the segments that nobody has a part of, and wait for the devices as cudaFree does."""
    reap()
    whole = _whole(device)
    if whole or _late:
        state.machine.wait(state.last(range(state.count) if device is None else [device]), "empty_cache")
        _return_late()
    for pool, block in _whole(device):
        pool.remove(block)
        _count(block.key[0], RESERVED, -block.size)


def _whole(device: int | None) -> list[tuple[list[Block], Block]]:
    pools = [pool for (key, _), pool in _pools.items() if device in (None, key[0])]
    return [(pool, block) for pool in pools for block in pool if not (block.before or block.behind)]


def forget() -> None:
    """Give back what is not allocated, and forget who used the rest."""
    empty_cache()
    for block in (*blocks.values(), *(block for pool in _pools.values() for block in pool)):
        block.uses.clear()
    for device in statistics:
        reset_peaks(device)


def _block(size: int, device: int) -> Block:
    size, key = -(-size // 512) * 512, state.key(device)
    small = size <= _SMALL
    if _freed:
        reap()
    if _late:
        _return_late()
    pool = _pools[key, small]
    place = bisect.bisect_left(pool, size, key=_size)
    block = pool.pop(place) if place < len(pool) else _segment(size, key)
    block.free, left = False, block.size - size
    if left >= 512 if small else left > _SMALL:
        rest = block.cut(size)
        rest.free = True
        bisect.insort(pool, rest, key=_size)
    _count(device, ALLOCATED, block.size)
    return block


def _segment(size: int, key: Key) -> Block:
    device, counted, limit = key[0], statistics[key[0]], int(state.fraction * state.memory)
    size = _SEGMENT if size <= _SMALL else 2 * _LARGE if size < _LARGE else -(-size // _SEGMENT) * _SEGMENT
    if counted[RESERVED] + size > limit:
        empty_cache(device)
    allocated, reserved = counted[ALLOCATED], counted[RESERVED]
    if reserved + size > limit:
        counted["num_ooms"] += 1
        raise torch.OutOfMemoryError(
            f"{NAME} out of memory. Tried to allocate {_shown(size)}. GPU {device} has a total capacity of {_shown(limit)} "
            f"of which {_shown(limit - reserved)} is free. Of the allocated memory {_shown(allocated)} is allocated by "
            f"PyTorch, and {_shown(reserved - allocated)} is reserved by PyTorch but unallocated."
        )
    _count(device, RESERVED, size)
    # Zeros: what is read too early is the same in every run.
    segment = torch.zeros(size, dtype=torch.uint8, device="cpu")
    return Block(segment, segment.data_ptr(), size, key)


def _shown(size: int) -> str:
    for unit, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << unit:
            return f"{size / (1 << unit):.2f} {name}"
    return f"{size} bytes"


def new(shape: Form, device: int) -> torch.Tensor:
    """Return a tensor of a form on a practice GPU, which holds whatever was there before."""
    if not shape.bytes:
        return shape.tensor(0, device)
    with state.lock:
        block = _block(shape.bytes, device)
        address = block.address
        made = shape.tensor(address, device)
        # PyTorch keeps the Python object of a storage as long as the storage: its end is the end of the memory.
        block.owner = weakref.ref(made.untyped_storage(), lambda _: _freed.append(address))
        blocks[address] = block
        return made


def block_of(tensor: torch.Tensor) -> Block:
    """Return the block that a tensor of a practice GPU lies in."""
    return blocks[tensor.untyped_storage().data_ptr()]


def lent(tensor: torch.Tensor, write: bool, uses: list[tuple[Memory, int, int, bool]]) -> torch.Tensor:
    """Return a tensor of the CPU with the memory of one of a practice GPU, and add to `uses` what it uses."""
    shape = form_of(tensor)
    if not shape.numel:
        return torch.empty_like(shape.meta, device="cpu")
    address, block = tensor.data_ptr(), block_of(tensor)
    uses.append((block, address, address + shape.bytes, write))
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
