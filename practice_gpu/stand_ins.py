"""What stands in PyTorch's place after `start`, where it has nothing for a device that is made in Python."""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch

from practice_gpu import copies
from practice_gpu.generators import Generator
from practice_gpu.state import NAME


def compatible(original: Callable[..., bool]) -> Callable[..., bool]:
    """Return PyTorch's rule whether `tensor.data` may be replaced, with practice GPUs beside the CPU."""

    @functools.wraps(original)
    def allowed(tensor: torch.Tensor, new: torch.Tensor) -> bool:
        return _mixed(tensor, new) or original(tensor, new)

    return allowed


def _mixed(tensor: torch.Tensor, new: torch.Tensor) -> bool:
    return tensor.layout == new.layout and {tensor.device.type, new.device.type} == {"cpu", NAME}


def data_property(original: Any) -> property:
    """Return `Tensor.data`, which between the CPU and a practice GPU keeps the Python object, its gradient and its hooks."""

    def set_data(tensor: torch.Tensor, new: torch.Tensor) -> None:
        if not _mixed(tensor, new):
            original.__set__(tensor, new)
            return
        if tensor.requires_grad and (tensor.grad_fn is not None or tensor._use_count() > 1):
            node = torch.autograd.graph.get_gradient_edge(tensor).node
            node.register_prehook(_refuse_old_graph)
        gradient, tensor.grad = tensor.grad, None
        fresh = new.detach().requires_grad_(tensor.requires_grad)
        torch._C._swap_tensor_impl(tensor, fresh)
        if gradient is not None:
            gradient.data = gradient.to(tensor.device, tensor.dtype)
            tensor.grad = gradient

    return property(original.__get__, set_data)


def _refuse_old_graph(gradients: Any) -> None:
    raise RuntimeError("practice_gpu: a parameter moved to another device between forward and backward")


def storage_maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `UntypedStorage.__new__`, which also makes storages on practice GPUs."""

    def make(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return original(cls, *args, **kwargs)
        if torch.device(device).type != NAME:
            return original(cls, *args, device=device, **kwargs)
        return torch.empty(args[0] if args else 0, dtype=torch.uint8, device=device).untyped_storage()

    return make


def pinned_maker(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return a function that makes tensors, which knows pinned memory."""

    @functools.wraps(original)
    def make(*args: Any, pin_memory: bool = False, **kwargs: Any) -> torch.Tensor:
        made = original(*args, **kwargs)
        if not pin_memory:
            return made
        if not made.is_cpu:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return copies.pin_memory(made.detach()).requires_grad_(made.requires_grad)

    return make


def item_setter(original: Callable[..., None]) -> Callable[..., None]:
    """Return `Tensor.__setitem__`, which as on CUDA takes numbers from the host."""

    def set_item(tensor: torch.Tensor, index: Any, value: Any) -> None:
        if isinstance(value, (bool, int, float, complex)) and tensor.device.type == NAME:
            value = torch.tensor(value, dtype=tensor.dtype, device="cpu")
        original(tensor, index, value)

    return set_item


def generator_class(original: type) -> Any:
    """Return a class that makes generators of both kinds, and knows both."""

    class Kind(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, original)

        def __call__(cls, device: Any = "cpu") -> Any:
            device = torch.device(device)
            return Generator(device) if device.type == NAME else original(device)

    return Kind("Generator", (), {"__doc__": original.__doc__})


_look = ctypes.pythonapi.PyErr_Occurred


class Guard(torch._C._acc.DeviceGuard):
    """PyTorch's guard for devices in Python, which must not end the process.

    PyTorch asks it for the type of the device even while the exception of a hook is on its way through C++, where a
    failing call ends the process. So the exception is set aside; `single_thread` raises it.
    """

    pending: list[BaseException] = []

    def type_(self) -> Any:
        """Return PyTorch's name for the type of the device."""
        try:
            _look()  # raises what is on its way
        except BaseException as error:
            self.pending.append(error)
        return torch._C._autograd.DeviceType.PrivateUse1


def single_thread(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that runs autograd's engine, in the thread that calls it."""

    @functools.wraps(run)
    def single(*args: Any, **kwargs: Any) -> Any:
        try:
            with torch.autograd.set_multithreading_enabled(False):
                return run(*args, **kwargs)
        except SystemError:
            if Guard.pending:
                raise Guard.pending.pop() from None
            raise

    return single


# --- what nn.DataParallel copies with; devices are numbers, -1 and None the CPU ---------------------------------------


def _place(device: int | None) -> torch.device:
    return torch.device("cpu") if device in (-1, None) else torch.device(NAME, device)


def _scatter(tensor: torch.Tensor, devices: Any, sizes: Any, dim: int, streams: Any) -> list[torch.Tensor]:
    parts = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(devices), dim)
    return [part.to(_place(device)) for part, device in zip(parts, devices, strict=False)]


def _gather(tensors: Any, dim: int, device: int | None) -> torch.Tensor:
    return torch.cat([tensor.to(_place(device)) for tensor in tensors], dim)


def _broadcast(tensor: torch.Tensor, devices: Any) -> list[torch.Tensor]:
    return [tensor.to(_place(device)) for device in devices]


def _broadcast_coalesced(tensors: Any, devices: Any, size: int) -> list[list[torch.Tensor]]:
    return [[tensor.detach().to(_place(device)) for tensor in tensors] for device in devices]


PARALLEL = (_scatter, _gather, _broadcast, _broadcast_coalesced)
