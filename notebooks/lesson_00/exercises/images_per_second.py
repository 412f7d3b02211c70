"""Exercise ``images_per_second(images, epochs, seconds) -> float``."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import close, number
from course_utils.tables import YOURS, table
from course_utils.units import number as written

EXAMPLE = (1000, 3, 2.0)
OTHERS = ((1437, 1, 12.0), (1437, 10, 1.2), (60_000, 5, 7.0))


def right(images: int, epochs: int, seconds: float) -> float:
    """Return images per second."""
    return images * epochs / seconds


def judge(answer: Any) -> Mistakes:
    """Look for typical wrong formulas in an example, then compare with the right one."""
    images, epochs, seconds = EXAMPLE
    got = number(answer(*EXAMPLE))
    yield close(got, seconds / (images * epochs)), "inverse"
    yield close(got, images / seconds), "one_epoch"
    yield close(got, images / epochs / seconds), "divided_by_epochs"
    yield close(got, images * epochs * seconds), "times_seconds"
    for images, epochs, seconds in (EXAMPLE, *OTHERS):
        got, expected = number(answer(images, epochs, seconds)), right(images, epochs, seconds)
        seen = {
            "images": images,
            "epochs": epochs,
            "seconds": seconds,
            "right": written(expected),
            "got": got,
        }
        yield not close(got, expected) and got == expected // 1, "rounded", seen
        yield not close(got, expected), "other", seen


def show(answer: Any) -> Block:
    """Return what the learner's function says about three trainings."""
    head = (Bilingual("images", "影像張數"), Bilingual("epochs", "訓練週期數"), Bilingual("seconds", "秒數"),
            YOURS, Bilingual("right: images per second", "正解：每秒張數"))  # fmt: skip
    rows = [
        (f"{i:,}", str(e), f"{s:g}", written(answer(i, e, s)), written(right(i, e, s))) for i, e, s in OTHERS
    ]
    return table(head, rows)
