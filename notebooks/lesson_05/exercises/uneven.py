"""Exercise ``combine(gradients, sizes) -> Tensor``: the gradient of the mean loss over pieces of different sizes."""

from typing import Any

import torch

from bilingual import Block, texts
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.returned import tensor


def judge(answer: Any) -> Mistakes:
    """Compare with the mean weighted by size, and look for other weights."""
    for sizes in ((4, 4, 2), (10, 10, 10), (5,), (1, 7)):
        make = torch.Generator().manual_seed(len(sizes))
        gradients = [torch.rand(2, 5, generator=make, dtype=torch.float64) + k for k in range(len(sizes))]
        whole = torch.stack(gradients)
        got = tensor(answer(gradients, list(sizes)))
        yield got.shape != (2, 5), "shape", {"shape": tuple(got.shape)}
        yield any(not torch.equal(a, b) for a, b in zip(gradients, whole, strict=True)), "changed"
        got, case = got.double(), {"case": "+".join(map(str, sizes))}
        weighted = (whole * torch.tensor(sizes, dtype=torch.float64).view(-1, 1, 1)).sum(0)
        if torch.allclose(got, weighted / sum(sizes)):
            continue
        yield torch.allclose(got, whole.mean(0)), "plain_mean", case
        yield torch.allclose(got, weighted), "not_divided"
        yield torch.allclose(got, whole.sum(0)), "plain_sum"
        yield True, "other", case


def show(answer: Any) -> Block:
    """Return how much an example on each of three devices counts in the answer."""
    sizes = [4, 4, 2]
    counted = answer(list(torch.eye(3, dtype=torch.float64)), sizes)
    row, rows = texts(__file__), {}
    for device, (size, weight) in enumerate(zip(sizes, counted.tolist(), strict=True)):
        label = row["label"].format(device=device, size=size)
        rows[label] = row["weights"].format(whole=f"{weight:.3g}", each=f"{weight / size:.3g}")
    return facts(fixed=rows)
