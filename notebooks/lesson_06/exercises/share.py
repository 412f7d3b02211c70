"""Exercise ``share(stream, rank, ranks, worker, workers)``: an iterator over one worker's items of a stream."""

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from bilingual import Block
from course_utils.exercises import Mistake, Mistakes
from course_utils.returned import whole_numbers
from course_utils.tables import YOURS, table, value

DEALS = ((7, 2, 1), (7, 3, 1), (8, 2, 2), (13, 2, 3), (3, 2, 2), (1, 1, 1))  # items, ranks, workers of each


def _dealt(answer: Any, items: int, ranks: int, workers: int) -> list[list[int]]:
    places = [(rank, worker) for rank in range(ranks) for worker in range(workers)]
    found = [answer(iter(range(items)), rank, ranks, worker, workers) for rank, worker in places]
    return [whole_numbers(list(got) if isinstance(got, Iterator) else got) for got in found]


def _endless() -> Iterator[int]:
    for number in count():
        if number > 200:
            raise Mistake("stores")
        yield number


def judge(answer: Any) -> Mistakes:
    """Look at the shares of all workers together; then at the first items of an endless stream."""
    for items, ranks, workers in DEALS:
        shares = _dealt(answer, items, ranks, workers)
        together = sorted(sum(shares, []))
        seen = {"items": items, "ranks": ranks, "workers": workers, "shares": shares, "last": items - 1}
        yield len(together) > len(set(together)), "twice", seen
        yield together != [*range(items)], "missing", seen
        yield max(map(len, shares)) - min(map(len, shares)) > 1, "unequal", seen
    list(islice(answer(_endless(), 1, 2, 1, 2), 3))


def show(answer: Any) -> Block:
    """Return who gets what of seven items."""
    shares = _dealt(answer, 7, 2, 2)
    names = [f"rank {n // 2}, worker {n % 2}" for n in range(4)]
    return table(("", YOURS), [(name, value(found)) for name, found in zip(names, shares, strict=True)])
