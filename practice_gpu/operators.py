"""One kernel for every operator of PyTorch that the CPU has: it is planned, given room, and put into the stream."""

from collections.abc import Callable
from typing import Any

import torch

from practice_gpu import generators
from practice_gpu.forms import ON_CPU, Form, form_of
from practice_gpu.kernels import resize
from practice_gpu.memory import lent, new
from practice_gpu.plans import INDEXING, SCALARS_ANYWHERE, Plan, plan_of, refuse_layouts, swapped, tensors_in
from practice_gpu.simulation import Work
from practice_gpu.state import Uses, plain, state

# PyTorch does not take numbers for tensors here, as it does elsewhere.
_NUMBERS = set("copysign remainder fmod bitwise_and bitwise_or bitwise_xor".split())
_NUMBERS |= {f"{name}_" for name in _NUMBERS}
_DRAWS = set("uniform_ normal_ random_ exponential_ cauchy_ geometric_ log_normal_ randperm".split())


def lend(value: Any, write: bool, uses: list) -> Any:
    """Return an argument with tensors of the CPU that lie in the memory of practice GPUs; see `lent`."""
    return swapped(value, lambda tensor: tensor if tensor.is_cpu else lent(tensor, write, uses))


class Operator:
    """An operator on practice GPUs; called by PyTorch with tensors that autograd has already seen.

    Args:
        name: Its full name (``"aten::add.Tensor"``).
    """

    def __init__(self, name: str) -> None:
        self.full, self.op = name, None

    def _load(self) -> None:
        """Look at the operator's schema: what it writes, and which of its results are what it wrote."""
        self.name, _, overload = self.full[6:].partition(".")
        self.op = getattr(getattr(torch.ops.aten, self.name), overload or "default")
        schema, tags = self.op._schema, set(self.op.tags)
        self.arguments = [argument.name for argument in schema.arguments]
        written = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write]
        self.written = [argument.name for argument in written]
        sets = {frozenset(a.alias_info.before_set): a.name for a in written}
        infos = [result.alias_info for result in schema.returns]
        back = [sets.get(frozenset(info.before_set)) if info and info.is_write else None for info in infos]
        self.back = back if any(back) else []
        self.view = any(info and not info.is_write for info in infos)
        self.generator = next((a.name for a in schema.arguments if "Generator" in str(a.type)), None)
        self.waits = bool({torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & tags)
        self.pointwise = torch.Tag.pointwise in tags or self.name in SCALARS_ANYWHERE
        self.outs = [a.name for a in schema.arguments if a.is_out]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operator: plan it, make room for its results, and put the kernel into the current stream."""
        if self.op is None:
            self._load()
        if self.name in _NUMBERS:
            args = tuple([torch.tensor(a) if isinstance(a, (int, float)) else a for a in args])
        if self.view:
            return self.op.redispatch(ON_CPU, *args, **kwargs)
        with state.lock:
            return self._call(dict(zip(self.arguments, args, strict=False)) | kwargs)

    def _call(self, given: dict[str, Any]) -> Any:
        if self.name in INDEXING and (mask := _brought(given)) is not None:
            return given["self"].masked_fill_(mask, given["values"].item())
        plan = plan_of(self, given)
        device, written = plan.device, self.written
        if state.errors or state.once:
            state.check(device)
        for name, shape in plan.resized:
            resize(given[name], shape.size, stride=shape.stride)
        uses: list = []
        host = {name: lend(value, name in written, uses) for name, value in given.items()}
        if "device" in host:
            host["device"] = torch.device("cpu")
        if self.generator:
            drawn_now = self.name in _DRAWS
            host[self.generator] = generators.of_host(given.get(self.generator), device, drawn_now)
        if plan.waits:
            return self._wait(plan, given, uses, host)
        targets: list[torch.Tensor] = []
        made = _rooms(plan.made, device, targets, uses)
        action = self._action(targets, host)
        key = state.key(device)
        state.launch(Work("kernel", self.name, key, plan.seconds, "compute", plan.share, action), uses)
        return self._result(made, given)

    def _action(self, targets: list[torch.Tensor], host: dict[str, Any]) -> Callable[[], Any]:
        """Return what the kernel does to memory when its time comes."""
        op = self.op._op
        if self.name in _DRAWS:  # the numbers are drawn now, in the order of the calls
            target = host["out" if "out" in host else "self"]
            numbers = torch.empty_like(target)
            with plain():
                op(**{name: numbers if value is target else value for name, value in host.items()})
            return lambda: target.copy_(numbers)
        if not targets:
            return lambda: op(**host)
        pairs = lambda: zip(targets, tensors_in((op(**host),)), strict=True)  # noqa: E731
        return lambda: [target.copy_(made) for target, made in pairs()]

    def _wait(self, plan: Plan, given: dict[str, Any], uses: Uses, host: dict[str, Any]) -> Any:
        """Compute at once, behind everything in the stream: the values decide what there is to return."""
        host |= {name: torch.empty(0, dtype=given[name].dtype) for name in self.outs}
        results, errors = [], []

        def action() -> None:
            try:
                results.append(self.op._op(**host))
            except Exception as error:
                error.args = (str(error).replace("m1 and m2", "mat1 and mat2"),)  # CUDA's words
                errors.append(error)

        kind, engine = ("copy", "from GPU") if self.name == "_local_scalar_dense" else ("kernel", "compute")
        key = state.key(plan.device)
        work = state.launch(Work(kind, self.name, key, plan.seconds, engine, action=action), uses)
        for _ in range(plan.waits):
            state.wait([work], self.name, plan.device, errors=errors)
        for name in self.outs:
            target, made = given[name], host[name]
            if target.size() != made.size():
                resize(target, made.size())
            lent(target, True, []).copy_(made)
        if self.back:
            return self._result([], given)
        refuse_layouts(results)
        targets: list[torch.Tensor] = []
        adopted = _rooms(swapped(results[0], form_of), plan.device, targets, [])
        for target, result in zip(targets, tensors_in(results), strict=True):
            target.copy_(result)
        return adopted

    def _result(self, made: Any, given: dict[str, Any]) -> Any:
        if not self.back:
            return made
        fresh = iter(made)
        results = tuple(given[name] if name else next(fresh) for name in self.back)
        return results[0] if len(results) == 1 else results


def _brought(given: dict[str, Any]) -> torch.Tensor | None:
    """Bring indices and numbers of the host to the device as CUDA does; or return the mask that a number fills."""
    tensor, values, found = given["self"], given.get("values"), []
    if tensor.is_cpu:
        return None
    for index in given["indices"]:
        mask = index is not None and index.dtype in (torch.bool, torch.uint8)
        if mask and index.is_cpu:
            found += index.nonzero().to(tensor.device, non_blocking=True).unbind(1)
        else:
            found.append(index.to(tensor.device) if index is not None and index.is_cpu else index)
    if values is not None and values.is_cpu and values.numel() == 1:
        *others, last = found
        if others == [None] * len(others) and last.dtype == torch.bool and not given.get("accumulate"):
            return last.reshape(*last.shape, *[1] * (tensor.dim() - len(others) - last.dim()))
        given["values"] = values.to(tensor.device)
    given["indices"] = found
    return None


def _rooms(made: Any, device: int, targets: list[torch.Tensor], uses: list) -> Any:
    """Return tensors of the forms in `made`, and add to `targets` the same of the CPU."""

    def in_room(shape: Form) -> torch.Tensor:
        tensor = new(shape, device)
        targets.append(lent(tensor, True, uses))
        return tensor

    return swapped(made, in_room, Form)
