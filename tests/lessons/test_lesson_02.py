"""Lesson 02: its explorers against numbers by hand and real modules, and the checkpoint from another machine."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lesson_02 import module_belongings, transfer_cost
from lesson_02.checkpoints import saved_elsewhere

pytestmark = pytest.mark.usefixtures("no_warnings")

CALL, SPEED = 2e-6, 5e9  # seconds, bytes per second


# --- transfer -----------------------------------------------------------------------------------------


def test_transfer_by_hand() -> None:
    """4 MB in 1000 calls of 2 µs over 5 GB/s: 2 ms for the calls, 0.8 ms for the bytes."""
    result = transfer_cost.compute(2e-6, 5e9, size=4_000_000, pieces=1000)
    assert result.call_seconds_total == pytest.approx(2e-3) and result.transfer_seconds == pytest.approx(
        0.8e-3
    )
    assert result.share == pytest.approx(2 / 2.8)
    picture = transfer_cost.render(result)
    for caption in (picture.caption.en, picture.caption.zh):
        assert "⟨2.8 ms⟩" in caption and "⟨71%⟩" in caption and caption.startswith("4 MB")


def test_each_line_of_the_picture_has_its_own_name() -> None:
    result = transfer_cost.compute(2e-6, 5e9, size=4_000_000, pieces=1000)
    lines = {line.get_label(): line for line in transfer_cost.render(result).figure.axes[0].lines}
    trip, cut = (
        next(line for name, line in lines.items() if word in name) for word in ("trip alone", "your cut")
    )
    assert set(trip.get_ydata()) == {result.transfer_seconds}
    assert list(cut.get_xdata()) == [1000] and list(cut.get_ydata()) == [result.seconds]


def test_the_cost_is_the_sum_of_two_terms_everywhere() -> None:
    for choices in transfer_cost.explorer(CALL, SPEED).grid():
        result = transfer_cost.compute(CALL, SPEED, **choices)
        assert result.seconds == pytest.approx(choices["pieces"] * CALL + choices["size"] / SPEED)
        assert np.allclose(result.all_seconds, result.all_pieces * CALL + choices["size"] / SPEED)
        assert np.all(np.diff(result.all_seconds) > 0) and result.all_seconds[0] > result.transfer_seconds
        assert 0 < result.share < 1


@pytest.mark.parametrize("bad", [{"size": 0}, {"pieces": 0}, {"pieces": -1}])
def test_a_transfer_of_nothing_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="positive numbers"):
        transfer_cost.compute(CALL, SPEED, **{"size": 1, "pieces": 1} | bad)
    with pytest.raises(ValueError, match="positive numbers"):
        transfer_cost.compute(0.0, SPEED, size=1, pieces=1)


# --- belongings ---------------------------------------------------------------------------------------

TABLE = {
    # way: (comes along, is trained, is saved)
    "nn.Linear": (True, True, True),
    "nn.Parameter": (True, True, True),
    "register_buffer": (True, False, True),
    "persistent=False": (True, False, False),
    "tensor": (False, False, False),
    "list": (False, False, False),
    "nn.ModuleList": (True, True, True),
    "dict": (False, False, False),
}


@pytest.mark.parametrize("move", module_belongings.MOVES)
@pytest.mark.parametrize("way", module_belongings.WAYS)
def test_belongings(way: str, move: str) -> None:
    result = module_belongings.compute(way=way, move=move)
    assert (result.moved, result.trained, result.saved) == TABLE[way]


def test_the_code_that_is_shown_is_the_code_that_is_executed() -> None:
    html = module_belongings.EXPLORER.html(way="list", move=".half()")
    assert "self.part = [nn.Linear(2, 2)]" in html and "module.half()" in html
    assert html.count("✗") == 6 and "✓" not in html  # three rows, both languages


# --- checkpoints --------------------------------------------------------------------------------------


def test_a_checkpoint_from_another_machine_needs_map_location() -> None:
    state = {"weight": torch.arange(3.0)}
    file = saved_elsewhere(state)
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(file)
    file.seek(0)
    loaded = torch.load(file, map_location="cpu")
    assert list(loaded) == ["weight"] and torch.equal(loaded["weight"], state["weight"])
