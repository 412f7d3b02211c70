"""Exercise ``better_at(model, other) -> horizons``: where a model is better than another one."""

from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes

CASES = (
    ([0.15, 0.18, 0.20, 0.25], [0.13, 0.36, 0.64, 0.91]),
    ([0.3, 0.2, 0.5, 0.4], [0.3, 0.3, 0.4, 0.6]),
    ([0.5, 0.6], [0.4, 0.5]),
)


def judge(answer: Any) -> Mistakes:
    """Compare the horizons with places, errors, and horizons of other rules."""
    for model, other in CASES:
        got = answer([*model], [*other])
        yield got is None, "returned_none"
        yield not isinstance(got, (list, tuple, set, range)), "no_list", {"kind": type(got).__name__}
        found, pairs = [*got], [*enumerate(zip(model, other, strict=True), 1)]
        better = [horizon for horizon, (mine, its) in pairs if mine < its]
        if found == better:
            continue
        yield found == [horizon - 1 for horizon in better], "place"
        yield found == [horizon for horizon, (mine, its) in pairs if mine > its], "worse"
        yield found == [horizon for horizon, (mine, its) in pairs if mine <= its], "equal"
        yield found == [model[horizon - 1] for horizon in better], "errors"
        yield True, "other", {"model": model, "other": other, "got": str(found)[:80]}


def show(answer: Any) -> Block:
    """Return a table of what the answer says."""
    rows = {f"better_at({model}, {other})": answer([*model], [*other]) for model, other in CASES[:2]}
    return facts(fixed=rows)


_HEAD = "def better_at(model, other):\n    "
_EACH = "in enumerate(zip(model, other), 1) if"
WRONG = {
    "returned_none": f"{_HEAD}print([2, 3, 4])",
    "no_list": f"{_HEAD}return sum(m < o for m, o in zip(model, other))",
    "place": f"{_HEAD}return [h for h, (m, o) in enumerate(zip(model, other)) if m < o]",
    "worse": f"{_HEAD}return [h for h, (m, o) {_EACH} m > o]",
    "equal": f"{_HEAD}return [h for h, (m, o) {_EACH} m <= o]",
    "errors": f"{_HEAD}return [m for m, o in zip(model, other) if m < o]",
    "other": f"{_HEAD}return [m < o for m, o in zip(model, other)]",
}
