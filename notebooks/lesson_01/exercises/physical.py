"""Exercise ``physical(visible, i) -> int | None``: the physical number of ``cuda:i``, e.g. ``([3, 1, 2], 0)`` → 3."""

from typing import Any

from bilingual import Block
from course_utils.exercises import Mistake, Mistakes
from course_utils.tables import YOURS, table, value
from lesson_01.asked import RIGHT, asked

# In the first case every typical mistake gives another number: i itself 0, the sorted list 1, the reversed list 2.
CASES = (([3, 1, 2], 0, 3), ([2, 0], 1, 0), ([3], 0, 3))
TWO = [2, 0]


def _found(answer: Any, visible: list[int], i: int, error: type[Exception], key: str) -> Any:
    try:
        return answer([*visible], i)
    except error:
        raise Mistake(key, visible=visible, i=i) from None


def judge(answer: Any) -> Mistakes:
    """Ask for GPUs that a program sees, then for one that it does not see."""
    for visible, i, right in CASES:
        got = _found(answer, visible, i, ValueError, "other_direction")
        seen = {"visible": visible, "i": i, "right": right, "got": got}
        yield got != right and got == i, "i_itself", seen | {"variable": ",".join(map(str, visible))}
        yield got != right, "other", seen
    got = _found(answer, TWO, 2, IndexError, "beyond_raises")
    yield got is not None, "beyond", {"visible": TWO, "got": got}


def show(answer: Any) -> Block:
    """Return which physical GPUs the answer finds behind cuda:0, cuda:1 and cuda:2."""
    rows = [
        (f"`cuda:{i}`", value(asked(answer, [*TWO], i)), value(right)) for i, right in enumerate((*TWO, None))
    ]
    return table(("`CUDA_VISIBLE_DEVICES=2,0`", YOURS, RIGHT), rows)
