"""Exercise ``behind(last) -> list[int]``: which ranks to look at, by the last call of each."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import whole_numbers
from course_utils.tables import YOURS, table, value

TABLES: tuple[tuple[dict[int, tuple[int, str]], list[int]], ...] = (
    ({0: (10, "all_reduce"), 1: (10, "barrier"), 2: (10, "all_reduce")}, [1]),
    ({0: (10, "all_reduce"), 1: (9, "all_reduce"), 2: (10, "all_reduce")}, [1]),
    ({0: (7, "all_reduce"), 1: (7, "all_reduce")}, []),
    ({3: (5, "broadcast"), 2: (3, "broadcast"), 0: (5, "broadcast"), 1: (4, "barrier")}, [1, 2]),
    ({0: (8, "all_gather"), 1: (8, "all_reduce"), 2: (8, "all_reduce"), 3: (8, "broadcast")}, [0, 3]),
    ({0: (6, "all_reduce"), 1: (6, "all_reduce"), 2: (6, "barrier"), 3: (5, "all_reduce")}, [3]),
    ({0: (10, "all_reduce"), 1: (10, "barrier")}, [0, 1]),  # the lesson's own run
    ({2: (4, "barrier"), 0: (4, "all_reduce"), 1: (4, "all_reduce"), 3: (4, "barrier")}, [0, 1, 2, 3]),
)


def judge(answer: Any) -> Mistakes:
    """Compare the list for each table."""
    for last, right in TABLES:
        got = whole_numbers(answer(dict(last)))
        if got == right:
            continue
        seen, numbers = {"last": last, "got": got}, {number for number, _ in last.values()}
        yield sorted(got) == right, "not_sorted", seen
        ahead = sorted(rank for rank, (number, _) in last.items() if number == max(numbers))
        yield len(numbers) > 1 and sorted(got) == ahead, "ahead", seen
        yield len(numbers) > 1, "numbers_first", seen
        yield not right, "nobody", seen
        yield len(right) == len(last), "tie", seen
        yield True, "operations", seen


def show(answer: Any) -> Block:
    """Return the answer for three tables."""
    rows = [(f"`{last}`", value(answer(dict(last)))) for last, _ in (TABLES[0], TABLES[1], TABLES[6])]
    return table((Bilingual("last call of each rank", "每個 rank 最後的呼叫"), YOURS), rows)
