"""One kernel for every operator of PyTorch that the CPU has: what it makes is planned once per form of its arguments."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from practice_gpu.costs import copy_seconds, kernel_seconds
from practice_gpu.memory import ON_CPU, Form, contiguous, form, form_of, lent, new, room
from practice_gpu.ordering import Memory
from practice_gpu.state import NAME, plain, state

aten = torch.ops.aten
_ANY_DEVICE = {
    "index",
    "index_put_",
    "_index_put_impl_",
    "_unsafe_index",
    "_unsafe_index_put",
}  # indices on the CPU
# PyTorch does not take numbers for tensors here, as it does elsewhere.
_NUMBERS = {
    f"{name}{end}"
    for end in ("", "_")
    for name in "copysign remainder fmod bitwise_and bitwise_or bitwise_xor".split()
}
_BY_TRIAL = {
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_embedding_bag",
    "_embedding_bag_forward_only",
}  # their rules for shapes are not those of the kernels
_DRAWS = {
    "uniform_",
    "normal_",
    "random_",
    "exponential_",
    "cauchy_",
    "geometric_",
    "log_normal_",
    "randperm",
}
_TO_HOST = {"_local_scalar_dense", "equal", "is_nonzero"}  # a number comes back, by a copy
_ON_THE_HOST = {"lengths", "input_lengths", "target_lengths", "scalars", "batch_sizes"}
_SCALARS_ANYWHERE = {
    "floor_divide",
    "index_fill",
    "index_fill_",
    "masked_fill",
    "masked_fill_",
    "where",
    "isin",
}


# PyTorch hands a kernel another Python object for the same generator.
_made: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()


class Generator(torch.Generator):
    """The random numbers of a practice GPU: those of the CPU for the same seed.

    Args:
        device: The practice GPU.
    """

    def __new__(cls, device: Any = None) -> Generator:
        """Make one of the CPU, which is what draws."""
        made = super().__new__(cls)
        made.index = state.index(device)
        _made[made._cdata] = made
        return made

    def __init__(self, *device: Any) -> None:
        pass

    @property
    def device(self) -> torch.device:
        """The practice GPU."""
        return torch.device(NAME, self.index)


generators: list[Generator] = []  # the default one of each device


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def swapped(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """Return an argument with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    return type(value)(swapped(v, change) for v in value) if type(value) in (list, tuple) else value


def lend(value: Any, write: bool, uses: list[tuple[Memory, int, int, bool]]) -> Any:
    """Return an argument with tensors of the CPU that lie in the memory of practice GPUs; see `lent`."""
    if isinstance(value, torch.Tensor):
        return value if value.is_cpu else lent(value, write, uses)
    return type(value)([lend(v, write, uses) for v in value]) if type(value) in (list, tuple) else value


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return form(value.dtype, value.size(), value.stride()), value.get_device()
    if type(value) in (list, tuple):
        return tuple([_described(v) for v in value])
    return type(value), value


class Plan:
    """What a call makes: forms of the results and of what `out=` must become, cost, and whether the host must wait."""

    __slots__ = ("made", "resized", "seconds", "share", "waits", "device")


