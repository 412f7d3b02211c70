"""Lesson 07: the ring of the exercise and of the explorer, checkpoints, bytes between machines, and its figures."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from lesson_cells import cells
from published import PUBLISHED
from unmarked import unmarked

from course_utils import figures
from course_utils.exercises import examine, exercises_of
from course_utils.limits import TimeUp, limited
from lesson_07 import all_reduce_cost, ring_all_reduce, scaling_efficiency
from lesson_07.exercises import ring_all_reduce as exercise
from lesson_07.exercises import sent_bytes
from lesson_07.ring_all_reduce import NAIVE, RING, AllReduce
from lesson_07.ring_of_threads import LENGTH, Ring, contributions, first_chunks
from lesson_07.scaling_efficiency import MEASURED, Scaling
from tools.wrong_answers import wrong_answers

EXERCISE = exercises_of("07")["ring_all_reduce"]
RIGHT = PUBLISHED["07/ring_all_reduce"].solution
CELLS = {cell.id: cell.text for cell in cells() if cell.lesson == "07"}


def answer(source: str) -> Any:
    """Return the function of that name which `source` defines."""
    namespace: dict[str, Any] = {"torch": torch}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace["ring_all_reduce_by_hand"]


# --- the ring -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_the_solution_sends_what_the_formula_says(size: int) -> None:
    ring = Ring(size)
    ring.run(answer(RIGHT))
    for rank in range(size):
        assert sum(tensor.numel() for tensor in ring.sent[rank]) == 2 * (size - 1) * LENGTH
        assert len(ring.sent[rank]) == 2 * (size - 1)
        assert len(ring.ranks[rank].held) == 2 * (size - 1) + 1, "the start, and each step"
    assert sent_bytes.right(size * LENGTH, size) == 2 * (size - 1) * LENGTH


def test_the_sums_by_hand() -> None:
    """Chunks 0 and 1 have the primes 7 and 11, and rank r the factor 1000 ** r."""
    ring = Ring(2)
    assert [float(chunk[0]) for chunk in first_chunks(1, 2)] == [7000, 11000]
    ring.run(answer(RIGHT))
    assert [[float(chunk[0]) for chunk in chunks] for chunks in ring.chunks] == [[7007, 11011]] * 2
    assert added(7007.0, 0) == [1, 1] and added(14007.0, 0) == [1, 2] and added(22011.0, 1) == [1, 2]
    for no_sum in (7018.0, 3503.5, -7.0, float("inf"), float("nan"), 7_000_007_007.0):
        assert added(no_sum, 0) is None


def added(value: float, place: int) -> list[int] | None:
    return contributions(torch.full((LENGTH,), value, dtype=torch.float64), place, 2)


def test_the_exercise_is_the_ring_of_the_explorer() -> None:
    """After each step, every rank holds what the explorer draws."""
    ring = Ring(4)
    ring.run(answer(RIGHT))
    for step in range(7):
        drawn = ring_all_reduce.compute(ranks=4, step=step, size=4, way=ring_all_reduce.RING).held
        held = [exercise.origins(rank.held[step]) for rank in ring.ranks]
        assert [[tuple(counts or ()) for counts in row] for row in held] == [list(row) for row in drawn]


def test_what_a_rank_prints_is_seen_once(capsys: pytest.CaptureFixture[str]) -> None:
    source = RIGHT.replace("        received", "        print('step', step, 'of', size)\n        received")
    assert examine(EXERCISE, answer(source)).state == "solved"
    assert capsys.readouterr().out.count("step 0 of 4") == 2 * 4


def test_no_thread_survives_an_answer_that_never_ends() -> None:
    def endless(chunks: Any, rank: int, size: int, exchange: Any) -> None:
        if rank == 1:
            while True:
                pass
        exchange(chunks[0])

    ring = Ring(2)

    with pytest.raises(TimeUp), limited(0.3):
        ring.run(endless)
    for rank in ring.ranks:
        rank.join(60)
        assert not rank.is_alive()


def test_the_picture_shows_an_unfinished_ring() -> None:
    """A half-finished ring has the sum in one place of each row; one that stops early is drawn as far as it came."""
    picture = exercise.show(answer(wrong_answers("07", "ring_all_reduce")["half_way"][0]))
    assert "in the end 4 of 16 places" in picture.caption.en and "3 exchanges" in picture.caption.en
    figures.png(picture.figure)
    early = "def ring_all_reduce_by_hand(chunks, rank, size, exchange):\n    if rank:\n        exchange(chunks[0])\n"
    found = examine(EXERCISE, answer(early))
    assert (
        found.key == "waits_for_ever" and "rank 0 is done after 0 exchanges, but rank 1" in found.message.en
    )
    assert "0 of 16 places" in exercise.show(answer(early)).caption.en


# --- cells ----------------------------------------------------------------------------------------------


def test_bytes_between_machines_by_hand() -> None:
    names: dict[str, Any] = {"claim": lambda _, value: None}
    exec(compile(CELLS["machines-count"], "machines-count", "exec"), names)
    over_network = names["over_network"]
    assert over_network([0, 1], {0: 0, 1: 0}) == 0 and over_network([0, 1], {0: 0, 1: 1}) == 2
    # Four machines with eight GPUs: a GPU sends 2 · 3/4 · S/8 over the network, of 2 · 31/32 · S in all.
    machine_of = {rank: rank // 8 for rank in range(32)}
    rings = [[local + 8 * machine for machine in range(4)] for local in range(8)]
    inside_first = sum(over_network(ring, machine_of) / 8 for ring in rings)
    assert inside_first / 32 == Fraction(2 * 3, 4) / 8
    assert 0.09 < inside_first / 32 / Fraction(2 * 31, 32) < 0.105, "a tenth"


def test_the_efficiency_is_measured_in_full_float32() -> None:
    """NVIDIA's containers switch TF32 on. The work would shrink, and claim 7.6 might not hold on fast GPUs."""
    before, _, after = CELLS["scaling-script"].partition('torch.set_float32_matmul_precision("highest")')
    assert "ddp(batch)" not in before and "ddp(batch)" in after


