"""A small classifier of the digits, loops that train it, its accuracy, and a training step of any width."""

from collections.abc import Callable

import torch
from torch import nn

from course_utils import preserved_state, try_gpu


def mixed(device: torch.device, dtype: torch.dtype | None) -> torch.autocast:
    """Return autocast to `dtype` on `device`; for None or float32 it does nothing."""
    on = dtype not in (None, torch.float32)
    return torch.autocast(device.type, dtype=dtype if on else None, enabled=on)


def classifier() -> nn.Sequential:
    """Return an untrained network with one hidden layer, always with the same weights, on the GPU if there is one.

    The state of PyTorch's random numbers is left as it is.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(try_gpu())


@preserved_state(threads=1)  # on a CPU, work this small is not worth sharing
def train(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    *,
    epochs: int,
    batch: int = 64,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> nn.Module:
    """Train `model` in float32 with SGD, in the same order in every call, and return it."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    generator = torch.Generator().manual_seed(1)
    for _ in range(epochs):
        for index in torch.randperm(len(images), generator=generator).split(batch):
            index = index.to(images.device)
            loss = nn.functional.cross_entropy(model(images[index]), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


@preserved_state(threads=1)
def trained_on_a_mean(
    images: torch.Tensor, labels: torch.Tensor, dtype: torch.dtype, scaled: bool, outputs: int = 2**22
) -> nn.Module:
    """Return a classifier trained for five epochs with gradients as small as those of a mean over `outputs`.

    Args:
        images: The training images.
        labels: Their digits.
        dtype: For autocast.
        scaled: Whether a gradient scaler scales the loss.
        outputs: The loss is divided by this, and the learning rate multiplied.
    """
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * outputs, momentum=0.9)
    scaler = torch.amp.GradScaler(images.device.type, enabled=scaled)
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        for index in torch.randperm(len(images), generator=generator).split(64):
            index = index.to(images.device)
            with mixed(images.device, dtype):
                loss = nn.functional.cross_entropy(model(images[index]), labels[index]) / outputs
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return model


def step_of(
    width: int, images: torch.Tensor, labels: torch.Tensor, dtype: torch.dtype | None
) -> Callable[[], None]:
    """Return a training step, without the update, of two hidden layers of `width`; under autocast if `dtype` is given."""
    model = nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    ).to(images.device)

    def step() -> None:
        model.zero_grad()
        with mixed(images.device, dtype):
            loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()

    return step


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the percentage of `images` that `model` gets right."""
    with torch.no_grad():
        right = model(images).argmax(1) == labels
    return 100 * right.float().mean().item()
