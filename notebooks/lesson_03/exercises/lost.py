"""Exercise ``lost(x, dtype)``: how many nonzero numbers of `x` become zero as `dtype`."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.tables import YOURS, table, value

# 1e-5 is below the smallest normal number of float16, and is kept with fewer digits all the same.
_NUMBERS = torch.tensor([0.0, 0.0, 1.0, -1e-3, 1e-5, 1e-8, -1e-8, 1e-9, -1e-41])


def judge(answer: Any) -> Mistakes:
    """Compare with the counts in two data types."""
    for dtype, right in ((torch.float16, 4), (torch.bfloat16, 1)):
        got = answer(_NUMBERS.clone(), dtype)
        yield got is None, "returned_none"
        yield isinstance(got, torch.Tensor) and got.numel() > 1, "one_each"
        if got == right:
            continue
        yield got == right + 2, "zero_before"
        yield got in (5, 7), "digits"
        yield isinstance(got, float) and 0 < got < 1, "share"
        yield True, "other", {"dtype": dtype, "right": right, "got": value(got)}


def show(answer: Any) -> Block:
    """Return what becomes of each number in two data types, and how many the answer counted."""
    kinds = (torch.float16, torch.bfloat16)
    rows: list[tuple[Any, ...]] = [
        (f"{x.item():.3g}", *(f"{x.to(kind).item():.3g}" for kind in kinds)) for x in _NUMBERS
    ]
    rows.append((YOURS, *(value(answer(_NUMBERS.clone(), kind)) for kind in kinds)))
    return table((Bilingual("number", "數字"), "float16", "bfloat16"), rows)
