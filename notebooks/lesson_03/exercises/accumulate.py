"""Exercise ``accumulate(model, loss_fn, pieces)``: leave the gradient of a large batch in the model, piece by piece."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block, enumerated
from course_utils.exercises import Mistakes
from course_utils.tables import YOURS, table, value

EQUAL, UNEQUAL = (5, 5, 5, 5), (6, 6, 2)  # four of five: dividing by the wrong one of the two is noticed
_loss_fn = nn.functional.mse_loss
_WORDS = {"f": Bilingual("forward", "前向"), "b": Bilingual("backward", "反向")}


class _Batch:
    """A batch that is split into pieces.

    Attributes:
        model: A small model with fixed weights and no gradients.
        pieces: (inputs, targets) of each piece.
        right: The gradient of the whole batch.
        passes: What the answer did: "f" for each forward pass, "b" for each backward pass.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        generator = torch.Generator().manual_seed(7)
        self.model, self.passes = nn.Linear(3, 2), ""
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
        x, y = (torch.randn(sum(sizes), width, generator=generator) for width in (3, 2))
        self.pieces = list(zip(x.split(sizes), y.split(sizes), strict=True))
        self.right = self.gradient_of(x, y)

    def gradient_of(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the gradient of these examples, and clear it."""
        self.model.zero_grad()
        _loss_fn(self.model(x), y).backward()
        found = self.gradient()
        self.model.zero_grad()
        return found

    def gradient(self) -> torch.Tensor | None:
        """Return all gradients as one vector, or None if a parameter has none."""
        found = [p.grad for p in self.model.parameters()]
        return None if any(g is None for g in found) else torch.cat([g.flatten() for g in found])

    def run(self, answer: Callable[..., Any]) -> torch.Tensor | None:
        """Return the gradient that `answer` leaves in the model."""
        hooks = [
            self.model.register_forward_hook(lambda *_: self._note("f")),
            self.model.weight.register_hook(lambda _: self._note("b")),
        ]
        answer(self.model, _loss_fn, self.pieces)
        for hook in hooks:
            hook.remove()
        return self.gradient()

    def _note(self, which: str) -> None:
        self.passes += which


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two gradients differ only by rounding."""
    return torch.allclose(a, b, rtol=1e-4, atol=1e-6)


def judge(answer: Any) -> Mistakes:
    """Compare the gradient of a batch in equal pieces, in unequal ones, and in a second step."""
    for sizes in (EQUAL, UNEQUAL):
        batch, count = _Batch(sizes), len(sizes)
        before = [p.detach().clone() for p in batch.model.parameters()]
        got = batch.run(answer)
        yield got is None, "no_gradient"
        same = all(torch.equal(*pair) for pair in zip(before, batch.model.parameters(), strict=True))
        yield not same, "changed_weights"
        if _close(got, batch.right):
            yield "ff" in batch.passes or batch.passes.count("f") < count, "all_at_once"
            continue
        last = batch.gradient_of(*batch.pieces[-1])
        parts = (1, 1 / count, sizes[-1] / sum(sizes))
        yield any(_close(got, part * last) for part in parts), "last_piece"
        yield sizes == EQUAL and _close(got, count * batch.right), "sum_of_means", {"count": count}
        yield True, "unequal" if sizes == UNEQUAL else "other"
    batch = _Batch(EQUAL)
    x, y = batch.pieces[0]
    _loss_fn(batch.model(x), y).backward()  # of an earlier step
    got = batch.run(answer)
    yield got is None or not _close(got, batch.right), "second_call"


def show(answer: Any) -> Block:
    """Return, for pieces of 6, 6 and 2 examples, in which order passes ran, and the gradient beside the right one."""
    batch = _Batch(UNEQUAL)
    got = batch.run(answer)
    passes = enumerated([_WORDS[which] for which in batch.passes] or [Bilingual("none", "沒有")])
    norms = ["–" if found is None else value(round(found.norm().item(), 4)) for found in (got, batch.right)]
    head = (
        Bilingual("pieces of 6, 6 and 2 examples", "分成 6、6、2 筆"),
        YOURS,
        Bilingual("whole batch", "整個批次"),
    )
    rows = [
        (Bilingual("passes", "執行順序"), passes, Bilingual("forward, backward", "前向、反向")),
        (Bilingual("norm of the gradient", "梯度的範數"), *norms),
    ]
    return table(head, rows)
