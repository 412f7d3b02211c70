"""Exercise: the journey's training loop without hidden waits, checked by counting them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import NO_RETURN, NotYet, Wrong
from course_utils.torch_state import preserved_state
from shared.trap import Trap

STEPS = 12


class _Small(nn.Module):
    """Forecasts as the Informer does, from three tensors, in one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(
        self, past: torch.Tensor, past_marks: torch.Tensor, future_marks: torch.Tensor
    ) -> torch.Tensor:
        return self.layer(torch.cat([past, past_marks, future_marks], -1))


def _given() -> tuple[nn.Module, torch.optim.Optimizer, list[list[torch.Tensor]]]:
    """Return the same untrained model, its optimizer and the same batches in each call."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    chance = torch.Generator().manual_seed(0)
    batches = [
        [torch.rand(8, n, generator=chance, dtype=torch.float64).to(device) for n in (2, 2, 2, 4)]
        for _ in range(STEPS)
    ]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = _Small().to(device, torch.float64)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), batches


def _losses() -> list[float]:
    """Return the losses of the original loop."""
    model, optimizer, batches = _given()
    found = []
    for past, past_marks, future_marks, future in batches:
        loss = nn.functional.mse_loss(model(past, past_marks, future_marks), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def examine_quiet(answer: Any) -> None:
    """Examine ``quiet(model, optimizer, batches) -> list of floats``, which may wait once, after the last step."""
    with preserved_state():
        expected = _losses()
        model, optimizer, batches = _given()
        with Trap() as trap:
            got = answer(model, optimizer, iter(batches))
    waits = sum(trap.lines.values())
    if got is None:
        raise Wrong(**NO_RETURN)
    _check_list(got, expected)
    if waits >= 2 * STEPS:
        raise NotYet(
            en=f"Not yet: in {STEPS} steps the host waits {waits} times. Two lines ask for the loss in every step: which?",
            zh=f"還沒完成：{STEPS} 步裡，主機等了 {waits} 次。每一步都有兩行要取得損失的值，是哪兩行？",
        )
    if waits > 1:
        raise Wrong(
            en=f"The losses are right, but in {STEPS} steps the host still waits {waits} times; one is enough. Which line asks for one value at "
            "a time? (Printing asks, too.) After the loop: `torch.stack(…).tolist()`.",
            zh=f"損失都對，但 {STEPS} 步裡，主機還是等了 {waits} 次；其實等一次就夠了。是哪一行每次只取一個值？（印出來也要取值。）迴圈結束後，用 "
            "`torch.stack(…).tolist()`。",
        )


def _check_list(got: Any, expected: list[float]) -> None:
    """Compare what the answer returned with the losses of the original loop."""
    if not isinstance(got, list) or not all(isinstance(loss, float) for loss in got):
        inside = f" of `{type(got[0]).__name__}`" if isinstance(got, list) and got else ""
        raise Wrong(
            en=f"Return a list of Python floats, as before; yours is a `{type(got).__name__}`{inside}. After the loop, one `tolist()` makes it.",
            zh=f"要和原本一樣，傳回 Python 浮點數的 list；你的是 `{type(got).__name__}`{inside.replace(' of ', '，裡面是 ')}。迴圈結束後，呼叫一次 "
            "`tolist()` 就有了。",
        )
    if len(got) != len(expected):
        raise Wrong(
            en=f"There are {len(expected)} steps, but you return {len(got)} losses: keep every one.",
            zh=f"總共 {len(expected)} 步，你卻傳回 {len(got)} 個損失。每一個都要留著。",
        )
    if max(abs(a - b) for a, b in zip(got, expected, strict=True)) > 1e-9:
        raise Wrong(
            en="The losses are no longer those of the original loop: the training itself should stay as it was (`zero_grad`, `backward`, "
            "`step`).",
            zh="損失和原本的迴圈不一樣了：訓練本身（`zero_grad`、`backward`、`step`）應該維持原樣。",
        )


def show_quiet(answer: Any) -> Block:
    """Return a table of the lines of the learner's loop in which the host waited."""
    with preserved_state():
        model, optimizer, batches = _given()
        with Trap() as trap:
            answer(model, optimizer, iter(batches))
    return trap.table()
