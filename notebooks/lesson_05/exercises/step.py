"""Exercise ``share_gradients(copies, xs, ys, all_reduce)``: every copy of a model holds the gradient of the whole batch."""

import copy
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistakes

_SIZES = ((4, 4, 2), (1, 6), (5,))
Pieces = list[torch.Tensor]


def _parts(sizes: tuple[int, ...]) -> tuple[list[nn.Module], Pieces, Pieces]:
    """Return equal copies of a model, whose gradients are still those of a step before (ones), and a piece for each."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(sizes))
        model = nn.Linear(3, 2).double()
        x, y = torch.rand(sum(sizes), 3, dtype=torch.float64), torch.randint(2, (sum(sizes),))
    copies: list[nn.Module] = [copy.deepcopy(model) for _ in sizes]
    for own in copies:
        for p in own.parameters():
            p.grad = torch.ones_like(p)
    return copies, list(x.split(list(sizes))), list(y.split(list(sizes)))


def _sum_to_all(tensors: list[torch.Tensor]) -> None:
    total = torch.stack(list(tensors)).sum(0)
    for tensor in tensors:
        tensor.copy_(total)


def _flat(tensors: Any) -> torch.Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def _gradient(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the mean loss of `x`, and leave the model as it is."""
    loss = nn.functional.cross_entropy(model(x), y)
    return _flat(torch.autograd.grad(loss, list(model.parameters())))


def judge(answer: Any) -> Mistakes:
    """Compare what each copy holds with the gradient of the whole batch, and look for other sums."""
    for sizes in _SIZES:
        copies, xs, ys = _parts(sizes)
        before = _flat(copies[0].parameters())
        means = torch.stack(
            [_gradient(copies[0], x, y) for x, y in zip(xs, ys, strict=True)]
        )  # of each piece
        answer(list(copies), list(xs), list(ys), _sum_to_all)
        yield any(not torch.equal(_flat(own.parameters()), before) for own in copies), "weights"
        yield any(p.grad is None for own in copies for p in own.parameters()), "no_gradient"
        got = torch.stack([_flat(p.grad for p in own.parameters()) for own in copies])
        stale, case = torch.ones_like(got), {"case": "+".join(map(str, sizes))}
        weighted = means * torch.tensor(sizes, dtype=torch.float64)[:, None] / sum(sizes)
        right = weighted.sum(0).expand_as(got)
        if torch.allclose(got, right):
            continue
        yield torch.equal(got, stale), "unchanged"
        yield any(torch.allclose(got - rest, right) for rest in (stale, len(sizes) * stale)), "added"
        yield any(torch.allclose(got, alone) for alone in (means, weighted)), "not_reduced", case
        yield torch.allclose(got, means.sum(0).expand_as(got)), "plain_sum", case
        yield torch.allclose(got, means.mean(0).expand_as(got)), "plain_mean", case
        yield torch.allclose(got, right * sum(sizes)), "not_divided"
        yield True, "other", case


_ONE = Bilingual("one device, all 10", "一個裝置，全部 10 筆")


def show(answer: Any) -> Block:
    """Return the gradient of the bias in each copy after the answer, and on one device."""
    copies, xs, ys = _parts(_SIZES[0])
    whole = _gradient(copies[0], torch.cat(xs), torch.cat(ys))[-2:]
    answer(list(copies), list(xs), list(ys), _sum_to_all)
    rows = {f"copies[{k}].bias.grad": own.bias.grad for k, own in enumerate(copies)} | {_ONE: whole}
    return facts(fixed={name: [round(v, 4) for v in value.tolist()] for name, value in rows.items()})
