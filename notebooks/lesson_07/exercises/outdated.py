"""Exercise ``outdated(saved, k) -> list[int]``: which checkpoints may be deleted."""

from typing import Any

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.returned import whole_numbers
from course_utils.tables import YOURS, table, value

# Step, whether all ranks have written, whether all weights are finite; the right answer for k = 2.
RUNS: tuple[tuple[list[tuple[int, bool, bool]], list[int]], ...] = (
    ([(100, True, True), (200, True, True), (300, True, True), (400, True, True)], [100, 200]),
    ([(100, True, True), (200, True, True)], []),
    ([(100, True, True), (200, True, True), (300, True, True), (400, False, True)], [100]),
    ([(100, True, True), (200, True, True), (300, True, False), (400, True, False)], [300, 400]),
    ([(100, True, True), (200, True, True), (300, True, True), (400, True, False), (500, False, True)], [100, 400]),
    ([(100, False, True)], []),
)  # fmt: skip


def judge(answer: Any) -> Mistakes:
    """Compare the list for each run."""
    for saved, right in RUNS:
        got = whole_numbers(answer(list(saved), 2))
        if got == right:
            continue
        seen = {"saved": saved, "got": got}
        good = [step for step, written, finite in saved if written and finite]
        yield sorted(got) == right, "not_sorted", seen
        yield bool({step for step, written, _ in saved if not written} & set(got)), "unfinished", seen
        yield bool(set(good[-2:]) & set(got)), "good_one_gone", seen
        yield bool({step for step, _, finite in saved if not finite} - set(got)), "nan_stays", seen
        yield True, "other", seen
    yield whole_numbers(answer(list(RUNS[0][0]), 1)) != [100, 200, 300], "constant"


def show(answer: Any) -> Block:
    """Return what is deleted in three runs."""
    return table(("saved", YOURS), [(f"`{saved}`", value(answer(list(saved), 2))) for saved, _ in RUNS[2:5]])
