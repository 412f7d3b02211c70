"""Exercise ``share(step, rank, world, batch, count, seed)``: a rank's windows, from nothing but numbers that every start knows."""

from itertools import product
from typing import Any

import torch

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistake, Mistakes
from course_utils.returned import whole_numbers

COUNT, BATCH = 50, 8  # windows, and how many of them a step takes
STEPS = COUNT // BATCH  # of an epoch


def taken(answer: Any, step: int, rank: int = 0, world: int = 1, seed: int = 0) -> list[int]:
    """Return the windows that the answer gives a rank in a step."""
    got = whole_numbers(answer(step, rank, world, BATCH, COUNT, seed))
    if not all(0 <= window < COUNT for window in got):
        raise Mistake("outside", count=COUNT, last=COUNT - 1, got=got)
    return got


def judge(answer: Any) -> Mistakes:
    """Look at one rank alone, then at several that divide its windows, then at the orders of three epochs."""
    for step in (0, 3, STEPS, 2 * STEPS + 1):
        torch.manual_seed(step)
        got = taken(answer, step)
        wrong = "epoch_ends" if step >= STEPS else "size"
        yield len(got) != BATCH, wrong, {"step": step, "got": len(got), "batch": BATCH}
        torch.manual_seed(step + 1)
        yield taken(answer, step) != got, "by_chance"
    for world, step in product((2, 4), (0, STEPS + 2)):
        shares = [taken(answer, step, rank, world) for rank in range(world)]
        sizes = [len(share) for share in shares]
        case = {"world": world, "step": step, "batch": BATCH, "sizes": sizes, "each": BATCH // world}
        yield sizes == [BATCH] * world, "whole_batch", case
        yield set(sizes) != {BATCH // world}, "sizes", case
        yield sorted(sum(shares, [])) != sorted(taken(answer, step)), "not_together", case

    def order(epoch: int, seed: int = 0) -> list[int]:
        return sum((taken(answer, epoch * STEPS + step, seed=seed) for step in range(STEPS)), [])

    orders = [order(epoch) for epoch in range(3)]
    for number, found in enumerate(orders):
        yield len(set(found)) != len(found), "twice", {"number": number, "batch": BATCH}
    yield orders[0] == sorted(orders[0]), "in_order"
    yield orders[1] in (orders[0], orders[2]), "same_every_epoch"
    yield orders[0] == order(0, seed=1), "seed"


def show(answer: Any) -> Block:
    """Return which windows the ranks take in one step."""
    rows = {}
    for world in (1, 2, 4):
        shares = [taken(answer, 7, rank, world) for rank in range(world)]
        rows[f"step 7, world = {world}"] = " | ".join(" ".join(map(str, share)) for share in shares)
    return facts(rows)
