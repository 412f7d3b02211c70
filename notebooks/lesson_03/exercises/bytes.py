"""Exercise ``bytes_in(x, dtype)``: the bytes that the numbers of `x` take up as `dtype`."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.tables import YOURS, table, value

TENSORS = (
    ((3, 5), torch.float32, torch.float16),
    ((1437, 8, 8), torch.float32, torch.bfloat16),
    ((4,), torch.float16, torch.float64),
)


def judge(answer: Any) -> Mistakes:
    """Compare with the number of numbers times the bytes of each."""
    for shape, now, dtype in TENSORS:
        x = torch.ones(shape, dtype=now)
        got, right = answer(x, dtype), x.numel() * dtype.itemsize
        yield got is None, "returned_none"
        if got == right:
            continue
        yield got == x.nbytes, "as_it_is"
        yield got == dtype.itemsize, "one_number"
        yield got == len(x) * dtype.itemsize, "rows"
        yield got == 8 * right, "bits"
        yield True, "other", {"shape": shape, "dtype": dtype, "got": value(got)}


def show(answer: Any) -> Block:
    """Return what the answer says about three tensors, beside what PyTorch says after the conversion."""
    rows = []
    for shape, now, dtype in TENSORS:
        x = torch.ones(shape, dtype=now)
        cells = (value(answer(x, dtype)), value(x.to(dtype).nbytes))
        rows.append((f"`{shape}`", f"`{now}`", f"`{dtype}`", *cells))
    words = (Bilingual("shape", "形狀"), Bilingual("now", "現在"), Bilingual("then", "換成"))
    return table((*words, YOURS, "`.to(dtype).nbytes`"), rows)
