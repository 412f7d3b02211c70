"""Check the exercise ``losses``: one loss from the sums that the copies return."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Wrong

_SIZES = ((4, 4, 2), (5, 5), (1, 1, 1, 1), (7,))


def _losses(sizes: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the losses of all examples, and their sums per device as a gathered vector; both know their history."""
    make = torch.Generator().manual_seed(len(sizes))
    every = torch.rand(sum(sizes), generator=make, dtype=torch.float64).add(0.5).requires_grad_()
    return every, torch.stack([piece.sum() for piece in every.split(list(sizes))])


def examine_losses(answer: Any) -> None:
    """Examine ``batch_loss(sums, batch) -> Tensor``, the mean loss of the batch."""
    for sizes in _SIZES:
        every, sums = _losses(sizes)
        _check(answer(sums, sum(sizes)), every, sums, sizes)


def _check(got: Any, every: torch.Tensor, sums: torch.Tensor, sizes: tuple[int, ...]) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, torch.Tensor):
        raise Wrong(
            en=f"A `{type(got).__name__}` has no history: `backward()` needs a tensor. Do without `.item()` and `float()`.",
            zh=f"`{type(got).__name__}` 不帶計算圖，而 `backward()` 需要的是帶著計算圖的張量。請不要用 `.item()` 或 `float()`。",
        )
    if got.dim():
        raise Wrong(
            en=f"That is a tensor of shape {tuple(got.shape)}; `backward()` wants a single number.",
            zh=f"這個張量的形狀是 {tuple(got.shape)}，但 `backward()` 要的是單一數值。",
        )
    if not got.requires_grad:
        raise Wrong(
            en="The number may be right, but it has lost its history, and `backward()` would fail. Do without `detach()`, `.data` and `torch.tensor(…)`.",
            zh="數字也許沒錯，但計算圖不見了，`backward()` 會失敗。請不要用 `detach()`、`.data` 或 `torch.tensor(…)`。",
        )
    right, case = every.mean(), "+".join(map(str, sizes))
    if torch.allclose(got, right):
        return
    if torch.allclose(got, sums.mean()):
        raise Wrong(
            en=f"For {case} you divide by the number of devices. The entries are sums: divide by the examples.",
            zh=f"{case} 的情況，你除以的是裝置數。每個元素都是總和，要除以的是筆數。",
        )
    if torch.allclose(got, sums.sum()):
        raise Wrong(
            en="That is the sum over the batch; with a larger batch the gradient would grow. What turns it into the mean?",
            zh="這是整個批次的總和，批次越大，梯度就越大。怎麼變成平均？",
        )
    raise Wrong(
        en=f"For {case} the result is not the mean loss of the batch. Add up what the devices return; how many examples is that?",
        zh=f"{case} 的情況，結果不是整個批次的平均損失。先把各裝置傳回的值相加，那是幾筆的總和？",
    )


def show_losses(answer: Any) -> Block:
    """Return the answer's loss beside the sums that it was given."""
    found = {}
    for sizes in _SIZES[:2]:
        every, sums = _losses(sizes)
        found[f"batch_loss({[round(s, 2) for s in sums.tolist()]}, {sum(sizes)})"] = (
            f"{torch.as_tensor(answer(sums, sum(sizes))).item():.4f} ({every.mean().item():.4f})"
        )
    return facts(fixed=found)
