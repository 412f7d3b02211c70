"""Exercise ``per_horizon(forecast, truth) -> tensor``: the mean squared error for each step ahead."""

from typing import Any

import torch
from torch import Tensor

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.returned import tensor


def made(windows: int = 50, ahead: int = 24, columns: int = 3) -> tuple[Tensor, Tensor]:
    """Return a last-value forecast of random walks, and the truth."""
    steps = torch.randn(windows, ahead, columns, generator=torch.Generator().manual_seed(8))
    return torch.zeros(windows, ahead, columns), steps.cumsum(1)


def judge(answer: Any) -> Mistakes:
    """Compare with typical errors of the same forecast; a list of floats is as good as a tensor."""
    for windows, ahead, columns in ((50, 24, 3), (7, 5, 11)):
        got, (forecast, truth) = answer(*made(windows, ahead, columns)), made(windows, ahead, columns)
        if isinstance(got, list | tuple) and len(got) == ahead and all(isinstance(x, float) for x in got):
            got = torch.tensor(got)
        got = tensor(got).float()
        yield got.dim() == 0, "one_number"
        yield got.shape != (ahead,), "shape", {"got": tuple(got.shape)}

        def near(right: Tensor, got: Tensor = got) -> bool:
            return torch.allclose(got, right, rtol=1e-3)

        difference = forecast - truth
        right, mean = difference.square().mean((0, 2)), difference.mean((0, 2))
        if near(right):
            continue
        yield near(difference.abs().mean((0, 2))), "absolute"
        yield near(right.sqrt()), "root"
        yield near(mean.square()) or near(mean), "cancel"
        yield True, "other"


def show(answer: Any) -> Block:
    """Return the errors of the last value for random walks."""
    found = answer(*made(400))
    return facts(rows={f"per_horizon(...)[{at}]": f"{float(found[at]):.2f}" for at in (0, 5, 11, 23)})
