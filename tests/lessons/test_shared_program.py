"""The program: its data, its network, its first and its last version; and two networks of published sizes."""

import ast
import hashlib
import inspect
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from lesson_cells import cells
from torch import nn

from shared import digits as module
from shared import program
from shared.digits import TEST, digits
from shared.networks import BasicBlock, lenet, resnet18

pytestmark = pytest.mark.usefixtures("one_thread")


def test_mean_and_deviation_are_those_of_the_training_images():
    data = digits()
    assert data.images.mean().item() == pytest.approx(program.MEAN, abs=5e-4)
    assert data.images.std().item() == pytest.approx(program.STD, abs=5e-4)
    assert len(data.images) == len(data.labels) == program.IMAGES


def test_every_pixel_becomes_sixteen_and_is_normalized():
    small = torch.tensor([[[float(8 * y + x) for x in range(8)] for y in range(8)]])
    large = program.enlarge(small)
    assert large.shape == (1, 1, 32, 32)
    for y, x in ((0, 0), (3, 31), (17, 6), (31, 31)):
        assert large[0, 0, y, x].item() == pytest.approx(
            (small[0, y // 4, x // 4] - program.MEAN) / program.STD
        )


def test_the_network_is_the_same_in_every_call_and_no_random_number_is_used_up():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two = program.small_resnet(), program.small_resnet()
    assert torch.rand(3).equal(expected)
    assert all(a.equal(b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert sum(p.numel() for p in one.parameters()) == 6378
    assert one(torch.zeros(2, 1, 32, 32)).shape == (2, 10)


def test_the_block_adds_its_input():
    block = program.ResidualBlock(2)
    torch.nn.init.zeros_(block.conv2.weight)
    torch.nn.init.zeros_(block.conv2.bias)
    x = torch.rand(1, 2, 4, 4)
    assert block(x).equal(x)


def test_the_test_images_are_those_of_the_digits():
    images, labels = program.test_set()
    assert images.equal(program.enlarge(digits().test_images)) and labels.equal(digits().test_labels)
    assert images.shape == (360, 1, 32, 32)


def test_the_beginners_program_computes_what_a_batch_of_four_computes():
    """The same gradients, image by image: so one version can replace the other, and only the time differs."""
    network = program.small_resnet()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(2):
        for start in range(0, 8, 4):
            x, y = program.small_images[start : start + 4], program.labels[start : start + 4]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(program.enlarge(x)), y).backward()
            optimizer.step()
    slow = program.beginner("cpu", epochs=2, images=8)
    for a, b in zip(slow.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_the_finished_program_learns_from_every_image(monkeypatch):
    """That it learns is a rule of the scoreboard, which lesson 04 keeps."""
    seen: list[int] = []
    original = torch.nn.functional.cross_entropy
    monkeypatch.setattr(
        program.F, "cross_entropy", lambda scores, y: seen.append(len(y)) or original(scores, y)
    )
    program.finished("cpu", 1)
    assert sum(seen) == program.IMAGES


def function(source: str, name: str) -> str:
    """Return the body and the arguments of a function as a canonical text, without its docstring."""
    found = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    if ast.get_docstring(found):
        found.body = found.body[1:]
    return ast.dump(found.args) + "".join(map(ast.dump, found.body))


def test_lesson_00_shows_the_beginners_program():
    (cell,) = [cell for cell in cells() if cell.id == "beginner-program"]
    ours = textwrap.dedent(inspect.getsource(program.beginner))
    assert function(cell.text, "beginner") == function(ours, "beginner")


# --- the digits: complete, those of UCI, always the same split -------------------------------------------


def test_the_digits_are_complete_and_split() -> None:
    data = digits()
    assert data.images.shape == (1437, 8, 8) and data.test_images.shape == (TEST, 8, 8)
    assert data.images.dtype == data.test_images.dtype == torch.float32
    assert data.labels.dtype == data.test_labels.dtype == torch.int64
    everything = torch.cat([data.images, data.test_images])
    assert everything.min() == 0 and everything.max() == 1
    # What UCI documents: 1,797 digits, between 174 and 183 of each.
    counts = torch.cat([data.labels, data.test_labels]).bincount()
    assert len(counts) == 10 and counts.sum() == 1797 and counts.min() == 174 and counts.max() == 183


def test_the_split_is_the_same_every_time_and_mixes_the_classes() -> None:
    assert digits.__wrapped__().test_labels.equal(digits().test_labels)
    assert digits().test_labels.bincount().min() >= 25


def test_they_are_the_digits_that_the_lessons_were_recorded_with() -> None:
    """Byte for byte the file that scikit-learn 1.9.1 ships, and what it says."""
    file = Path(module.__file__).with_name("digits.csv.gz")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == (
        "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
    )
    assert "Alpaydin" in file.with_name("digits_LICENSE.md").read_text(encoding="utf-8")
    first = module._table()[0]
    assert first[:8].tolist() == [0, 0, 5, 13, 9, 1, 0, 0] and first[-1] == 0


# --- networks of published sizes -----------------------------------------------------------------------------


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
    source = next(c.text for c in cells() if c.id == "hand-lenet")
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
