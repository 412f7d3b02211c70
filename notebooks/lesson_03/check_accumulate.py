"""The exercise "accumulate" of lesson 03: the gradient of a large batch, computed in pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import Wrong
from course_utils.tables import YOURS, table, value

_loss_fn = nn.functional.mse_loss


@dataclass(frozen=True)
class _Problem:
    """A batch that is split into pieces.

    Attributes:
        model: A small model with fixed weights and no gradients.
        pieces: (inputs, targets) of each piece.
        sizes: Examples in each piece.
        wanted: The flattened gradient of the whole batch.
    """

    model: nn.Module
    pieces: list[tuple[torch.Tensor, torch.Tensor]]
    sizes: tuple[int, ...]
    wanted: torch.Tensor


def _problem(sizes: tuple[int, ...]) -> _Problem:
    """Return a problem with pieces of these `sizes`."""
    generator = torch.Generator().manual_seed(7)
    model = nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    x, y = torch.randn(sum(sizes), 3, generator=generator), torch.randn(sum(sizes), 2, generator=generator)
    _loss_fn(model(x), y).backward()
    wanted = _gradient(model)
    assert wanted is not None
    model.zero_grad()
    pieces = list(zip(x.split(list(sizes)), y.split(list(sizes)), strict=True))
    return _Problem(model, pieces, sizes, wanted)


def _gradient(model: nn.Module) -> torch.Tensor | None:
    """Return all gradients as one vector, or None if a parameter has none."""
    found = [p.grad for p in model.parameters()]
    return None if any(g is None for g in found) else torch.cat([g.flatten() for g in found])  # type: ignore[union-attr]


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two gradients differ only by rounding."""
    return bool(torch.allclose(a, b, rtol=1e-4, atol=1e-6))


def examine_accumulate(answer: Callable[..., Any]) -> None:
    """Examine ``accumulate(model, loss_fn, pieces)``, which leaves the gradient of the whole batch in the model.

    Raises:
        Wrong: With a hint about the mistake.
    """
    # Four pieces of five, so that dividing by the wrong one of these two numbers is noticed; then unequal pieces.
    for sizes in ((5, 5, 5, 5), (6, 6, 2)):
        _check_batch(answer, _problem(sizes))
    _check_second_call(answer, _problem((5, 5, 5, 5)))


def _check_batch(answer: Callable[..., Any], problem: _Problem) -> None:
    """Check the gradient of one batch, that the weights are unchanged, and that pieces run one after the other."""
    model, pieces = problem.model, problem.pieces
    before = [p.detach().clone() for p in model.parameters()]
    order: list[str] = []  # "f" for each forward pass, "b" for each backward pass
    model.register_forward_hook(lambda *_: order.append("f"))
    next(model.parameters()).register_hook(lambda _: order.append("b"))
    answer(model, _loss_fn, pieces)
    ran = "".join(order)
    got = _gradient(model)
    if got is None:
        raise Wrong(
            en="After your function there is no gradient. Is `backward()` called?",
            zh="你的函式執行完之後，還是沒有梯度。有呼叫 `backward()` 嗎？",
        )
    if any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)):
        raise Wrong(
            en="Your function changed the weights. It should only collect the gradient; the step comes afterwards.",
            zh="你的函式改到權重了。這個函式只負責累積梯度，更新權重是之後的事。",
        )
    if not _close(got, problem.wanted):
        _recognize_gradient(got, problem)
    elif "ff" in ran or ran.count("f") < len(pieces):
        raise Wrong(
            en="The gradient is right, but all pieces are in memory at once. Call `backward()` for each piece before "
            "the next forward pass.",
            zh="梯度是對的，但所有資料同時留在記憶體裡。每一份都要先呼叫 `backward()`，再算下一份。",
        )


def _recognize_gradient(got: torch.Tensor, problem: _Problem) -> None:
    """Raise the hint for a wrong gradient `got`."""
    model, pieces, sizes = problem.model, problem.pieces, problem.sizes
    count = len(sizes)
    model.zero_grad()
    _loss_fn(model(pieces[-1][0]), pieces[-1][1]).backward()
    last = _gradient(model)
    assert last is not None
    if any(_close(got, last * factor) for factor in (1, 1 / count, sizes[-1] / sum(sizes))):
        raise Wrong(
            en="Only the last piece is left in the gradient. `zero_grad()` belongs before the loop, not into it.",
            zh="梯度裡只剩最後一份。`zero_grad()` 要放在迴圈之前，不是迴圈裡面。",
        )
    if len(set(sizes)) == 1 and _close(got, problem.wanted * count):
        raise Wrong(
            en=f"Your gradient is {count} times too large: `backward()` adds up, but the loss of a batch is a mean. "
            "Weigh each piece.",
            zh=f"你的梯度是正確值的 {count} 倍：`backward()` 會累加，但整個批次的損失是平均值。每一份的損失都要加權。",
        )
    if len(set(sizes)) > 1:
        raise Wrong(
            en=f"With equal pieces your gradient is right, but not with pieces of {', '.join(map(str, sizes))} examples: "
            "each must count as much as it has examples.",
            zh=f"每份一樣大時，你的梯度是對的；但各份分別是 {'、'.join(map(str, sizes))} 筆時就不對了。每一份都要按筆數加權。",
        )
    raise Wrong(
        en="The gradient differs from that of the whole batch. For each piece: forward, loss times its share of the examples, "
        "backward.",
        zh="梯度和整個批次算出來的不一樣。每一份都要依序做三件事：前向傳播、把損失乘上它占的比例、反向傳播。",
    )


def _check_second_call(answer: Callable[..., Any], problem: _Problem) -> None:
    """Check that the gradient of an earlier step does not count."""
    model, pieces = problem.model, problem.pieces
    _loss_fn(model(pieces[0][0]), pieces[0][1]).backward()
    answer(model, _loss_fn, pieces)
    got = _gradient(model)
    if got is None or not _close(got, problem.wanted):
        raise Wrong(
            en="Called a second time, your function adds to the gradient of the first. Begin with `zero_grad()`.",
            zh="呼叫第二次時，你的函式把上一次的梯度也加進去了。一開始要先 `zero_grad()`。",
        )


def show_accumulate(answer: Callable[..., Any]) -> Block:
    """Return, for pieces of 6, 6 and 2 examples, in which order passes ran, and the gradient beside the right one."""
    problem = _problem((6, 6, 2))
    order: list[Bilingual] = []
    problem.model.register_forward_hook(lambda *_: order.append(Bilingual("forward", "前向")))
    next(problem.model.parameters()).register_hook(lambda _: order.append(Bilingual("backward", "反向")))
    answer(problem.model, _loss_fn, problem.pieces)
    got = _gradient(problem.model)
    passes = Bilingual(", ".join(p.en for p in order) or "none", "、".join(p.zh for p in order) or "沒有")
    norm = "–" if got is None else value(round(got.norm().item(), 4))
    return table(
        (
            Bilingual("pieces of 6, 6 and 2 examples", "分成 6、6、2 筆"),
            YOURS,
            Bilingual("whole batch", "整個批次"),
        ),
        [
            (Bilingual("passes", "執行順序"), passes, Bilingual("forward, backward", "前向、反向")),
            (
                Bilingual("norm of the gradient", "梯度的範數"),
                norm,
                value(round(problem.wanted.norm().item(), 4)),
            ),
        ],
    )
