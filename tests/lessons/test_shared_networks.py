"""The two networks against the published sizes, and against the LeNet that lesson 05 builds."""

import ast
from typing import Any

import torch
from lesson_cells import cells
from torch import nn

from shared.networks import BasicBlock, lenet, resnet18


def test_lenet_has_the_classic_sizes() -> None:
    x, shapes = torch.zeros(2, 1, 28, 28), []
    for layer in lenet():
        x = layer(x)
        shapes.append(tuple(x.shape[1:]))
    assert list(dict.fromkeys(shapes)) == [
        (6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (400,), (120,), (84,), (10,)
    ]  # fmt: skip
    assert sum(p.numel() for p in lenet().parameters()) == 156 + 2416 + 48120 + 10164 + 850


def test_the_lenet_of_lesson_05_is_this_one() -> None:
    namespace: dict[str, Any] = {}
    source = next(c.text for c in cells("code") if c.id == "hand-lenet")
    function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "lenet")
    exec("import torch\nfrom torch import nn\n" + ast.unparse(function), namespace)
    torch.manual_seed(0)
    shared = lenet().state_dict()
    assert str(namespace["lenet"]()) == str(lenet())
    assert all(torch.equal(a, shared[name]) for name, a in namespace["lenet"]().state_dict().items())


def test_resnet_by_hand() -> None:
    """Convolutions without bias, BatchNorm with two numbers per channel, stages of 64, 128, 256 and 512 channels."""
    stem = 9 * 64 + 128
    first = 2 * (2 * 9 * 64 * 64 + 2 * 128)
    others = sum(
        9 * c * 2 * c + 3 * 9 * 2 * c * 2 * c + c * 2 * c + 5 * 2 * 2 * c for c in (64, 128, 256)
    )  # two blocks; the shortcut of the first is a convolution of 1 × 1 with its own BatchNorm
    assert sum(p.numel() for p in resnet18().parameters()) == stem + first + others + 512 * 10 + 10
    model = resnet18(width=4)
    assert sum(isinstance(m, BasicBlock) for m in model) == 8
    deep = [m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    assert len([m for m in deep if getattr(m, "kernel_size", (3, 3)) != (1, 1)]) == 18, "layers with weights"
    for size in (8, 28):
        assert model(torch.zeros(2, 1, size, size)).shape == (2, 10)
    x, heights = torch.zeros(2, 1, 28, 28), []
    for part in model[:11]:
        x = part(x)
        heights.append(x.shape[-1])
    assert list(dict.fromkeys(heights)) == [28, 14, 7, 4] and x.shape[1] == 8 * 4
