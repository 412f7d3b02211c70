"""Lesson 05: the lesson's own DataParallel, its explorers, and real GPUs that cannot exchange data."""

import ast
import math
import os
from typing import Any

import pytest
import torch
from lesson_cells import cells
from torch import nn

from course_utils.lesson_gpus import ready
from lesson_05 import batch_split, by_device, by_hand, parallel_traffic, two_gpus
from lesson_05.parallel_traffic import CHAIN, MODELS, RING, STAR, WAYS, Traffic
from shared.networks import lenet

pytestmark = pytest.mark.usefixtures("no_warnings")


# --- the lesson's own DataParallel ---------------------------------------------------------------------


@pytest.mark.parametrize("batch, devices", [(1, 8), (2, 1), (7, 3), (30, 8)])
def test_by_hand_is_one_device(batch: int, devices: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = torch.rand(batch, 6, dtype=torch.float64), torch.randint(3, (batch,))
    found = []
    for net in (model, by_hand.ByHand(model, [torch.device("cpu")] * devices)):
        net.zero_grad()
        out = net(x)
        nn.functional.cross_entropy(out, y).backward()
        found.append([out.detach(), *(p.grad.clone() for p in model.parameters())])
    assert all(torch.allclose(a, b, atol=1e-14) for a, b in zip(*found, strict=True))


def test_a_thread_of_the_lesson_inherits_no_grad() -> None:
    model, pieces = nn.Linear(4, 2), [torch.rand(3, 4)] * 2
    with torch.no_grad():
        assert not any(out.requires_grad for out in by_hand.parallel_apply([model, model], pieces))
    assert all(out.requires_grad for out in by_hand.parallel_apply([model, model], pieces))


def test_what_a_copy_appends_stays() -> None:
    """What it assigns is lost, as the lesson shows."""

    class Notes(nn.Linear):
        def __init__(self) -> None:
            super().__init__(1, 1)
            self.sizes: list[int] = []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.sizes.append(len(x))
            return super().forward(x)

    notes = Notes()
    by_hand.ByHand(notes, [torch.device("cpu")] * 2)(torch.rand(5, 1))
    assert sorted(notes.sizes) == [2, 3]
    assert notes._replicate_for_data_parallel().sizes is notes.sizes, "PyTorch's own copies share the list"


# --- explorers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch, devices, sizes", [
    (30, 3, (10, 10, 10)), (10, 3, (4, 4, 2)), (10, 8, (2, 2, 2, 2, 2)), (6, 4, (2, 2, 2)), (1, 8, (1,)),
    (33, 8, (5, 5, 5, 5, 5, 5, 3)), (64, 1, (64,)),
])  # fmt: skip
def test_splits_by_hand(batch: int, devices: int, sizes: tuple[int, ...]) -> None:
    assert batch_split.compute(batch=batch, devices=devices).sizes == sizes


def test_the_rule_of_a_split_holds_everywhere() -> None:
    for choices in batch_split.EXPLORER.grid():
        split = batch_split.compute(**choices)
        largest = math.ceil(split.batch / split.devices)
        assert sum(split.sizes) == split.batch and min(split.sizes) > 0
        assert set(split.sizes[:-1]) <= {largest} and split.sizes[-1] <= largest
        assert split.idle == split.devices - math.ceil(split.batch / largest) >= 0
        assert 1 <= split.gain <= split.devices
        assert (split.gain == split.devices) == (split.batch % split.devices == 0)


def test_the_grid_has_what_the_lesson_asks_for() -> None:
    """More than 30 examples of which one of eight devices gets none."""
    found = [
        c["batch"] for c in batch_split.EXPLORER.grid() if batch_split.compute(**c | {"devices": 8}).idle == 1
    ]
    assert any(batch > 30 for batch in found)


def traffic(**choices: Any) -> Traffic:
    usual = {"model": "ResNet-50 (25.6 M)", "devices": 4, "batch": 32, "speed": 1e9}
    return parallel_traffic.compute(**usual | choices)


