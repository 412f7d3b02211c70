"""The program that the course makes faster, lesson by lesson: its images, its network, its first and its last version.

A small residual network learns to read handwritten digits of 8 × 8 pixels, enlarged to 32 × 32 and normalized. Every
version is a function ``train(device, epochs)`` that returns the trained network; :func:`shared.scoreboard.score` times it.
"""

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  (the field's usual name)

from shared.digits import digits

MEAN, STD = 0.305, 0.376  # of the training images' grey values, which go from 0 to 1
IMAGES = 1437  # for training; 360 others are for testing
SCALE = 4  # every pixel becomes 4 × 4 pixels

small_images, labels = digits().images, digits().labels  # (1437, 8, 8) and (1437,), on the CPU


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions, and a shortcut around them.

    Args:
        channels: Channels of the input and of the output.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output for `x` of shape (n, channels, height, width)."""
        return torch.relu(x + self.conv2(torch.relu(self.conv1(x))))


def small_resnet() -> nn.Sequential:
    """Return the program's network, untrained: 6,378 parameters, on the CPU, with the same weights in every call.

    It takes images of shape (n, 1, 32, 32) and returns ten scores for each. The state of PyTorch's random numbers is left
    as it is.
    """
    state = torch.get_rng_state()
    try:
        torch.default_generator.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            ResidualBlock(8),
            nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(512, 10),
        )  # fmt: skip
    finally:
        torch.set_rng_state(state)


def enlarge(images: torch.Tensor) -> torch.Tensor:
    """Return `images` of shape (n, 8, 8) as the network wants them: (n, 1, 32, 32), normalized, on the same device."""
    large = F.interpolate(images[:, None], scale_factor=SCALE)
    return (large - MEAN) / STD


def test_set(device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """Return the 360 test images as the network wants them, and their labels, on `device`."""
    data = digits()
    return enlarge(data.test_images).to(device), data.test_labels.to(device)


def beginner(device, epochs=1, images=IMAGES):  # type: ignore[no-untyped-def]
    """Train the network as a beginner writes it. Lesson 00 shows the same code.

    Args:
        device: Where to train.
        epochs: How often to go through the images.
        images: How many of them to use.

    Returns:
        The trained network.
    """
    network = small_resnet().to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for _ in range(epochs):
        for i in range(images):
            large = torch.zeros(1, 1, 32, 32)
            for y in range(32):
                for x in range(32):
                    grey = small_images[i, y // 4, x // 4]
                    large[0, 0, y, x] = (grey - MEAN) / STD
            scores = network(large.to(device))
            loss = F.cross_entropy(scores, labels[i : i + 1].to(device)) / 4
            loss.backward()
            losses.append(loss.item())
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    return network


def finished(device: torch.device | str, epochs: int = 10) -> nn.Sequential:
    """Train the network as a reader of lessons 01 to 04 writes it; every line is explained there.

    Args:
        device: Where to train.
        epochs: How often to go through the images.

    Returns:
        The trained network.
    """
    network = small_resnet().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    images = enlarge(small_images.to(device)).contiguous(memory_format=torch.channels_last)
    targets = labels.to(device)
    for _ in range(epochs):
        for x, y in zip(images.split(128), targets.split(128), strict=True):
            optimizer.zero_grad()
            F.cross_entropy(network(x), y).backward()
            optimizer.step()
    return network
