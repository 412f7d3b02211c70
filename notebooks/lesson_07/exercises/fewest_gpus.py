"""Exercise ``fewest_gpus(parameters, memory, activations) -> int | None``: how many GPUs a model needs with FSDP."""

from math import ceil
from typing import Any

from bilingual import Bilingual, Block
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.tables import table

BYTES = 16  # of a parameter: weight, gradient, two averages of Adam, float32
GB = BILLION = 10**9
CASES = (
    (13 * BILLION, 80 * GB, 50 * GB),
    (7 * BILLION, 80 * GB, 24 * GB),
    (7 * BILLION, 80 * GB, 0),
    (BILLION, 80 * GB, 10 * GB),
    (3 * BILLION, 24 * GB, 12 * GB),
    (BILLION, 24 * GB, 24 * GB),
    (BILLION, 24 * GB, 30 * GB),
)


def judge(answer: Any) -> Mistakes:
    """Look for typical wrong formulas where the number is another one than the least that is enough."""
    for parameters, memory, activations in CASES:
        total, room = BYTES * parameters, memory - activations
        seen = {
            "billions": parameters // BILLION,
            "yi": parameters // 10**8,
            "memory": memory // GB,
            "activations": activations // GB,
        }
        try:
            got = seen["got"] = answer(parameters, memory, activations)
        except ZeroDivisionError:  # who divides by the room forgets that there may be none
            yield room == 0, "no_room", seen
            raise
        if not isinstance(got, bool) and got == (ceil(total / room) if room > 0 else None):
            continue
        yield room <= 0, "no_room", seen
        yield isinstance(got, bool) or not isinstance(got, (int, float)), "no_gpus", seen
        yield got in (ceil(4 * parameters / room), ceil(4 * parameters / memory)), "weights_only", seen
        yield got == ceil(total / memory), "no_activations", seen
        yield got == ceil((total + activations) / memory), "activations_divided", seen
        yield got == total // room, "rounded_down", seen
        yield got == total // room + 1, "one_more", seen | {"less": got - 1}
        yield True, "other", seen | {"total": figures.amount(total)}


def show(answer: Any) -> Block:
    """Return what models of several sizes need, by the answer."""
    head = Bilingual("80 GB each, 20 GB of them for activations", "每張 80 GB，其中 20 GB 留給活化值")
    rows = [
        (
            Bilingual(f"{n} billion parameters", f"{10 * n} 億個參數"),
            str(answer(n * BILLION, 80 * GB, 20 * GB)),
        )
        for n in (1, 7, 13, 70)
    ]
    return table(("", head), rows)
