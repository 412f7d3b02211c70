"""Exercise ``scale(values, train) -> tensor``: with what is known at the end of the training part."""

from typing import Any

import torch
from torch import Tensor

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes


def made(rows: int = 300) -> Tensor:
    """Return three columns of different size that drift."""
    noise = torch.randn(rows, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    way = torch.linspace(0, 4, rows, dtype=torch.float64)[:, None]
    sizes, means = torch.tensor([1.0, 30.0, 0.2], dtype=torch.float64), torch.tensor([5.0, -200.0, 0.0])
    return (noise + way) * sizes + means


def judge(answer: Any) -> Mistakes:
    """Compare with typical ways to scale; n or n − 1 in the deviation is all the same."""
    for rows, train in ((300, 210), (400, 100)):
        values = made(rows)
        given, seen = values.clone(), values[:train]
        got = answer(given, train)
        yield not torch.equal(given, values), "changes_values"
        yield got is None, "returned_none"
        shape = got.shape if isinstance(got, Tensor) else None
        yield shape == seen.shape, "training_only"
        yield shape != values.shape, "other_shape"

        def near(right: Tensor, got: Tensor = got) -> bool:
            return torch.allclose(got.double(), right, rtol=0.01, atol=0.01)

        if near((values - seen.mean(0)) / seen.std(0)):
            continue
        yield near((values - values.mean(0)) / values.std(0)), "all_rows"
        yield near((values - seen.mean()) / seen.std()), "one_mean"
        yield near(values - seen.mean(0)), "not_divided"
        yield near((values - seen.mean(0)) / seen.var(0)), "variance"
        yield True, "other"


def show(answer: Any) -> Block:
    """Return mean and deviation of the rows before and after the end of the training part."""
    got, rows = answer(made(), 210), {}
    for name, part in (("[:210]", got[:210]), ("[210:]", got[210:])):
        rows[f"scaled{name}.mean(0)"] = ", ".join(f"{value:.2f}" for value in part.mean(0).tolist())
        if len(part) >= 2:  # of one row there is no deviation
            rows[f"scaled{name}.std(0)"] = ", ".join(f"{value:.2f}" for value in part.std(0).tolist())
    return facts(rows=rows)
