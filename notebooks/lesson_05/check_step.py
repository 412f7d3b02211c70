"""Check the exercise ``step``: after it, every copy of a model holds the gradient of the whole batch."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Wrong

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


def examine_step(answer: Any) -> None:
    """Examine ``share_gradients(copies, xs, ys, all_reduce)``, which leaves the gradient in each copy."""
    for sizes in _SIZES:
        copies, xs, ys = _parts(sizes)
        before = _flat(copies[0].parameters())
        means = torch.stack([_gradient(copies[0], x, y) for x, y in zip(xs, ys, strict=True)])
        answer(list(copies), list(xs), list(ys), _sum_to_all)
        if any(not torch.equal(_flat(own.parameters()), before) for own in copies):
            raise Wrong(
                en="You changed the weights. That is the optimizer's task; here only the gradients are wanted.",
                zh="你改到了權重。更新權重是最佳化器的工作，這裡只要算出梯度。",
            )
        if any(p.grad is None for own in copies for p in own.parameters()):
            raise Wrong(
                en="A copy has no gradient afterwards: each one needs a loss of its own, and its `backward()`.",
                zh="做完之後，有個複本沒有梯度：每個複本都要算自己的損失，再呼叫 `backward()`。",
            )
        got = torch.stack([_flat(p.grad for p in own.parameters()) for own in copies])
        _check(got, means, torch.tensor(sizes, dtype=torch.float64))


def _check(got: torch.Tensor, means: torch.Tensor, sizes: torch.Tensor) -> None:
    """Check the gradients of all copies.

    Args:
        got: What each copy holds, a row each.
        means: The gradient of each piece's mean loss.
        sizes: The number of examples of each piece.
    """
    weighted = means * (sizes / sizes.sum())[:, None]
    right = weighted.sum(0)
    if torch.allclose(got, right.expand_as(got)):
        return
    case = "+".join(f"{size:g}" for size in sizes.tolist())
    stale = torch.ones_like(got)
    if torch.equal(got, stale):
        raise Wrong(
            en="The gradients are as before. Nothing has been computed: call `backward()` on a loss of each copy.",
            zh="梯度都沒有變，表示沒有做任何計算。請對每個複本的損失呼叫 `backward()`。",
        )
    if any(torch.allclose(got - rest, right.expand_as(got)) for rest in (stale, len(sizes) * stale)):
        raise Wrong(
            en="What the last step left in `.grad` is added in: `backward()` adds. Clear it first.",
            zh="上一步留在 `.grad` 裡的值也加進來了，因為 `backward()` 是累加。請先清掉。",
        )
    if any(torch.allclose(got, alone) for alone in (means, weighted)):
        raise Wrong(
            en=f"For {case} every copy holds the gradient of its own piece only. `all_reduce` takes the list of one parameter's gradients, one from each copy.",
            zh=f"{case} 的情況，每個複本裡都只有自己那一份的梯度。傳給 `all_reduce` 的 list，要放同一個參數在每個複本裡的梯度。",
        )
    if torch.allclose(got, means.sum(0).expand_as(got)):
        raise Wrong(
            en=f"For {case} you add up the gradients of **mean** losses. Weight each loss by its share of the batch before `backward()`.",
            zh=f"{case} 的情況，你把**平均**損失的梯度直接相加。呼叫 `backward()` 之前，請先把損失乘以那一份占批次的比例。",
        )
    if torch.allclose(got, means.mean(0).expand_as(got)):
        raise Wrong(
            en=f"For {case} every copy counts the same. But it is every **example** that should: weight each loss by the size of its piece.",
            zh=f"{case} 的情況，每個複本的分量都一樣。但分量該一樣的是**每一筆資料**：請按照每一份的大小，替損失加權。",
        )
    if torch.allclose(got, (right * sizes.sum()).expand_as(got)):
        raise Wrong(
            en="That is the gradient of the sum over all examples. Divide by the whole batch, too.",
            zh="這是全部資料的損失「總和」的梯度，還要除以整個批次的筆數。",
        )
    raise Wrong(
        en=f"For {case} not every copy holds the gradient of the mean loss over the whole batch. What is each loss multiplied by, and is every parameter reduced once?",
        zh=f"{case} 的情況，不是每個複本都有整個批次平均損失的梯度。各個損失乘以多少？每個參數都剛好做了一次 all-reduce 嗎？",
    )


def show_step(answer: Any) -> Block:
    """Return the gradient of the bias in each copy after the answer, and on one device."""
    copies, xs, ys = _parts(_SIZES[0])
    whole = _gradient(copies[0], torch.cat(xs), torch.cat(ys))[-2:]
    answer(list(copies), list(xs), list(ys), _sum_to_all)
    rows = {f"copies[{k}].bias.grad": own.bias.grad for k, own in enumerate(copies)}
    return facts(
        fixed={
            name: [round(v, 4) for v in value.tolist()] for name, value in (rows | {"1 × 10": whole}).items()
        }
    )
