"""Exercise ``best_epoch(lines) -> int``: when a run was at its best, read from the lines of its log."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistake, Mistakes
from course_utils.returned import number

CASES = (
    ([0.9, 0.5, 0.3, 0.4, 0.6], [0.9, 0.6, 0.4, 0.3, 0.2]),  # it learns by heart from epoch 3 on
    ([0.4, 0.7], [0.5, 0.1]),
    ([0.8, 0.6, 0.6], [0.9, 0.6, 0.5]),
    ([0.7], [0.3]),
)


def log(errors: list[float], losses: list[float]) -> list[dict]:
    """Return the lines of a log: three steps in each epoch, the last one with the validation error."""
    lines = []
    for epoch, (error, loss) in enumerate(zip(errors, losses, strict=True)):
        for place in (1, 2, 3):
            line = {"step": 3 * epoch + place, "epoch": epoch, "loss": loss + 0.01 * (3 - place)}
            lines.append(line | ({"val_mse": error} if place == 3 else {}))
    return lines


def judge(answer: Any) -> Mistakes:
    """Compare the epoch with other numbers of the log."""
    for errors, losses in CASES:
        try:
            got = number(answer(log(errors, losses)))
        except KeyError as error:
            raise Mistake("no_such_key", key=str(error)[1:-1]) from None
        best = min(errors)
        right = errors.index(best)
        if got == right:
            continue
        yield got == best, "error_itself"
        yield got == 3 * right + 2, "place"
        yield got == right + 1 and errors.count(best) > 1, "later"
        yield got == len(errors) - 1, "last"
        yield got == errors.index(max(errors)), "largest"
        yield True, "other", {"errors": errors, "got": got}


def show(answer: Any) -> Block:
    """Return a table of what the answer says about the first log."""
    errors, losses = CASES[0]
    rows = {
        Bilingual(f"epoch {epoch}", f"訓練週期 {epoch}"): f"loss {loss}, val_mse {error}"
        for epoch, (error, loss) in enumerate(zip(errors, losses, strict=True))
    }
    return facts(fixed=rows | {"best_epoch(lines)": answer(log(errors, losses))})
