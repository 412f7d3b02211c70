"""What a training step keeps in memory, counted in bytes; and a limit on what a cell may take of a GPU."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from lesson_03.training import mixed


def kept_bytes(forward: Callable[[], Any], model: nn.Module) -> int:
    """Return the bytes that autograd keeps of `forward()` for the backward pass, the model's own weights not counted.

    They are counted with autograd's hooks for saved tensors, so the result is the same on every device.
    """
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()  # several tensors can share one; of a slice, only the slice counts
        size = min(tensor.nbytes, storage.nbytes())
        kept[storage.data_ptr()] = max(size, kept.get(storage.data_ptr(), 0))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        forward()
    return sum(size for place, size in kept.items() if place not in own)


def kept_for_backward(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, dtype: torch.dtype | None = None
) -> int:
    """Return the bytes that autograd keeps of a forward pass of `model`, whose loss is the cross entropy.

    Args:
        model: Weights and inputs are on one device.
        x: Inputs.
        y: Labels.
        dtype: For autocast; None or float32: without.
    """

    def forward() -> torch.Tensor:
        with mixed(x.device, dtype):
            return nn.functional.cross_entropy(model(x), y)

    return kept_bytes(forward, model)


def training_bytes(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    optimizer_class: type[torch.optim.Optimizer],
    dtype: torch.dtype | None = None,
) -> dict[str, int]:
    """Return the bytes of weights, gradients, optimizer and activations in a training step, with autocast to `dtype`."""
    optimizer = optimizer_class(model.parameters())
    with mixed(x.device, dtype):
        loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()  # Adam allocates its averages in its first step
    state = [value for held in optimizer.state.values() for value in held.values()]
    return {
        "weights": sum(p.nbytes for p in model.parameters()),
        "gradients": sum(p.grad.nbytes for p in model.parameters() if p.grad is not None),
        "optimizer": sum(value.nbytes for value in state if torch.is_tensor(value)),
        "activations": kept_for_backward(model, x, y, dtype),
    }


@contextmanager
def at_most(more: int, device: torch.device) -> Iterator[int]:
    """Allow PyTorch to take no more than `more` bytes of the GPU above those that it holds already.

    What is left belongs to others: the desktop, other notebooks.

    Args:
        more: In bytes.
        device: A GPU, or a practice GPU.

    Yields:
        How many bytes it may hold now.
    """
    gpu = torch.get_device_module(device)
    gpu.empty_cache()
    total = gpu.get_device_properties(device).total_memory
    allowed = min(total, gpu.memory_reserved(device) + more)
    gpu.set_per_process_memory_fraction(allowed / total, device)
    try:
        yield allowed
    finally:
        gpu.set_per_process_memory_fraction(1.0, device)
        gpu.empty_cache()