def test_what_is_said_about_the_published_curve() -> None:
    """1 MiB: three quarters of the time are the price of the call; 25 MiB: about an eighth."""
    call = all_reduce_cost.published_seconds(32 * 1024)
    assert all_reduce_cost.published_seconds(512 * 1024) / call < 1.1
    assert 0.7 < call / all_reduce_cost.published_seconds(2**20) < 0.8
    before, after = (all_reduce_cost.published_seconds(n * 2**20) for n in (16, 32))
    assert 0.1 < call / (before + (after - before) * 9 / 16) < 0.14


# --- explorers: the ring, and the formulas of the scaling model ------------------------------------------

LINK, POINTS, SIZE = (4e-4, 1.25e9), ([0.004, 0.02, 0.08], [0.4, 0.7, 0.9]), 11_000_000
MADE_UP, MEASURED_HERE = scaling_efficiency.explorer(), scaling_efficiency.explorer(LINK, POINTS, size=SIZE)


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


def test_the_fit_with_two_processes_is_reproduced() -> None:
    """t = a + 2 (N - 1) / N · S / B: the price of the call is the same for any N."""
    choices = MEASURED_HERE.defaults()
    assert choices["processes"] == 2 and choices["bandwidth"] is None and choices["call"] is None
    found = MEASURED_HERE.compute(**choices)
    assert found.communication == pytest.approx(LINK[0] + SIZE / LINK[1]) and found.size == SIZE
    found = MEASURED_HERE.compute(**choices | {"processes": 8})
    assert found.communication == pytest.approx(LINK[0] + 2 * 7 / 8 * SIZE / LINK[1])


def test_without_measurements_there_is_nothing_measured_to_choose() -> None:
    assert MEASURED not in [text for control in MADE_UP.controls for text, _ in control.options]
    result = MADE_UP.compute(**MADE_UP.defaults())
    page = scaling_efficiency.caption(result).block()
    assert unmarked(page) == page


def test_measured_values_are_marked_and_the_rest_is_the_same_on_every_machine() -> None:
    other = scaling_efficiency.explorer((5e-3, 2e8), ([0.1, 0.3], [0.2, 0.3]), size=SIZE)
    for changes in ({}, {"overlap": 1 / 3}, {"call": 5e-6}):
        pages = [
            scaling_efficiency.caption(e.compute(**e.defaults() | changes)).block()
            for e in (MEASURED_HERE, other)
        ]
        kept = [unmarked(page) for page in pages]
        assert kept[0] == kept[1] and pages[0] != pages[1] and kept[0].count("@") >= 14


def test_a_link_or_points_alone_are_enough() -> None:
    for explorer in (scaling_efficiency.explorer(LINK), scaling_efficiency.explorer(points=POINTS)):
        assert explorer.compute(**explorer.defaults()).processes == 2
        explorer.render(explorer.compute(**explorer.defaults()))
