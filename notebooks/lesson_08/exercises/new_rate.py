"""Exercise ``new_rate(rate, batch, new_batch) -> float``: Adam's learning rate by the square root rule."""

from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.returned import close, number


def judge(answer: Any) -> Mistakes:
    """Compare with the rule, with that of SGD, and with the inverse."""
    for rate, batch, new in ((1e-3, 8, 32), (1e-3, 8, 128), (4e-3, 128, 32), (3e-4, 16, 16)):
        got, right = number(answer(rate, batch, new)), rate * (new / batch) ** 0.5
        if close(got / right, 1):
            continue
        seen = {"rate": rate, "batch": batch, "new": new, "ratio": new / batch, "right": right, "got": got}
        yield close(got / (rate * new / batch), 1), "linear", seen
        yield close(got * right / rate**2, 1), "inverse", seen
        yield True, "other", seen


def show(answer: Any) -> Block:
    """Return the learner's rates for batches of several sizes."""
    return facts(
        fixed={f"new_rate(0.001, 8, {new})": f"{answer(1e-3, 8, new):.3g}" for new in (8, 32, 128, 512)}
    )
