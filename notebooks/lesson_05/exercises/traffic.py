"""Exercise ``bytes_per_step(parameters, devices) -> int``: the weights and gradients that DataParallel moves in a step."""

import math
from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.returned import number

_CASES = ((61_706, 6), (25_557_032, 8), (1000, 2), (11_689_512, 1))
FLOAT32 = 4


def judge(answer: Any) -> Mistakes:
    """Compare with the right number of bytes, and look for typical wrong formulas."""
    for parameters, devices in _CASES:
        got, once = number(answer(parameters, devices)), FLOAT32 * parameters
        right = 2 * (devices - 1) * once
        if math.isclose(got, right, rel_tol=1e-9):
            continue
        given = f"{got:,.0f}" if abs(got) < 1e15 else f"{got:g}"
        case = {"parameters": parameters, "devices": devices, "got": given}
        yield devices == 1, "one_device", case
        for wrong, mistake in (
            (right / FLOAT32, "numbers"),
            (right / 2, "one_way"),
            (2 * devices * once, "first_device"),
            (right / devices, "ring"),
            (2 * once, "one_link"),
        ):
            yield math.isclose(got, wrong, rel_tol=1e-9), mistake, case
        yield True, "other", case


def show(answer: Any) -> Block:
    """Return the answer's bytes for the lesson's two networks."""
    names = {"LeNet": 61_706, "ResNet-50": 25_557_032}
    return facts(
        fixed={f"{name}, n = {n}": f"{answer(p, n):,}" for name, p in names.items() for n in (2, 4, 8)}
    )
