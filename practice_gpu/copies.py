"""Copies: inside a device, between devices, between host and device; and the pinned memory of the host."""

import functools
from typing import Any

import torch
from torch import overrides
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode

from practice_gpu.costs import copy_seconds, kernel_seconds
from practice_gpu.forms import form_of
from practice_gpu.memory import new, pin, pinned, pinned_of
from practice_gpu.operators import lend
from practice_gpu.plans import as_meta, tensors_in
from practice_gpu.simulation import Work
from practice_gpu.state import NAME, state, users_line

_PINNING = 5e9  # bytes per second: the pages are locked one by one (assumed)


def copy_(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Copy into `target`, one of the two on a practice GPU: the kernel of ``Tensor.copy_``."""
    if target is source:
        return target
    with state.lock:
        for tensor in (target, source):
            if not tensor.is_cpu:
                state.check(tensor.device.index)
        source = source.expand(target.size()) if source.size() != target.size() else source
        if target.device == source.device:
            _inside(target, source)
        elif not target.is_cpu and not source.is_cpu:
            _between(target, source)
        else:
            _over_the_bus(target, source, non_blocking)
    return target


def _inside(target: torch.Tensor, source: torch.Tensor) -> None:
    uses: list = []
    action = functools.partial(lend(target, True, uses).copy_, lend(source, False, uses))
    seconds, share = kernel_seconds(state.profile, "copy", [as_meta(source)], [as_meta(target)], False)
    key = state.key(target.device.index)
    state.launch(Work("kernel", "copy_", key, seconds, "compute", share, action), uses)


def _between(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copy from GPU to GPU, behind the current streams of both, and both go on behind the copy."""
    if target.dtype != source.dtype:
        source = source.to(target.dtype)
    there, here = target.device.index, source.device.index
    uses: list = []
    action = functools.partial(lend(target, True, uses).copy_, lend(source, False, uses))
    size = _bytes(target)
    seconds = copy_seconds(state.profile, size, "peer")
    name, after = f"GPU {here} to GPU {there}", [state.machine.event(state.key(here))]
    work = Work("copy", name, state.key(there), seconds, "peer", bytes=size, action=action, after=after)
    state.launch(work, uses, state.profile.copy_call)
    state.machine.event(state.key(here), [work])


def _over_the_bus(target: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> None:
    down = source.is_cpu  # to the GPU
    gpu, host = (target, source) if down else (source, target)
    if target.dtype != source.dtype or (down and not source.is_contiguous()):
        _over_the_bus(target, source.to(target.dtype).contiguous(), non_blocking)
        return
    packed = target.is_contiguous() and source.is_contiguous()
    if not down and not packed and form_of(source) is not form_of(target):
        temporary = torch.empty_like(target, memory_format=torch.contiguous_format)
        _over_the_bus(temporary, source.contiguous(), False)
        target.copy_(temporary)
        return
    device, profile, locked = gpu.device.index, state.profile, pinned_of(host)
    uses: list = []
    to, of = lend(target, True, uses), lend(source, False, uses)
    if locked:
        low = host.data_ptr()
        uses.append((locked, low, low + form_of(host).bytes, not down))
        watch_the_host()
    elif down:
        of = source.clone()  # the driver has read it when the call returns
    size = _bytes(gpu)
    seconds = copy_seconds(profile, size, "pinned" if locked else "pageable")
    name, engine = ("host to GPU", "to GPU") if down else ("GPU to host", "from GPU")
    action = functools.partial(to.copy_, of)
    work = Work("copy", name, state.key(device), seconds, engine, bytes=size, action=action)
    state.launch(work, uses, profile.copy_call)
    if locked and non_blocking:
        return
    if non_blocking and down:  # the host is busy with copying to where the driver reads, but it does not wait
        state.machine.wait([work], "pageable copy")
    else:
        state.wait([work], "copy_", device)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.dtype.itemsize


def to_copy(
    tensor: torch.Tensor, *, dtype: Any = None, device: Any = None, pin_memory: Any = None, non_blocking: bool = False,
    memory_format: Any = None, **_: Any,
) -> torch.Tensor:  # fmt: skip
    """Return a copy with another dtype or on another device: the kernel of ``Tensor.to``."""
    device = tensor.device if device is None else torch.device(device)
    memory_format = memory_format or torch.preserve_format
    like = torch.empty_like(as_meta(tensor), dtype=dtype, memory_format=memory_format)
    if device.type == NAME:
        made = new(form_of(like), state.index(device))
    else:
        made = torch.empty_like(like, device=device)
        if pin_memory or (non_blocking and device.type == "cpu"):
            made = pin(made.zero_())  # zeros: what is read too early is the same in every run
    return made.copy_(tensor, non_blocking)


# --- pinned memory ------------------------------------------------------------------------------------------------


def is_pinned(tensor: torch.Tensor, device: Any = None) -> bool:
    """Return whether a tensor of the CPU lies in pinned memory."""
    return pinned_of(tensor) is not None


def pin_memory(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    """Return a copy in pinned memory."""
    copy = torch.empty_like(tensor).copy_(tensor)
    with state.lock:
        state.machine.now += 100e-6 + copy.nbytes / _PINNING
        return pin(copy)


class _Uses(TorchDispatchMode):
    """Enters what operators of the CPU do to pinned memory."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result, schema = op(*args, **(kwargs or {})), op._schema
        given = dict(zip([argument.name for argument in schema.arguments], args, strict=False))
        given |= kwargs or {}
        looks = any(r.alias_info and not r.alias_info.is_write for r in schema.returns)  # a view
        if not looks and all(tensor.is_cpu for tensor in tensors_in(given.values())):
            for argument in schema.arguments:
                for tensor in tensors_in((given.get(argument.name),)):
                    _host_use(tensor, bool(argument.alias_info and argument.alias_info.is_write))
        return result


def _host_use(tensor: torch.Tensor, write: bool) -> None:
    memory = pinned_of(tensor)
    if memory is not None:
        low = tensor.data_ptr()
        state.races.host(memory, low, low + form_of(tensor).bytes, write, users_line())


class _Watch(overrides.TorchFunctionMode):
    """Looks for calls that use pinned memory which a device may still be using."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, state.chosen.watching = kwargs or {}, True
        try:
            for memory in list(pinned.values()):  # what is over for the host is over for all that comes later
                memory.forget(state.machine.known)
            if not any(memory.uses for memory in pinned.values()):
                return function(*args, **kwargs)
            tensors = [t for t in tensors_in((args, list(kwargs.values()))) if t.is_cpu and is_pinned(t)]
            if not tensors:
                return function(*args, **kwargs)
            if function in (torch.Tensor.tolist, torch.Tensor.numpy):  # these read without an operator
                _host_use(tensors[0], False)
            with _Uses():
                return function(*args, **kwargs)
        finally:
            state.chosen.watching = False


def watch_the_host(on: bool = True) -> None:
    """From now on enter what this thread does to pinned memory, or no longer."""
    if state.chosen.watching:  # PyTorch has taken the watch off its stack, and puts it back after this call
        return
    stack = [overrides._pop_mode() for _ in range(overrides._len_torch_function_stack())]
    others = [mode for mode in reversed(stack) if not isinstance(mode, _Watch)]
    if on:  # under the modes that the program leaves again; PyTorch wants the default device below all
        others.insert(bool(others) and isinstance(others[0], DeviceContext), _Watch())
    for mode in others:
        overrides._push_mode(mode)
