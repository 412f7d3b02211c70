"""Lesson 02: explorers by hand and with real modules, tables of places, and what is counted as traffic between devices."""

import itertools
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tabled import tabled
from torch import nn

from course_utils.exercises import examine, exercises_of
from course_utils.lesson_gpus import ready
from lesson_02 import module_belongings, transfer_cost
from lesson_02.places import places
from lesson_02.traffic import Traffic

pytestmark = pytest.mark.usefixtures("no_warnings")

# --- transfer -----------------------------------------------------------------------------------------


def test_transfer_by_hand() -> None:
    """4 MB in 1000 calls of 2 µs over 5 GB/s: 2 ms for the calls, 0.8 ms for the bytes."""
    result = transfer_cost.compute(2e-6, 5e9, size=4_000_000, pieces=1000)
    assert result.call_seconds_total == pytest.approx(2e-3)
    assert result.transfer_seconds == pytest.approx(0.8e-3)
    assert result.share == pytest.approx(2 / 2.8)
    caption = transfer_cost.render(result).caption.en
    assert "⟨2.8 ms⟩" in caption and "⟨71%⟩" in caption and caption.startswith("4 MB")


def test_each_line_of_the_picture_has_its_own_name() -> None:
    result = transfer_cost.compute(2e-6, 5e9, size=4_000_000, pieces=1000)
    curve, *others = transfer_cost.render(result).figure.axes[0].lines
    assert np.allclose(curve.get_ydata(), curve.get_xdata() * 2e-6 + 0.8e-3)
    lines = {line.get_label(): line for line in others}
    trip, cut = (
        next(line for name, line in lines.items() if word in name) for word in ("trip alone", "your cut")
    )
    assert set(trip.get_ydata()) == {result.transfer_seconds}
    assert list(cut.get_xdata()) == [1000] and list(cut.get_ydata()) == [result.seconds]


# --- belongings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("move", module_belongings.MOVES)
@tabled
def test_belongings(way: str, moved: bool, trained: bool, saved: bool, move: str) -> None:
    result = module_belongings.compute(way=way, move=move)
    assert (result.moved, result.trained, result.saved) == (moved, trained, saved)


def test_the_code_that_is_shown_is_the_code_that_is_executed() -> None:
    html = module_belongings.EXPLORER.html(way="list", move=".half()")
    assert "self.part = [nn.Linear(2, 2)]" in html and "module.half()" in html
    assert html.count("✗") == 6 and "✓" not in html  # three rows, both languages


# --- places --------------------------------------------------------------------------------------------


def test_the_table_of_places_says_what_is_a_practice_gpu() -> None:
    (gpu,) = ready()
    model, batch = nn.Linear(3, 2).to(gpu), torch.ones(4, 3)
    shown = places(model=model, batch=batch)
    assert f"model | {gpu} | Linear | float32 | 32" in shown.text
    assert "batch | cpu | 4 × 3 | float32 | 48" in shown.text
    assert f"model | ⟨{gpu}⟩" in places(model=model, batch=batch, vary="model").text
    practice = gpu.type == "practice"
    assert ("practice GPU" in shown.text, "練習用 GPU" in shown.text) == (practice, practice)
    assert "practice" not in places(batch=batch).text


def test_the_quoted_words_are_those_of_this_pytorch() -> None:
    """The error that the lesson quotes is in PyTorch's compiled code; its parts stand there one by one."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not library.exists():
        pytest.skip("PyTorch's library has another name on this system")
    parts = (
        b"Expected all tensors to be on the same device, but got ",
        b", different from other tensors on ",
        b" (when checking argument in method ",
        b"but found at least two devices, ",
    )
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
        assert all(code.find(part) >= 0 for part in parts)


# --- exercises ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale, ticks", [
    (nn.Parameter(torch.ones(8)), "✓ | ✓"), (nn.Parameter(torch.ones(8), requires_grad=False), "✗ | ✓"),
    (torch.ones(8), "✗ | ✗"),
])  # fmt: skip
def test_only_what_gets_gradients_is_said_to_be_trained(scale: torch.Tensor, ticks: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.scale = nn.ModuleList([nn.Linear(8, 8)]), scale

    assert exercises_of("02")["stays_behind"].show(Net).text.splitlines()[-1].endswith(ticks)


def test_an_answer_that_raises_is_shown_with_its_error() -> None:
    def to_device(rows: list[torch.Tensor], device: torch.device) -> None:
        raise RuntimeError(f"no `place` for {len(rows)}\nsecond line")

    shown = exercises_of("02")["to_device"].show(to_device)
    assert shown.text.endswith("RuntimeError: no 'place' for 20")


def test_an_answer_that_fails_only_sometimes_gets_a_hint() -> None:
    calls = itertools.count()

    def loss_of(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
        if next(calls) < 2:
            raise RuntimeError("Expected all tensors to be on the same device, but found two devices")

    answer = examine(
        exercises_of("02")["mend"], loss_of, seconds=120
    )  # the first use of a practice GPU takes long
    assert answer.state == "notyet" and "two things are still on the CPU" in answer.message.en


# --- traffic ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.device_count() == 1, reason="needs two GPUs, and none is hidden for a test")
def test_copies_between_devices_are_counted_with_their_bytes() -> None:
    first, second = ready(2)
    x = torch.ones(2, 3)
    with Traffic() as traffic:
        there = x.to(first)
        _ = (
            there.to(first),
            there.to(torch.float16),
            torch.ones_like(there),
            there * 2,
            there * torch.tensor(2.0),
        )
        _ = there.to(second), there.cpu(), x.to(first, torch.float16), there.to("cpu", torch.float16)
        there[0] = x[0]
        x.copy_(there)
    a, b = str(first), str(second)
    home = (a, "cpu", 24)
    assert traffic.transfers == [
        ("cpu", a, 24), (a, b, 24), home, ("cpu", a, 12), home, ("cpu", a, 12), home
    ]  # fmt: skip
    assert traffic.fetches == 3
    x.to(first)
    assert len(traffic.transfers) == 7, "not after the block"


def test_each_tensor_of_a_model_is_a_copy() -> None:
    (gpu,) = ready()
    with Traffic() as traffic:
        nn.BatchNorm1d(3).to(gpu)
    assert [one.bytes for one in traffic.transfers] == [12, 12, 12, 12, 8] and not traffic.fetches


ASKING: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x[0].item(),
    "float": lambda x: float(x[0]),
    "if": lambda x: bool(x[0] > 1),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "print": lambda x: repr(x),
    "format": lambda x: f"{x[0]:.2f}",
    "mask": lambda x: x[x > 1],
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x.masked_select(x > 1),
    "tensor": lambda x: torch.tensor([x[0], 3.0]),
}


@pytest.mark.parametrize("way", ASKING)
def test_the_host_fetches_once(way: str) -> None:
    x = torch.arange(3.0, device=ready()[0])
    with Traffic() as traffic:
        y = x * 2 + x.sum()
        _ = y[1:], y[torch.tensor([0])], torch.tensor([1, 2])
        assert traffic.fetches == 0 and not traffic.transfers
        ASKING[way](y)
    assert traffic.fetches == 1


def test_on_the_cpu_nothing_is_fetched() -> None:
    x = torch.arange(3.0)
    with Traffic() as traffic:
        for ask in ASKING.values():
            ask(x)
    assert traffic.fetches == 0 and not traffic.transfers
