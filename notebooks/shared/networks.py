"""The two networks of the lessons on several devices: a LeNet (lesson 05 builds it step by step) and a ResNet-18.

Both take images with one channel and return ten scores. The LeNet needs 28 × 28 pixels, the ResNet takes any size.
"""

import torch
from torch import nn


def lenet() -> nn.Sequential:
    """Return an untrained LeNet-5 with 61,706 parameters, max pooling and ReLU; new random weights in every call.

    Source: Y. LeCun et al., "Gradient-Based Learning Applied to Document Recognition" (1998), figure 2.
    """
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


class BasicBlock(nn.Module):
    """Two convolutions, and a shortcut around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()  # the identity
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output for images `x` of shape (n, inputs, height, width)."""
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + self.shortcut(x))


def resnet18(width: int = 64) -> nn.Sequential:
    """Return an untrained ResNet-18 for small images: eight blocks, first convolution 3 × 3, no pooling after it.

    Args:
        width: Channels of the first stage; the others have two, four and eight times as many. 64 is the published
            network; with 8 it has the same 18 layers and 1/64 of the cost.

    Source: K. He et al., "Deep Residual Learning for Image Recognition" (2015), table 1 and section 4.2.
    """
    layers: list[nn.Module] = [
        nn.Conv2d(1, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
    ]
    channels = width
    for stage in range(4):
        for block in range(2):
            outputs = width * 2**stage
            layers.append(BasicBlock(channels, outputs, stride=2 if stage and not block else 1))
            channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))
