"""Exercise ``{"float16: 4096 + 1": …, …}``: format and number → the number that is stored."""

import math
from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import filled_in
from course_utils.tables import YOURS, table, value
from lesson_03.float_formats import FORMATS

LINES = {  # what is stored, and the mistake of storing anything else
    "float16: 4096 + 1": (4096.0, "tie"),
    "float16: 4096 + 3": (4100.0, "nearer"),
    "bfloat16: 1001": (1000.0, "bfloat16_spacing"),
    "float16: 70000": (math.inf, "beyond_the_end"),
    "bfloat16: 70000": (70144.0, "bfloat16_far"),
    "float32: 16777216 + 1": (16777216.0, "float32_spacing"),
}


def judge(answer: Any) -> Mistakes:
    """Compare line by line; a tensor with one number and the text ``"inf"`` count as numbers."""
    for line, got in filled_in(answer, LINES).items():
        right, mistake = LINES[line]
        if isinstance(got, torch.Tensor) and got.numel() == 1:
            got = got.item()
        if isinstance(got, str) and got.strip().lower().lstrip("+") in ("inf", "infinity", "∞"):
            got = math.inf
        yield isinstance(got, bool) or not isinstance(got, (int, float)), "no_number", {"line": line}
        yield got != right, mistake


def show(answer: Any) -> Block:
    """Return for each line between which two numbers of the format the true one lies, and what was filled in."""
    rows = []
    for line in LINES:
        name, what = line.split(": ")
        kind, true = FORMATS[name], float(sum(map(int, what.split("+"))))
        place = kind.pattern(true)
        if kind.number(place) > true:
            place -= 1
        low, high = kind.number(place), kind.number(place + 1)
        if not math.isfinite(low):
            low, high = kind.largest, math.inf
        given = answer.get(line, ...)
        rows.append((f"`{line}`", f"{low:,.0f} … {high:,.0f}", "…" if given is ... else value(given)))
    between = Bilingual("lies between, or on", "介於這兩個數之間（或等於其中一個）")
    return table((Bilingual("number", "數字"), between, YOURS), rows)