def test_traffic_by_hand() -> None:
    """LeNet, 4 devices, 16 images each: 61,706 floats are 246,824 bytes, an image 3,136, its scores 40."""
    found = traffic(model="LeNet (0.06 M)", batch=16)
    data = 3 * 16 * (3136 + 40 + 40)
    assert found.serial == {
        STAR: {"weights": 740_472, "gradients": 740_472, "data": data},
        CHAIN: {"weights": 246_824, "gradients": 246_824, "data": data},
        RING: {"weights": 0, "gradients": 370_236, "data": 0},
    }
    assert found.total == 1_480_944
    assert found.seconds(RING) == pytest.approx(370_236 / 1e9)


def test_lenet_has_the_parameters_of_the_shared_one() -> None:
    assert MODELS["LeNet (0.06 M)"].parameters == sum(p.numel() for p in lenet().parameters())


def test_all_ways_send_the_same_total_and_differ_by_n_on_one_link() -> None:
    for choices in parallel_traffic.EXPLORER.grid():
        found = parallel_traffic.compute(**choices)
        n, weights = found.devices, MODELS[choices["model"]].parameters * 4
        own = {way: sum(v for k, v in found.serial[way].items() if k != "data") for way in WAYS}
        assert own[STAR] == pytest.approx(n * own[RING])
        assert own[CHAIN] * (n - 1) == pytest.approx(n * own[RING])
        assert found.total == pytest.approx(2 * (n - 1) * weights)
        assert found.total == pytest.approx(n * own[RING])
        for way in WAYS:
            assert found.seconds(way) == pytest.approx(sum(found.serial[way].values()) / choices["speed"])


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_a_recorded_step_has_its_parts_on_their_gpus() -> None:
    first, second = devices = ready(2)
    net = by_hand.ByHand(nn.Linear(4, 3).to(first), devices)
    found = by_device.record_step(net, torch.rand(6, 4).to(first), torch.tensor([0, 1, 2] * 2).to(first))
    names = {(span.lane, span.name.split(" · ")[0]) for span in found.spans}
    both = {(gpu, name) for gpu in ("GPU 0", "GPU 1") for name in ("copy", "work", "backward")}
    assert names == both | {("GPU 1", "scatter")} | {("GPU 0", name) for name in ("gather", "loss", "step")}
    order = sorted((span for span in found.spans if span.lane == "GPU 0"), key=lambda span: span.start)
    assert [span.name[:4] for span in order] == ["copy", "work", "gath", "loss", "back", "step"]


def test_what_gpus_do_and_send_is_shown_by_device() -> None:
    first, second = ready(2)
    x = torch.ones(1000, device=first)

    def action() -> None:
        (x + 1).to(second).mul_(2)

    found = by_device.busy(action)
    kinds = sorted((span.lane, span.name[:4]) for span in found.spans)
    assert kinds == [("GPU 0", "work"), ("GPU 1", "copy"), ("GPU 1", "work")]
    (way, said), *others = by_device.sent(action).items()
    assert (way, said.en) == ("GPU 0 → GPU 1", "4,000 bytes (copies: 1)") and not others


def test_devices_are_different_while_there_are_any() -> None:
    (cell,) = [c for c in cells() if c.lesson == "05" and c.id == "setup"]
    (function,) = [n for n in ast.parse(cell.text).body if getattr(n, "name", "") == "some_devices"]
    names: dict[str, Any] = {"gpus": lambda: ["cuda:0", "cuda:1"]}
    exec(compile(ast.Module([function], []), "<cell>", "exec"), names)
    assert names["some_devices"](3) == ["cuda:0", "cuda:1", "cuda:0"]


# --- GPUs that cannot exchange data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("program, seconds, used", [
    ("import time\ntime.sleep(60)", 0.5, False), ("raise SystemExit('wrong values arrived')", 30, False),
    ("print(1)", 30, True), ("raise SystemExit('no such device')", 30, True),  # the lesson shows other errors itself
])  # fmt: skip
def test_gpus_that_hang_or_garble_are_not_used(
    program: str,
    seconds: float,
    used: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(two_gpus, "EXCHANGE", program)
    monkeypatch.setattr(two_gpus, "LIMIT_SECONDS", seconds)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    two_gpus.check_links()
    assert (os.environ["CUDA_VISIBLE_DEVICES"] == "0,1") is used
    said = capsys.readouterr().out
    assert [words in said for words in ("practice GPUs", 'doctor("hang")', "改用練習用 GPU")] == [
        not used
    ] * 3


def test_without_two_gpus_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_gpus, "run_fresh", lambda *_, **__: pytest.fail("tried"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    two_gpus.check_links()
