"""The explorers of lesson 07: sums of the ring and bytes of its messages, and the formulas of the scaling model."""

import re
from fractions import Fraction
from typing import Any

import pytest

from lesson_07 import ring_all_reduce, scaling_efficiency
from lesson_07.ring_all_reduce import NAIVE, RING, AllReduce
from lesson_07.scaling_efficiency import MEASURED, Scaling

pytestmark = pytest.mark.usefixtures("no_warnings")

LINK, POINTS, SIZE = (4e-4, 1.25e9), ([0.004, 0.02, 0.08], [0.4, 0.7, 0.9]), 11_000_000


MADE_UP, MEASURED_HERE = scaling_efficiency.explorer(), scaling_efficiency.explorer(LINK, POINTS, size=SIZE)


MARKED = '<span class="measured">[^<]*</span>'


# --- ring ---------------------------------------------------------------------------------------------


def ring(ranks: int, step: int, way: str = RING, size: int = 840) -> AllReduce:
    return ring_all_reduce.compute(ranks=ranks, step=step, size=size, way=way)


def whose(result: AllReduce, rank: int) -> list[str]:
    """Return for each chunk of `rank` the ranks whose numbers are in it, as digits."""
    return ["".join(str(o) * times for o, times in enumerate(chunk)) for chunk in result.held[rank]]


def test_three_ranks_by_hand() -> None:
    """Rank 0 sends chunk 0, rank 1 chunk 1, rank 2 chunk 2; then what has just arrived."""
    steps = [[whose(ring(3, step), rank) for rank in range(3)] for step in range(5)]
    assert steps[0] == [["0", "0", "0"], ["1", "1", "1"], ["2", "2", "2"]]
    assert steps[1] == [["0", "0", "02"], ["01", "1", "1"], ["2", "12", "2"]]
    assert steps[2] == [["0", "012", "02"], ["01", "1", "012"], ["012", "12", "2"]]
    assert steps[3] == [["012", "012", "02"], ["01", "012", "012"], ["012", "12", "012"]]
    assert steps[4] == [["012"] * 3] * 3
    assert [ring(3, step).finished for step in range(5)] == [0, 0, 3, 6, 9]


def test_through_rank_0_by_hand() -> None:
    steps = [[whose(ring(3, step, NAIVE), rank)[0] for rank in range(3)] for step in range(5)]
    assert steps == [
        ["0", "1", "2"], ["01", "1", "2"], ["012", "1", "2"], ["012", "012", "2"], ["012", "012", "012"]
    ]  # fmt: skip


@pytest.mark.parametrize("way", [RING, NAIVE])
@pytest.mark.parametrize("ranks", ring_all_reduce.RANKS)
def test_every_rank_has_the_sum_after_the_last_step_and_not_before(ranks: int, way: str) -> None:
    last = 2 * (ranks - 1)
    for step in range(last + 4):
        result = ring(ranks, step, way)
        assert result.steps == last
        assert (result.finished == ranks**2) == (step >= last)
        assert all(times <= 1 for row in result.held for chunk in row for times in chunk), "no rank twice"
        assert all(chunk[rank] for rank, row in enumerate(result.held) for chunk in row), (
            "each rank keeps its own"
        )


@pytest.mark.parametrize("ranks", ring_all_reduce.RANKS)
def test_the_traffic_to_the_byte(ranks: int) -> None:
    """Patarasuk and Yuan: 2 (N - 1) / N · S for each rank; through rank 0, it alone sends (N - 1) · S."""
    for size in (840, 1, 10**9):
        done, naive = ring(ranks, 0, RING, size), ring(ranks, 0, NAIVE, size)
        assert [done.sent(rank) for rank in range(ranks)] == [Fraction(2 * (ranks - 1) * size, ranks)] * ranks
        assert [naive.sent(rank) for rank in range(ranks)] == [(ranks - 1) * size] + [size] * (ranks - 1)
        assert (
            sum(map(done.sent, range(ranks))) == sum(map(naive.sent, range(ranks))) == 2 * (ranks - 1) * size
        )
        # All links of the ring work at once; the other way uses one after the other and takes N times as long.
        assert naive.one_after_another == ranks * done.one_after_another == 2 * (ranks - 1) * size


