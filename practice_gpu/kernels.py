"""Kernels that the rule for all operators does not fit: making, aliasing and resizing tensors, and cells of RNNs."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from practice_gpu.forms import ON_CPU, form
from practice_gpu.memory import block_of, new
from practice_gpu.state import state


def _stride(size: Any, memory_format: Any = None) -> tuple[int, ...]:
    memory_format = memory_format or torch.contiguous_format
    return torch.empty(size, device="meta", memory_format=memory_format).stride()


def empty(
    size: Any, *, dtype: Any = None, device: Any = None, memory_format: Any = None, **_: Any
) -> torch.Tensor:
    """Return a tensor whose memory holds whatever it held before."""
    return empty_strided(size, _stride(size, memory_format), dtype=dtype, device=device)


def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> torch.Tensor:
    """Return a tensor with these strides whose memory holds whatever it held before."""
    return new(form(dtype or torch.get_default_dtype(), tuple(size), tuple(stride)), state.index(device))


def resize(tensor: torch.Tensor, size: Any, *, memory_format: Any = None, stride: Any = None) -> torch.Tensor:
    """Resize a tensor in place; what does not fit moves to new memory, on the device.

    Raises:
        NotImplementedError: Other tensors share the memory: they would stay behind.
    """
    stride = stride or _stride(size, memory_format)
    wanted, storage = form(tensor.dtype, tuple(size), tuple(stride)), tensor.untyped_storage()
    start = tensor.storage_offset()
    if storage.nbytes() < wanted.bytes + start * tensor.dtype.itemsize:
        if torch._C._storage_Use_Count(storage._cdata) > 2 or start:
            raise NotImplementedError("practice_gpu: memory that several tensors share cannot be enlarged")
        old = form(tensor.dtype, (storage.nbytes() // tensor.dtype.itemsize,), (1,))
        fresh = new(wanted, tensor.device.index)
        if old.numel:
            source = set_storage(torch.empty_like(tensor), storage, 0, old.size, old.stride)
            torch.ops.aten.as_strided(fresh, old.size, old.stride).copy_(source)
        storage = fresh.untyped_storage()
    return set_storage(tensor, storage, start, size, stride)


def set_storage(tensor: torch.Tensor, source: Any, offset: int, size: Any, stride: Any = ()) -> torch.Tensor:
    """Let a tensor lie in another memory."""
    set_ = torch.ops.aten.set_.source_Storage_storage_offset
    return set_.redispatch(ON_CPU, tensor, source, offset, size, stride or _stride(size))


def _set_whole(tensor: torch.Tensor, source: Any) -> torch.Tensor:
    count = source.nbytes() // tensor.dtype.itemsize
    return set_storage(tensor, source, 0, [count], [1])


def _set_empty(tensor: torch.Tensor) -> torch.Tensor:
    return _set_whole(tensor, empty([0], device=tensor.device).untyped_storage())


def _record_stream(tensor: torch.Tensor, stream: Any) -> None:
    if tensor.untyped_storage().nbytes():
        block_of(tensor).users.add((stream.device_index, stream.stream_id))


def _resize_as_(tensor: torch.Tensor, template: torch.Tensor, *, memory_format: Any = None) -> torch.Tensor:
    if memory_format is torch.preserve_format:
        return resize(tensor, template.size(), stride=torch.empty_like(template, device="meta").stride())
    return resize(tensor, template.size(), memory_format=memory_format)


KERNELS: dict[str, Callable[..., Any]] = {
    "empty.memory_format": empty,
    "empty_strided": empty_strided,
    "resize_": resize,
    "resize_as_": _resize_as_,
    "set_": _set_empty,
    "set_.source_Tensor": functools.partial(torch.ops.aten.set_.source_Tensor.redispatch, ON_CPU),
    "set_.source_Storage": _set_whole,
    "set_.source_Storage_storage_offset": set_storage,
    "record_stream": _record_stream,
}


# --- cells of RNNs, and attention: PyTorch asks for kernels that the CPU does not have, or takes the slowest -----------


def _lstm_cell(gates: Any, hidden: Any, state: Any, bias: Any = None, other: Any = None) -> Any:
    i, f, c, o = (gates + hidden + (0 if bias is None else bias + other)).chunk(4, 1)
    new_state = f.sigmoid() * state + i.sigmoid() * c.tanh()
    return o.sigmoid() * new_state.tanh(), new_state, torch.empty_like(gates)


def _gru_cell(gates: Any, hidden_gates: Any, hidden: Any, bias: Any = None, other: Any = None) -> Any:
    reset, update, fresh = (gates if bias is None else gates + bias).chunk(3, 1)
    reset_, update_, fresh_ = (hidden_gates if other is None else hidden_gates + other).chunk(3, 1)
    u, n = (update + update_).sigmoid(), (fresh + (reset + reset_).sigmoid() * fresh_).tanh()
    return n + u * (hidden - n), torch.empty_like(gates)


def _attention(
    q: Any, k: Any, v: Any, mask: Any = None, drop: float = 0.0, *causal: bool, **named: Any
) -> Any:
    forms = {(t.dim(), t.dtype, t.shape[:2], t.size(-1), t.stride(-1)) for t in (q, k, v)}
    plain = len(forms) == 1 and q.dim() == 4 and k.numel() and mask is None and not drop
    if not plain or not torch.backends.cuda.flash_sdp_enabled():
        return torch.ops.aten.scaled_dot_product_attention.default.decompose(
            q, k, v, mask, drop, *causal, **named
        )
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return fused(q, k, v, drop, *causal, scale=named.get("scale"))[0]


CELLS = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_gru_cell": _gru_cell,
    "scaled_dot_product_attention": _attention,
}
