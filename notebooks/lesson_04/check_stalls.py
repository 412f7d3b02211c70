"""Exercise: a training loop without hidden waits, checked by counting synchronizations."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import NotYet, Wrong
from course_utils.torch_state import preserved_state
from shared.trap import Trap

STEPS = 20
WAITS_ALLOWED = 3


def _batches(device: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return the same batches in each call: images (8, 64) and labels (8,)."""
    make = torch.Generator().manual_seed(0)
    return [
        (torch.rand(8, 64, generator=make).to(device), torch.randint(10, (8,), generator=make).to(device))
        for _ in range(STEPS)
    ]


def _start(device: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return the same untrained model in each call, and its optimizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Linear(64, 10)
    model = model.to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def _without_waits(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[list[float], int, float]:
    """Train as the lesson's loop does, without its waits."""
    losses, right = [], 0
    for images, labels in batches:
        scores = model(images)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        right = right + (scores.argmax(1) == labels).sum()
    numbers = torch.stack(losses).tolist()
    if any(number != number for number in numbers):
        raise ValueError("the loss is NaN")
    return numbers, int(right), max(numbers)


def examine_stalls(answer: Any) -> None:
    """Examine ``train(model, optimizer, batches) -> (losses, right, worst)``, which may wait only at the end."""
    with preserved_state():  # several threads would only wait for each other in a model this small
        _examine_stalls(answer, "cuda" if torch.cuda.is_available() else "cpu")


def _examine_stalls(answer: Any, device: str) -> None:
    """Run the answer and the loop without waits on the same start, and compare results and waits."""
    batches = _batches(device)
    losses, right, worst = _without_waits(*_start(device), batches)
    model, optimizer = _start(device)
    with Trap() as trap:
        got = answer(model, optimizer, list(batches))
    waits = sum(trap.lines.values())
    _check_results(got, losses, right, worst)
    if waits > WAITS_ALLOWED:
        each = round(waits / STEPS)
        if each >= 4:
            raise NotYet(
                en=f"Not yet: in {STEPS} steps the host waits {waits} times, {each} times in every step. Find these lines and mend "
                "them.",
                zh=f"還沒完成：{STEPS} 步裡，主機等了 {waits} 次，每一步等 {each} 次。請找出是哪幾行，再改掉。",
            )
        raise Wrong(
            en=f"The results are right, but in {STEPS} steps the host still waits at least {waits} times; allowed are {WAITS_ALLOWED}, "
            "after the loop. Which line asks for one value at a time? Also after the loop: one `tolist()`.",
            zh=f"結果都對，但 {STEPS} 步裡，主機還是至少等了 {waits} 次；迴圈結束後才可以等，最多 {WAITS_ALLOWED} 次。哪一行一次只取一個值？迴圈結束後也不要這樣取，請呼叫一次 `tolist()`。",
        )
    _must_notice_nan(answer, batches, device)


def _check_results(got: Any, losses: list[float], right: int, worst: float) -> None:
    """Compare what the answer returned with the original loop's results."""
    if not isinstance(got, tuple) or len(got) != 3:
        raise Wrong(
            en=f"`train` should return three things, `losses, right, worst`; yours returns a `{type(got).__name__}`.",
            zh=f"`train` 應該傳回三樣東西：`losses, right, worst`；你傳回的是 `{type(got).__name__}`。",
        )
    if not isinstance(got[0], list) or not all(isinstance(loss, float) for loss in got[0]):
        raise Wrong(
            en="`losses` should be a list of Python floats, as before. One `tolist()` after the loop turns a whole tensor "
            "into such a list.",
            zh="`losses` 應該和原本一樣，是裝著 Python 浮點數的 list。迴圈結束後呼叫一次 `tolist()`，就能把整個張量變成這樣的 list。",
        )
    for name, number in (("right", got[1]), ("worst", got[2])):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise Wrong(
                en=f"`{name}` should be a Python number at the end, but yours is a `{type(number).__name__}`. After the loop, one "
                "fetch is fine.",
                zh=f"`{name}` 最後應該是 Python 的數字，你的卻是 `{type(number).__name__}`。迴圈結束之後，可以取一次值。",
            )
    if len(got[0]) != STEPS:
        raise Wrong(
            en=f"There were {STEPS} steps, but you return {len(got[0])} losses. Keep every one; only fetch them together.",
            zh=f"總共 {STEPS} 步，你卻傳回 {len(got[0])} 個損失。每一個都要留著，只是改成一起取值。",
        )
    if max(abs(given - expected) for given, expected in zip(got[0], losses, strict=True)) > 1e-3:
        raise Wrong(
            en="The losses are no longer those of the original loop. The training itself should stay as it was.",
            zh="損失和原本的迴圈不一樣了。訓練本身應該維持原樣。",
        )
    if got[1] != right:
        raise Wrong(
            en=f"Of {8 * STEPS} images, {right} were classified correctly during training; you count {got[1]:g}.",
            zh=f"{8 * STEPS} 張影像裡，訓練過程中答對的有 {right} 張，你數出 {got[1]:g} 張。",
        )
    if abs(got[2] - worst) > 1e-3:
        raise Wrong(
            en=f"The largest loss is {worst:.3f}, but your `worst` is {got[2]:.3f}.",
            zh=f"最大的損失是 {worst:.3f}，你的 `worst` 卻是 {got[2]:.3f}。",
        )


def _must_notice_nan(answer: Any, batches: list[tuple[torch.Tensor, torch.Tensor]], device: str) -> None:
    """Check that a NaN in the second batch still raises ValueError."""
    with_nan = deepcopy(batches[:3])
    with_nan[1][0].fill_(float("nan"))
    try:
        answer(*_start(device), with_nan)
    except ValueError:
        return
    raise Wrong(
        en="No wait is left, but a NaN is no longer noticed: when a loss is NaN, `train` should still raise `ValueError`, after "
        "the loop if you like. (If you check the largest loss: `max` can lose a NaN.)",
        zh="主機不用等了，但程式也不再察覺 NaN。只要有損失是 NaN，`train` 還是要引發 `ValueError`；迴圈結束後再檢查也可以。"
        "（如果你檢查的是最大的損失，要注意 `max` 可能漏掉 NaN。）",
    )


def show_stalls(answer: Any) -> Block:
    """Return a table of the lines of the learner's loop in which the host waited, in a run of all steps."""
    with preserved_state():
        device = "cuda" if torch.cuda.is_available() else "cpu"
        batches, start = _batches(device), _start(device)
        with Trap() as trap:
            answer(*start, batches)
    return trap.table()
