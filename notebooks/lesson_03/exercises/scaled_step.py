"""Exercise ``scaled_step(loss, model, optimizer, scaler, limit)``: a training step with a gradient scaler and clipping."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
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
        self.model.weight.register_post_accumulate_grad_hook(lambda _: self._note("backward()"))
        optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)
        optimizer.register_step_pre_hook(lambda *_: self._note("optimizer.step()"))
        scaler = torch.amp.GradScaler("cpu", init_scale=_SCALE)
        for name in ("scale", "unscale_", "step", "update"):
            setattr(scaler, name, self._watched(getattr(scaler, name), f"scaler.{name}()"))
        loss = self.model(torch.tensor([[3.0, 4.0]])).sum()
        try:
            answer(loss, self.model, optimizer, scaler, LIMIT)
        finally:
            self.change = self.model.weight.detach().norm().item()

    def _note(self, name: str) -> None:
        gradient = self.model.weight.grad
        self.calls.append((name, 0.0 if gradient is None else gradient.norm().item()))

    def _watched(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a method of the scaler that is noted at each call."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            # An update before the step raises an error, or forgets unscale_().
            early = name == "scaler.update()" and "scaler.step()" not in self.names
            result = None if early else method(*args, **kwargs)
            self._note(name)
            return result

        return watched

    @property
    def names(self) -> list[str]:
        """What was called, without the norms."""
        return [name for name, _ in self.calls]


def judge(answer: Any) -> Mistakes:
    """Look at what was called in which order, then at the length of the step."""
    ran = _Recorder(answer)
    names = ran.names
    yield "backward()" not in names, "no_backward"
    yield "scaler.scale()" not in names, "not_scaled"
    yield "scaler.step()" not in names, "optimizer_step"
    yield "scaler.update()" not in names, "no_update"
    yield names.index("scaler.update()") < names.index("scaler.step()"), "update_first"

    def moved(length: float) -> bool:
        return abs(ran.change - length) < 1e-3

    yield moved(LIMIT / _SCALE), "clipped_while_scaled", {"scale": _SCALE}
    yield moved(5.0), "not_clipped"
    yield not moved(LIMIT), "other", {"moved": value(ran.change), "limit": LIMIT}


def show(answer: Any) -> Block:
    """Return what the answer called, and the norm of the gradient after each call."""
    ran = _Recorder(answer)
    rows: list[tuple[Any, ...]] = [(f"`{name}`", value(norm)) for name, norm in ran.calls]
    rows.append((Bilingual("length of the step", "這一步的長度"), value(ran.change)))
    called = Bilingual("what your code called", "你的程式呼叫了")
    return table((called, Bilingual("norm of the gradient after it", "呼叫之後的梯度範數")), rows)
