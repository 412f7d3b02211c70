"""Exercise ``sent_bytes(size, ranks) -> number``: the bytes that each rank of a ring sends."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.returned import close, number
from course_utils.tables import table

CASES = ((840, 4), (840, 2), (1_000_000, 8), (5_000, 1))


def right(size: int, ranks: int) -> float:
    """Return the bytes that each rank sends."""
    return 2 * (ranks - 1) / ranks * size


def judge(answer: Any) -> Mistakes:
    """Look for typical wrong formulas in each case."""
    for size, ranks in CASES:
        got, chunk = number(answer(size, ranks)), size / ranks
        seen = {"size": size, "ranks": ranks, "steps": ranks - 1, "got": got}
        if not close(got, right(size, ranks)):
            yield close(got, (ranks - 1) * chunk), "one_way", seen
            yield close(got, 2 * ranks * chunk), "one_step_more", seen
            yield close(got, 2 * (ranks - 1) * size), "everything", seen
            yield close(got, 2 * (ranks - 1)), "number_of_steps", seen
            yield close(got, (ranks - 1) * size), "through_rank_0", seen
            yield True, "other", seen


def show(answer: Any) -> Block:
    """Return what the answer says for 100 MB and more and more ranks."""
    head = ("N", Bilingual("S = 100 MB: each rank sends", "S = 100 MB，每個 rank 送出"))
    rows = [(str(n), figures.amount(float(answer(100_000_000, n)))) for n in (2, 4, 8, 64, 1024)]
    return table(head, rows)