class Operator:
    """An operator on practice GPUs; called by PyTorch with tensors that autograd has already seen.

    Args:
        name: Its full name (``"aten::add.Tensor"``).
    """

    plans: dict[Any, Plan] = {}

    def __init__(self, name: str) -> None:
        self.full, self.op = name, None

    def _load(self) -> None:
        base, _, overload = self.full[6:].partition(".")
        packet = getattr(aten, base)
        self.op = getattr(packet, overload or "default")
        schema = self.op._schema
        self.name, self.arguments = base, [argument.name for argument in schema.arguments]
        writes = {
            n: a.alias_info for n, a in enumerate(schema.arguments) if a.alias_info and a.alias_info.is_write
        }
        self.written = [self.arguments[n] for n in writes]
        sets = {frozenset(info.before_set): self.arguments[n] for n, info in writes.items()}
        infos = [result.alias_info for result in schema.returns]
        self.back = [
            sets.get(frozenset(info.before_set)) if info and info.is_write else None for info in infos
        ]
        self.view = any(info and not info.is_write for info in infos)
        self.generator = next((a.name for a in schema.arguments if "Generator" in str(a.type)), None)
        tags = self.op.tags
        self.waits = bool({torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & set(tags))
        self.pointwise = torch.Tag.pointwise in tags or base in _SCALARS_ANYWHERE
        self.outs = [a.name for a in schema.arguments if a.is_out]
        self.out = self._variant(packet) if not self.written else None

    def _variant(self, packet: Any) -> tuple[Any, list[str]] | None:
        """Return the variant that writes where it is told to, which saves a copy: only structured kernels keep to it."""
        has = torch._C._dispatch_has_kernel_for_dispatch_key
        if not has(self.full, "CompositeExplicitAutogradNonFunctional") or self.name.endswith("_loss"):
            return None
        wanted = [(a.name, str(a.type)) for a in self.op._schema.arguments]
        for overload in (getattr(packet, name) for name in packet.overloads()):
            arguments = overload._schema.arguments
            outs = [a.name for a in arguments if a.is_out]
            same = [(a.name, str(a.type)) for a in arguments if not a.is_out] == wanted
            if same and len(outs) == len(self.back):
                if has(f"{overload._schema.name}.{overload._overloadname}", "CPU"):
                    return overload, outs
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operator: plan it, make room for its results, and put the kernel into the current stream."""
        if self.op is None:
            self._load()
        if self.name in _NUMBERS:
            args = tuple([torch.tensor(a) if isinstance(a, (int, float)) else a for a in args])
        if self.view:
            return self.op.redispatch(ON_CPU, *args, **kwargs)
        with state.lock:
            return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        plan = self._plan(args, kwargs)
        device, written = plan.device, self.written
        if state.errors or state.once:
            state.check(device)
        given = dict(zip(self.arguments, args, strict=False)) | kwargs if written else {}
        for name, shape in plan.resized:
            resize(given[name], shape.size, stride=shape.stride)
        uses: list[tuple[Memory, int, int, bool]] = []
        if written:
            host_args = [
                lend(a, name in written, uses) for name, a in zip(self.arguments, args, strict=False)
            ]
        else:
            host_args = [lend(a, False, uses) for a in args]
        host_kwargs = {name: lend(value, name in written, uses) for name, value in kwargs.items()}
        if "device" in kwargs:
            host_kwargs["device"] = torch.device("cpu")
        if self.generator:
            host_kwargs[self.generator] = self._generator(kwargs.get(self.generator), device)
        if plan.waits:
            return self._wait(plan, given, uses, host_args, host_kwargs)
        targets: list[torch.Tensor] = []
        made = _rooms(plan.made, device, targets, uses)
        action = self._action(targets, host_args, host_kwargs)
        state.launch("kernel", self.name, state.key(device), plan.seconds, action, uses, share=plan.share)
        return self._result(made, given) if written else made

    def _action(
        self, targets: list[torch.Tensor], args: list[Any], kwargs: dict[str, Any]
    ) -> Callable[[], Any]:
        op = self.op._op
        if self.name in _DRAWS:
            return self._drawn(args, kwargs)
        if not targets:
            return lambda: op(*args, **kwargs)
        if self.out and len(self.out[1]) == len(targets):
            into, names = self.out[0]._op, self.out[1]
            return lambda: into(*args, **kwargs, **dict(zip(names, targets, strict=True)))

        def copied() -> None:
            results = op(*args, **kwargs)
            for target, result in zip(targets, tensors_in((results,)), strict=True):
                target.copy_(result)

        return copied

    def _wait(self, plan: Plan, given: Any, uses: Any, host_args: Any, host_kwargs: Any) -> Any:
        """Compute at once, behind everything in the stream: the values decide what there is to return."""
        host_kwargs |= {name: torch.empty(0, dtype=given[name].dtype) for name in self.outs}
        results, errors = [], []

        def action() -> None:
            try:
                results.append(self.op._op(*host_args, **host_kwargs))
            except Exception as error:
                errors.append(error)

        kind, engine = ("copy", "from GPU") if self.name == "_local_scalar_dense" else ("kernel", "compute")
        work = state.launch(
            kind, self.name, state.key(plan.device), plan.seconds, action, uses, engine=engine
        )
        state.wait([work], self.name, plan.device)
        if errors:
            raise errors[0]
        for name in self.outs:
            target, made = given[name], host_kwargs[name]
            if target.size() != made.size():
                resize(target, made.size())
            lent(target, True, []).copy_(made)

        def adopted(result: torch.Tensor) -> torch.Tensor:
            targets: list[torch.Tensor] = []
            made = _rooms(form_of(result), plan.device, targets, [])
            targets[0].copy_(result)
            return made

        if any(self.back):
            return self._result([], given)
        _refuse_layouts(results)
        return swapped(results[0], adopted)

    def _generator(self, given: Any, device: int) -> torch.Generator:
        if given is None:
            given = generators[device]
        elif given._cdata not in _made:
            raise RuntimeError(
                f"Expected a '{NAME}' device type for generator but found '{given.device.type}'"
            )
        if self.name in _DRAWS:
            return given
        # The numbers are drawn late; which ones they are is decided now.
        seed = int(torch.empty((), dtype=torch.int64).random_(generator=given))
        return torch.Generator().manual_seed(seed)

    def _drawn(self, args: list[Any], kwargs: dict[str, Any]) -> Callable[[], Any]:
        """Draw now, in the order of the calls, and return an action that writes the numbers when their time comes."""
        target = kwargs["out"] if "out" in kwargs else args[0]
        numbers = torch.empty_like(target)
        with plain():
            if "out" in kwargs:
                self.op._op(*args, **{**kwargs, "out": numbers})
            else:
                self.op._op(numbers, *args[1:], **kwargs)
        return lambda: target.copy_(numbers)

    def _result(self, made: Any, given: dict[str, Any]) -> Any:
        if not any(self.back):
            return made
        fresh = iter(made if isinstance(made, (list, tuple)) else [made])
        results = tuple(given[name] if name else next(fresh) for name in self.back)
        return results[0] if len(results) == 1 else results

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        precisions = torch._C._get_float32_matmul_precision(), torch._C._get_cudnn_allow_tf32()
        key = [self, state.profile, state.chosen.device, torch.get_default_dtype(), precisions]
        key += [_described(value) for value in args]
        for name, value in kwargs.items():
            if name != self.generator:
                key += name, _described(value)
        try:
            plan = self.plans.get(tuple(key))
        except TypeError:  # cannot be hashed
            return self._new_plan(args, kwargs)
        if plan is None:
            if len(self.plans) > 20_000:
                self.plans.clear()
            plan = self.plans[tuple(key)] = self._new_plan(args, kwargs)
        return plan

    def _new_plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        plan, tensors = Plan(), list(tensors_in((args, list(kwargs.values()))))
        self._check_devices(args, kwargs)
        on_gpu = [t for t in tensors if t.device.type == NAME]
        plan.device = on_gpu[0].device.index if on_gpu else state.index(kwargs.get("device"))
        plan.waits, plan.made, plan.resized = self.waits or self._masks(args), None, []
        plan.seconds, plan.share = state.profile.shortest, 1.0
        given = dict(zip(self.arguments, args, strict=False)) | kwargs
        meta = {
            name: swapped(value, _trial if self.name in _BY_TRIAL else as_meta)
            for name, value in given.items()
        }
        if "device" in meta:
            meta["device"] = torch.device("meta")
        if self.generator:
            meta.pop(self.generator, None)
        results = None
        if not plan.waits:
            try:
                with plain():
                    results = self.op(**meta)
            except (NotImplementedError, RuntimeError, IndexError, TypeError, ValueError, AssertionError):
                plan.waits = True  # the CPU will say what is wrong, or do it all the same
        if plan.waits:
            size = sum(t.numel() * t.itemsize for t in on_gpu)
            copied = copy_seconds(state.profile, 16, "pinned") if self.name in _TO_HOST else 0.0
            plan.seconds += (
                2 * size / state.profile.bandwidth if self.name != "_local_scalar_dense" else copied
            )
            return plan
        list_of = results if isinstance(results, (list, tuple)) else [results]
        if any(self.back):
            list_of = [r for name, r in zip(self.back, list_of, strict=True) if not name]
            results = tuple(list_of)
        _refuse_layouts(list_of)
        plan.made = swapped(results, form_of)
        for name in self.written:
            for before, after in zip(tensors_in((given[name],)), tensors_in((meta[name],)), strict=True):
                if before.size() != after.size():
                    plan.resized.append((name, form_of(after)))
        precision = torch._C._get_float32_matmul_precision()
        tf32 = torch._C._get_cudnn_allow_tf32() if "convolution" in self.name else precision != "highest"
        inputs = [t for name, value in meta.items() if name not in self.outs for t in tensors_in((value,))]
        outputs = [*tensors_in([meta[name] for name in self.written]), *tensors_in((results,))]
        plan.seconds, plan.share = kernel_seconds(state.profile, self.name, inputs, outputs, tf32)
        return plan

    def _masks(self, args: tuple[Any, ...]) -> bool:
        return self.name in _ANY_DEVICE and any(
            t.dtype in (torch.bool, torch.uint8) for t in tensors_in(args[1:2])
        )

    def _check_devices(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        first: torch.device | None = None
        for name, value in [*zip(self.arguments, args, strict=False), *kwargs.items()]:
            if name in _ON_THE_HOST:
                continue
            for tensor in tensors_in((value,)):
                where = tensor.device
                if (
                    where.type == "cpu"
                    and tensor.dim() == 0
                    and (self.pointwise or name in ("value", "values"))
                ):
                    continue
                if self.name in _ANY_DEVICE and name == "indices":
                    if where.type == "cpu" or where == first:
                        continue
                    raise RuntimeError(
                        f"indices should be either on cpu or on the same device as the indexed tensor ({first})"
                    )
                first = first or where
                if where == first:
                    continue
                if self.pointwise:
                    pair = (first, where) if first.type == NAME else (where, first)
                    raise RuntimeError(
                        f"Expected all tensors to be on the same device, but found at least two devices, {pair[0]} and {pair[1]}!"
                    )
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but got {name} is on {where}, different from other tensors "
                    f"on {first} (when checking argument in method wrapper_{NAME}_{self.name})"
                )


def _refuse_layouts(values: Any) -> None:
    for tensor in tensors_in(values):
        if tensor.layout != torch.strided:
            raise NotImplementedError(f"practice_gpu cannot hold tensors of layout {tensor.layout}")


def _rooms(
    made: Any, device: int, targets: list[torch.Tensor], uses: list[tuple[Memory, int, int, bool]]
) -> Any:
    if isinstance(made, Form):
        tensor, block = room(made, device)
        targets.append(made.tensor(block.address))
        uses.append((block, 0, made.bytes, True))
        return tensor
    return (
        type(made)([_rooms(m, device, targets, uses) for m in made])
        if isinstance(made, (list, tuple))
        else made
    )


def _trial(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(as_meta(tensor), device="cpu")


def as_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor without data of the same form; numbers of the CPU keep their value."""
    if tensor.dim() == 0 and tensor.is_cpu:
        return tensor
    meta = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
    return torch._conj(meta) if tensor.is_conj() else meta


def resize(tensor: torch.Tensor, size: Any, *, memory_format: Any = None, stride: Any = None) -> torch.Tensor:
    """Resize a tensor in place; what does not fit moves to new memory, on the device.

    Raises:
        NotImplementedError: Other tensors share the memory: they would stay behind.
    """
    size = tuple(size)
    if stride is None:
        stride = torch.empty(
            size, device="meta", memory_format=memory_format or torch.contiguous_format
        ).stride()
    wanted, storage = form(tensor.dtype, size, tuple(stride)), tensor.untyped_storage()
    start = tensor.storage_offset()
    if storage.nbytes() < wanted.bytes + start * tensor.dtype.itemsize:
        if torch._C._storage_Use_Count(storage._cdata) > 2 or start:
            raise NotImplementedError("practice_gpu: memory that several tensors share cannot be enlarged")
        old = form(tensor.dtype, (storage.nbytes() // tensor.dtype.itemsize,), (1,))
        fresh = new(wanted, tensor.device.index)
        if old.numel:
            source = set_storage(torch.empty_like(tensor), storage, 0, old.size, old.stride)
            aten.as_strided(fresh, old.size, old.stride).copy_(source)
        storage = fresh.untyped_storage()
    return set_storage(tensor, storage, start, size, stride)


def set_storage(tensor: torch.Tensor, source: Any, offset: int, size: Any, stride: Any = ()) -> torch.Tensor:
    """Let a tensor lie in another memory."""
    set_ = aten.set_.source_Storage_storage_offset
    return set_.redispatch(ON_CPU, tensor, source, offset, size, stride or contiguous(size))
