"""Exercise ``weight(mine, everyone) -> float``."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import number
from course_utils.tables import YOURS, table

PARTS = ([48, 16], [32, 32], [10, 20, 30], [1, 63], [5])


def judge(answer: Any) -> Mistakes:
    """Compare the factor of each rank."""
    for everyone in PARTS:
        for mine in everyone:
            got = answer(mine, list(everyone))
            if isinstance(got, torch.Tensor) and got.numel() == 1:
                got = got.item()
            got, right = number(got), mine * len(everyone) / sum(everyone)
            if not abs(got - right) <= 1e-9:  # also where it is not a number
                seen = {"mine": mine, "everyone": everyone, "got": got}
                yield abs(got - mine / sum(everyone)) < 1e-9, "share", seen
                yield abs(got * right - 1) < 1e-9, "upside_down", seen
                yield True, "other", seen


def show(answer: Any) -> Block:
    """Return the factors for 48 and 16 examples, and what an example of each rank then counts in the gradient."""
    head = ("rank", Bilingual("examples", "筆數"), YOURS, Bilingual("weight of one example", "每一筆的分量"))
    found = [(rank, mine, float(answer(mine, [48, 16]))) for rank, mine in enumerate((48, 16))]
    return table(
        head, [(str(rank), str(n), f"{factor:.4f}", f"{factor / n / 2:.6f}") for rank, n, factor in found]
    )


_HEAD = "def weight(mine, everyone):\n    "
WRONG = {
    "share": f"{_HEAD}return mine / sum(everyone)",
    "upside_down": f"{_HEAD}return sum(everyone) / mine / len(everyone)",
    "other": (f"{_HEAD}return 1", f"{_HEAD}return mine", f"{_HEAD}return float('nan')"),
    "no_number": f"{_HEAD}return str(mine)",
    "returned_none": f"{_HEAD}mine * len(everyone) / sum(everyone)",
}
