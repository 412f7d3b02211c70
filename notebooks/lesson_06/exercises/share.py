"""Exercise ``share(samples, rank, ranks) -> list[int]``."""

from typing import Any

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.returned import whole_numbers
from course_utils.tables import YOURS, table, value

DEALS = ((7, 2), (7, 3), (8, 4), (2, 4), (1, 1))


def judge(answer: Any) -> Mistakes:
    """Look at the shares of all ranks together."""
    for samples, ranks in DEALS:
        shares = [whole_numbers(answer(samples, rank, ranks)) for rank in range(ranks)]
        together = sorted(sum(shares, []))
        seen = {"samples": samples, "ranks": ranks, "shares": shares, "last": samples - 1}
        yield len(together) > len(set(together)), "twice", seen
        yield together != [*range(samples)], "missing", seen
        yield max(map(len, shares)) - min(map(len, shares)) > 1, "unequal", seen
        yield shares != [[*range(rank, samples, ranks)] for rank in range(ranks)], "not_dealt", seen


def show(answer: Any) -> Block:
    """Return who gets what of seven examples."""
    return table(("rank", YOURS), [(f"{rank} of 3", value(answer(7, rank, 3))) for rank in range(3)])


_HEAD = "def share(samples, rank, ranks):\n    "
WRONG = {
    "no_whole_numbers": f"{_HEAD}return samples // ranks",
    "returned_none": f"{_HEAD}list(range(rank, samples, ranks))",
    "twice": (
        f"{_HEAD}return list(range(rank, samples, ranks)) + [0]",
        "from torch.utils.data import DistributedSampler\n\n"
        f"{_HEAD}return list(DistributedSampler(range(samples), ranks, rank, shuffle=False))",
    ),
    "missing": f"{_HEAD}return list(range(rank, samples // ranks * ranks, ranks))",
    "unequal": f"{_HEAD}return list(range(samples)) if rank == 0 else []",
    "not_dealt": f"{_HEAD}sizes = [samples // ranks + (r < samples % ranks) for r in range(ranks)]\n"
    "    return list(range(sum(sizes[:rank]), sum(sizes[: rank + 1])))",
}
