"""Exercise: the largest of many losses without a wait for each, checked by counting synchronizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from bilingual import Block
from course_utils.exercises import NO_RETURN, NotYet, Wrong
from shared.trap import Trap

NUMBERS = (0.5, 2.5, 1.0, 0.25, 1.5, 2.0)


def _losses(sign: float = 1.0) -> Iterator[torch.Tensor]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return (torch.tensor(sign * number, device=device) for number in NUMBERS)


def _given(losses: Any) -> Any:
    # The lesson's stub, to be compared byte by byte: a docstring would be one more constant.
    worst = losses[0]
    for loss in losses[1:]:
        worst = max(worst, loss)
    return worst


def examine_biggest(answer: Any) -> None:
    """Examine ``biggest(losses) -> tensor``, which may not wait."""
    for sign in (1.0, -1.0):
        losses = list(_losses(sign))
        with Trap() as trap:
            got = answer(losses)
        waits = sum(trap.lines.values())
        if got is None:
            raise Wrong(**NO_RETURN)
        if isinstance(got, torch.return_types.max):
            raise Wrong(
                en="`max(0)` returns two tensors, the values and their places; take `.max()`, without a dimension.",
                zh="`max(0)` 會傳回兩個張量，一個是值，一個是位置；請改用不指定維度的 `.max()`。",
            )
        if not isinstance(got, torch.Tensor):
            raise Wrong(
                en=f"Return a tensor on the device, not a `{type(got).__name__}`: a Python number has already been waited for.",
                zh=f"要傳回裝置上的張量，不是 `{type(got).__name__}`。既然變成了 Python 的數字，就表示主機已經等過了。",
            )
        right = max(sign * number for number in NUMBERS)
        if got.numel() != 1 or got.item() != right:
            raise Wrong(
                en=f"The largest of {[sign * n for n in NUMBERS]} is {right:g}; yours is {got.tolist()}.",
                zh=f"{[sign * n for n in NUMBERS]} 裡最大的是 {right:g}，你的答案是 {got.tolist()}。",
            )
        if waits and getattr(getattr(answer, "__code__", None), "co_code", None) == _given.__code__.co_code:
            raise NotYet(
                en=f"Not yet: for {len(NUMBERS)} losses the host waits {waits} times. Which line needs to know which is larger?",
                zh=f"還沒完成：只有 {len(NUMBERS)} 個損失，主機卻等了 {waits} 次。是哪一行需要知道哪個損失比較大？",
            )
        if waits >= len(NUMBERS) - 1:
            raise Wrong(
                en=f"Right, but the host still waits {waits} times, in the lines below: Python's `max`, `item()` and `torch.tensor` "
                "read the losses one by one. Which function joins tensors that lie on the device?",
                zh=f"結果對了，但主機還是等了 {waits} 次（見下表）。Python 的 `max`、`item()` 和 `torch.tensor` 都會逐一讀取損失的值。"
                "哪個函式能直接把裝置上的張量合在一起？",
            )
        if waits:
            raise Wrong(
                en=f"Right, but the host still waits {waits} times. The comparison itself has to stay on the device.",
                zh=f"結果對了，但主機還是等了 {waits} 次。比較大小這件事，也要留在裝置上做。",
            )


def show_biggest(answer: Any) -> Block:
    """Return a table of the lines in which the host waited for six losses."""
    with Trap() as trap:
        answer(list(_losses()))
    return trap.table()