def test_an_all_reduce_out_of_range_is_refused() -> None:
    for bad in ({"ranks": 1}, {"step": -1}, {"size": 0}, {"way": "a tree"}):
        with pytest.raises(ValueError, match="needs at least 2 ranks|is not known"):
            ring_all_reduce.compute(**{"ranks": 4, "step": 0, "size": 1, "way": RING} | bad)


# --- scaling ------------------------------------------------------------------------------------------


def scaling(**choices: Any) -> Scaling:
    usual = {"processes": 4, "work": 1.0, "size": 1e9, "bandwidth": 1e10, "call": 1e-3, "overlap": 0.0}
    return scaling_efficiency.compute(**usual | choices)


def test_scaling_by_hand() -> None:
    """4 processes, 1 GB over 10 GB/s: a call of 1 ms, and 2 · 3 / 4 · 0.1 s: 151 ms after 1 s of work."""
    found = scaling()
    assert found.link.all_reduce(4, 1e9) == pytest.approx((0.001, 0.15))
    assert found.communication == pytest.approx(0.151) and found.hidden == 0
    assert found.step == pytest.approx(1.151) and found.efficiency == pytest.approx(1 / 1.151)
    assert found.speed_up == pytest.approx(4 / 1.151)
    assert found.needed == pytest.approx(9 * 0.151), "at 90 %, a tenth of the step may be waiting"
    # A tenth of the work hides 100 of the 151 ms; with more than 15.1 % nothing is left to wait for.
    assert scaling(overlap=0.1).step == pytest.approx(1.051)
    assert scaling(overlap=0.2).efficiency == 1 and scaling(overlap=0.2).hidden == pytest.approx(0.151)
    assert scaling(overlap=0.1).needed == pytest.approx(0.151 / (1 / 9 + 0.1))


def test_the_needed_work_is_just_enough() -> None:
    for overlap in (0.0, 1 / 3, 2 / 3):
        needed = scaling(overlap=overlap).needed
        assert scaling(overlap=overlap, work=needed).efficiency == pytest.approx(scaling_efficiency.GOOD)


def test_the_fit_with_two_processes_is_reproduced() -> None:
    """t = a + 2 (N - 1) / N · S / B: the price of the call is the same for any N."""
    choices = MEASURED_HERE.defaults()
    assert choices["processes"] == 2 and choices["bandwidth"] is None and choices["call"] is None
    found = MEASURED_HERE.compute(**choices)
    assert found.communication == pytest.approx(LINK[0] + SIZE / LINK[1]) and found.size == SIZE
    found = MEASURED_HERE.compute(**choices | {"processes": 8})
    assert found.communication == pytest.approx(LINK[0] + 2 * 7 / 8 * SIZE / LINK[1])


def test_measured_and_published_can_be_mixed() -> None:
    choices = MEASURED_HERE.defaults() | {"call": 5e-6}
    found = MEASURED_HERE.compute(**choices)
    assert found.link.call == 5e-6 and found.link.bandwidth == LINK[1] and found.link.measured
    choices |= {"bandwidth": 1e9}
    assert not MEASURED_HERE.compute(**choices).link.measured


def test_without_measurements_there_is_nothing_measured_to_choose() -> None:
    assert MEASURED not in [text for control in MADE_UP.controls for text, _ in control.options]
    result = MADE_UP.compute(**MADE_UP.defaults())
    assert not re.search(MARKED, scaling_efficiency.caption(result).block())


def test_measured_values_are_marked_and_the_rest_is_the_same_on_every_machine() -> None:
    other = scaling_efficiency.explorer((5e-3, 2e8), ([0.1, 0.3], [0.2, 0.3]), size=SIZE)
    for changes in ({}, {"overlap": 1 / 3}, {"call": 5e-6}):
        pages = [
            scaling_efficiency.caption(e.compute(**e.defaults() | changes)).block()
            for e in (MEASURED_HERE, other)
        ]
        kept = [re.sub(MARKED, "M", page) for page in pages]
        assert kept[0] == kept[1] and pages[0] != pages[1] and kept[0].count("M") > 14


def test_a_link_or_points_alone_are_enough() -> None:
    for explorer in (scaling_efficiency.explorer(LINK), scaling_efficiency.explorer(points=POINTS)):
        assert explorer.compute(**explorer.defaults()).processes == 2
        explorer.render(explorer.compute(**explorer.defaults()))
