"""Exercise ``plan(per_rank, ranks, accumulate, images) -> (batch, steps)``: the global batch, and the steps of an epoch."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistake, Mistakes
from course_utils.tables import table

CASES = ((32, 4, 1, 1000), (16, 8, 4, 10_000), (64, 1, 2, 1000), (32, 2, 1, 64))


def judge(answer: Any) -> Mistakes:
    """Look for typical wrong batches, then for wrong numbers of steps."""
    for case in CASES:
        got, (per_rank, ranks, accumulate, images) = answer(*case), case
        if got is None:
            raise Mistake("returned_none")
        pair = isinstance(got, tuple) and len(got) == 2 and all(type(number) is int for number in got)
        yield not pair, "no_pair"
        (batch, steps), right = got, per_rank * ranks * accumulate
        seen = {"per_rank": per_rank, "ranks": ranks, "accumulate": accumulate, "images": images}
        seen |= {"batch": batch, "steps": steps}
        if batch != right:
            yield batch == per_rank * ranks, "not_accumulated", seen
            yield batch == per_rank * accumulate, "one_rank", seen
            yield True, "other_batch", seen
        if steps != images // right:  # what does not fill a whole step is dropped
            yield steps == -(-images // batch), "rounded_up", seen
            yield steps == images // (per_rank * ranks), "backward_passes", seen
            yield True, "other_steps", seen


def show(answer: Any) -> Block:
    """Return the plans for 60,000 images and more and more ranks."""
    title = Bilingual(
        "32 images per rank, 60,000 in all: batch, steps", "每個 rank 32 張，共 60,000 張：批次、步數"
    )
    plans = [(f"N = {n}", answer(32, n, 1, 60_000)) for n in (1, 4, 16, 64)]
    plans.append(("N = 4, accumulate = 4", answer(32, 4, 4, 60_000)))
    return table(("", title), [(name, ", ".join(map(str, pair))) for name, pair in plans])


_HEAD = "def plan(per_rank, ranks, accumulate, images):\n    "
_BATCH = "per_rank * ranks * accumulate"
WRONG = {
    "returned_none": f"{_HEAD}steps = images",
    "no_pair": (f"{_HEAD}return {_BATCH}", f"{_HEAD}return ({_BATCH}, images / ({_BATCH}))"),
    "not_accumulated": f"{_HEAD}return (per_rank * ranks, images // (per_rank * ranks))",
    "one_rank": f"{_HEAD}return (per_rank * accumulate, images // per_rank)",
    "other_batch": f"{_HEAD}return (per_rank + ranks, images)",
    "backward_passes": f"{_HEAD}return ({_BATCH}, images // (per_rank * ranks))",
    "rounded_up": f"{_HEAD}return ({_BATCH}, -(-images // ({_BATCH})))",
    "other_steps": f"{_HEAD}return ({_BATCH}, images // (per_rank * ranks) + 1000)",
}
