"""The exercise "scaled_step" of lesson 03: a training step with a gradient scaler, and clipping in the right place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import Wrong
from course_utils.tables import table, value

LIMIT = 2.0
_SCALE = 256.0


class _Recorder:
    """A model with the gradient (3, 4), whose norm is 5, and what was called on its scaler and optimizer.

    Attributes:
        calls: The calls in their order, each with the norm of the gradient after it.
        change: How far the step moved the weights; the learning rate is 1, so this is the norm of the gradient used.
    """

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.calls: list[tuple[str, float]] = []
        self.model = nn.Linear(2, 1, bias=False)
        nn.init.zeros_(self.model.weight)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=_SCALE)
        self.model.weight.register_post_accumulate_grad_hook(lambda _: self._note("backward()"))
        for name in ("scale", "unscale_", "step", "update"):
            self._watch(self.scaler, name, f"scaler.{name}()")
        self.optimizer.register_step_pre_hook(lambda *_: self._note("optimizer.step()"))
        loss = self.model(torch.tensor([[3.0, 4.0]])).sum()
        try:
            answer(loss, self.model, self.optimizer, self.scaler, LIMIT)
        finally:
            self.change = self.model.weight.detach().norm().item()

    def _note(self, name: str) -> None:
        gradient = self.model.weight.grad
        self.calls.append((name, 0.0 if gradient is None else gradient.norm().item()))

    def _watch(self, owner: Any, name: str, shown: str) -> None:
        """Note each call of a method of `owner`."""
        method = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            early = (
                name == "update" and "scaler.step()" not in self.names
            )  # raises an error, or forgets unscale_()
            result = None if early else method(*args, **kwargs)
            self._note(shown)
            return result

        setattr(owner, name, watched)

    @property
    def names(self) -> list[str]:
        """What was called, without the norms."""
        return [name for name, _ in self.calls]


def examine_scaled_step(answer: Callable[..., Any]) -> None:
    """Examine ``scaled_step(loss, model, optimizer, scaler, limit)``.

    Raises:
        Wrong: With a hint about the mistake.
    """
    ran = _Recorder(answer)
    names = ran.names
    if "backward()" not in names:
        raise Wrong(
            en="There is no gradient: `backward()` was not called.",
            zh="沒有梯度，因為沒有呼叫 `backward()`。",
        )
    if "scaler.scale()" not in names:
        raise Wrong(
            en="The loss is not scaled: `scaler.scale(loss)` returns the scaled one; call `backward()` on that.",
            zh="損失沒有放大。`scaler.scale(loss)` 會傳回放大後的損失，請對它呼叫 `backward()`。",
        )
    if "scaler.step()" not in names:
        raise Wrong(
            en="`optimizer.step()` uses infinite gradients as well. `scaler.step(optimizer)` looks at them first.",
            zh="`optimizer.step()` 會連無限大的梯度都照用。`scaler.step(optimizer)` 會先檢查。",
        )
    if "scaler.update()" not in names:
        raise Wrong(
            en="The factor never changes: `scaler.update()` is missing at the end.",
            zh="倍數永遠不會變，因為最後少了 `scaler.update()`。",
        )
    if names.index("scaler.update()") < names.index("scaler.step()"):
        raise Wrong(
            en="`scaler.update()` comes before `scaler.step(optimizer)`. It ends the step, so it is called last.",
            zh="`scaler.update()` 比 `scaler.step(optimizer)` 還早呼叫。這一步要由它收尾，所以要放在最後。",
        )
    if abs(ran.change - LIMIT) < 1e-3:
        return
    if abs(ran.change - LIMIT / _SCALE) < 1e-3:
        raise Wrong(
            en=f"The step is {_SCALE:g} times too short: the gradients were clipped while they were still scaled. "
            "`scaler.unscale_(optimizer)` comes first.",
            zh=f"這一步只有正確長度的 1/{_SCALE:g}，因為裁剪的時候，梯度還是放大過的。要先呼叫 `scaler.unscale_(optimizer)`。",
        )
    if abs(ran.change - 5.0) < 1e-3:
        raise Wrong(
            en="The gradient has a norm of 5 and was used as it is: it was not clipped before the step.",
            zh="梯度的範數是 5，卻原封不動拿去用，因為更新權重之前沒有裁剪。",
        )
    raise Wrong(
        en=f"The step moved the weights by {value(ran.change)}; with the gradient clipped to {LIMIT:g} it would be {LIMIT:g}.",
        zh=f"這一步讓權重移動了 {value(ran.change)}；如果梯度裁剪到 {LIMIT:g}，應該只移動 {LIMIT:g}。",
    )


def show_scaled_step(answer: Callable[..., Any]) -> Block:
    """Return what the answer called, and the norm of the gradient after each call."""
    ran = _Recorder(answer)
    rows = [(f"`{name}`", value(norm)) for name, norm in ran.calls]
    rows.append((Bilingual("length of the step", "這一步的長度"), value(ran.change)))
    return table(
        (
            Bilingual("what your code called", "你的程式呼叫了"),
            Bilingual("norm of the gradient after it", "呼叫之後的梯度範數"),
        ),
        rows,
    )
