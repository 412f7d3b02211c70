"""What a call of an operator makes and costs: planned with tensors without data, once per form of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from practice_gpu.costs import _kind, copy_seconds, kernel_seconds
from practice_gpu.forms import Form, form, form_of
from practice_gpu.state import NAME, plain, state

if TYPE_CHECKING:
    from practice_gpu.operators import Operator

# Where CUDA, too, takes tensors of the CPU: indices, lengths, and numbers beside tensors.
INDEXING = {"index", "_index_put_impl_"}
_ON_THE_HOST = set("lengths input_lengths target_lengths scalars batch_sizes".split())
SCALARS_ANYWHERE = set("floor_divide index_fill index_fill_ masked_fill masked_fill_ where isin".split())
# Their rules for shapes are not those of the kernels: what the kernel makes of zeros is looked at.
_BY_TRIAL = {"native_batch_norm", "_native_batch_norm_legit", "_embedding_bag", "_embedding_bag_forward_only"}
# How often CUDA's kernels look at a value.
_WAITS = {"bincount": 2, "histc": 2, "_linalg_svd": 2, "_linalg_eigh": 1}
_TO_HOST = {"_local_scalar_dense", "equal", "is_nonzero"}  # a number comes back, by a copy


class Plan(NamedTuple):
    """What a call makes."""

    device: int  # the practice GPU that runs it
    waits: int  # how often the host waits for a value, which may tell what there is to return
    seconds: float  # how long the kernel takes
    share: float = 1.0  # how much of the card it keeps busy
    made: Any = None  # forms of the results
    resized: tuple[tuple[str, Form], ...] = ()  # which arguments are resized first, and to what form


_plans: dict[Any, Plan] = {}


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def swapped(value: Any, change: Callable[[Any], Any], kind: type = torch.Tensor) -> Any:
    """Return an argument with every tensor (or what else is of `kind`) in it changed."""
    if isinstance(value, kind):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)([swapped(v, change, kind) for v in value])
    return value


def as_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor without data of the same form; numbers of the CPU keep their value."""
    if tensor.dim() == 0 and tensor.is_cpu:
        return tensor
    meta = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
    return torch._conj(meta) if tensor.is_conj() else meta


def refuse_layouts(values: Any) -> None:
    """Refuse tensors that are not made of numbers side by side.

    Raises:
        NotImplementedError: One of them is sparse, say.
    """
    for tensor in tensors_in(values):
        if tensor.layout != torch.strided:
            raise NotImplementedError(f"practice_gpu cannot hold tensors of layout {tensor.layout}")


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return form(value.dtype, value.size(), value.stride()), value.get_device()
    if type(value) in (list, tuple):
        return tuple([_described(v) for v in value])
    return type(value), value


def plan_of(operator: Operator, given: dict[str, Any]) -> Plan:
    """Return the plan for a call of an operator.

    Args:
        operator: What is called.
        given: Its arguments by name.
    """
    precisions = torch._C._get_float32_matmul_precision(), torch._C._get_cudnn_allow_tf32()
    key = [operator, state.profile, state.chosen.device, torch.get_default_dtype(), precisions, *given]
    key += [_described(value) for name, value in given.items() if name != operator.generator]
    try:
        plan = _plans.get(tuple(key))
    except TypeError:  # cannot be hashed
        return _new_plan(operator, given)
    if plan is None:
        if len(_plans) > 20_000:
            _plans.clear()
        plan = _plans[tuple(key)] = _new_plan(operator, given)
    return plan


def _new_plan(operator: Operator, given: dict[str, Any]) -> Plan:
    _check_devices(operator, given)
    name, profile = operator.name, state.profile
    on_gpu = [t for t in tensors_in(given.values()) if t.device.type == NAME]
    device = on_gpu[0].device.index if on_gpu else state.index(given.get("device"))
    change = _trial if name in _BY_TRIAL else as_meta
    meta = {key: None if key == operator.generator else swapped(v, change) for key, v in given.items()}
    if "device" in meta:
        meta["device"] = torch.device("meta")
    waits = _waits(operator, given, on_gpu)
    if not waits:
        try:
            with plain():
                results = operator.op(**meta)
        except (NotImplementedError, RuntimeError, IndexError, TypeError, ValueError, AssertionError):
            waits = 1  # the CPU will say what is wrong, or do it all the same
    if waits:
        size = sum(t.numel() * t.itemsize for t in on_gpu)
        seconds = copy_seconds(profile, 16, "pinned") if name in _TO_HOST else 0.0
        if name != "_local_scalar_dense":
            seconds = 2 * size / profile.bandwidth
        return Plan(device, waits, profile.shortest + seconds)
    if operator.back:
        listed = results if isinstance(results, (list, tuple)) else [results]
        results = tuple(r for name, r in zip(operator.back, listed, strict=True) if not name)
    refuse_layouts((results,))
    resized = [
        (key, form_of(after))
        for key in operator.written
        for before, after in zip(tensors_in((given[key],)), tensors_in((meta[key],)), strict=True)
        if before.size() != after.size()
    ]
    precision = torch._C._get_float32_matmul_precision()
    tf32 = torch._C._get_cudnn_allow_tf32() if "convolution" in name else precision != "highest"
    inputs = [*tensors_in([value for key, value in meta.items() if key not in operator.outs])]
    outputs = [*tensors_in([meta[key] for key in operator.written]), *tensors_in((results,))]
    costs = kernel_seconds(profile, name, inputs, outputs, tf32)
    return Plan(device, 0, *costs, swapped(results, form_of), tuple(resized))


def _trial(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(as_meta(tensor), device="cpu")


def _waits(operator: Operator, given: dict[str, Any], on_gpu: list[torch.Tensor]) -> int:
    """Return how often the host waits for values; also once where the CPU has to say what is wrong."""
    name = operator.name
    if name in INDEXING:
        return any(t.dtype in (torch.bool, torch.uint8) for t in tensors_in((given["indices"],)))
    if name == "multinomial":
        return given["num_samples"] > given["self"].size(-1) and not given.get("replacement")
    if name == "nll_loss_forward":
        return given["target"].dtype != torch.int64
    mixed = not operator.pointwise and len({t.dtype for t in on_gpu}) > 1
    return _WAITS.get(name, operator.waits or (mixed and _kind(name) == "product"))


def _check_devices(operator: Operator, given: dict[str, Any]) -> None:
    """Refuse tensors of several devices, in PyTorch's words, but where CUDA allows them."""
    together = "Expected all tensors to be on the same device, but"
    first: torch.device | None = None
    for name, value in given.items():
        numbers = operator.pointwise or name in ("value", "values")  # may come from the CPU
        for tensor in tensors_in((value,)) if name not in _ON_THE_HOST else ():
            where = tensor.device
            if where == first or (numbers and tensor.is_cpu and tensor.dim() == 0):
                continue
            if name == "indices" and operator.name in INDEXING:
                where = f"on cpu or on the same device as the indexed tensor ({first})"
                raise RuntimeError(f"indices should be either {where}")
            if first is None:
                first = where
            elif operator.pointwise:
                pair = (first, where) if first.type == NAME else (where, first)
                raise RuntimeError(f"{together} found at least two devices, {pair[0]} and {pair[1]}!")
            else:
                raise RuntimeError(
                    f"{together} got {name} is on {where}, different from other tensors on {first} "
                    f"(when checking argument in method wrapper_{NAME}_{operator.name})"
                )
