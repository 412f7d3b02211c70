"""The exercise "halve" of lesson 03: halve the batch until it fits into memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Wrong
from course_utils.tables import table, value


class _Step:
    """A training step that fails as if memory were short.

    Attributes:
        most: Largest batch that fits.
        error: Creates the error of every call; None: only batches that do not fit fail.
        calls: The batch sizes that it was called with.
        outside: The exception that is being handled where it was created.
    """

    def __init__(self, most: int, error: Callable[[], BaseException] | None = None) -> None:
        self.most, self.error = most, error
        self.calls: list[int] = []
        self.outside = sys.exc_info()[1]

    def __call__(self, batch: Any) -> None:
        if isinstance(batch, bool) or not isinstance(batch, int):
            raise Wrong(
                en=f"Your function calls `step({batch!r})`, but a batch size is a whole number: halve with `//`.",
                zh=f"你的函式呼叫了 `step({batch!r})`，但批次大小必須是整數，所以減半要用 `//`。",
            )
        if sys.exc_info()[1] is not self.outside:
            raise Wrong(
                en="You try again inside the `except` block. There the error, and with it the failed attempt's memory, "
                "is still held: leave the block first.",
                zh="你在 `except` 區塊裡面重試。這時錯誤物件還在，失敗那一次的記憶體也還沒釋放，所以要先離開區塊。",
            )
        self.calls.append(batch)
        if len(self.calls) > 200 or batch < 0:
            raise Wrong(
                en="Your function goes on for ever. When not even one example fits, give up: let the error out.",
                zh="你的函式停不下來。如果連一筆都放不下，就該放棄，讓錯誤傳出去。",
            )
        if self.error is not None:
            raise self.error()
        if batch > self.most:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {batch} MiB.")


def examine_halve(answer: Any) -> None:
    """Examine ``largest_batch(step, batch)``, which halves the batch until a step fits.

    Raises:
        Wrong: With a hint about the mistake.
    """
    step = _Step(20)
    try:
        found = answer(step, 128)
    except torch.OutOfMemoryError:
        raise Wrong(
            en="The out-of-memory error comes out of your function. Catch `torch.OutOfMemoryError` and try half the batch.",
            zh="記憶體不足的錯誤傳到你的函式外面了。要捕捉 `torch.OutOfMemoryError`，把批次減半再試一次。",
        ) from None
    if not step.calls:
        raise Wrong(
            en="Your function never calls `step`. Only trying shows what fits.",
            zh="你的函式從沒呼叫 `step`。放不放得下，要試了才知道。",
        )
    if found is None:
        raise Wrong(
            en="Your function returns `None`; return the batch size that fitted.",
            zh="你的函式傳回 `None`，但應該傳回放得下的批次大小。",
        )
    if found != 16:
        tried = ", ".join(map(str, step.calls[:6]))
        raise Wrong(
            en=f"Starting from 128 where 20 fit, the answer is 16, but you return `{found}` (tried: {tried}).",
            zh=f"從 128 開始，最多放得下 20 筆時，答案是 16；你傳回的是 `{found}`（試過的批次：{tried}）。",
        )
    _check_other_error(answer)
    _check_no_batch_fits(answer)


def _check_other_error(answer: Any) -> None:
    """Check that an error that has nothing to do with memory is neither caught nor tried again."""
    step = _Step(20, lambda: RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"))
    try:
        answer(step, 8)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or "mat1" not in str(error):
            raise
    else:
        raise Wrong(
            en="Your function swallows every error, also a wrong shape. Catch only `torch.OutOfMemoryError`.",
            zh="你的函式把所有錯誤都吞掉了，連形狀不合的錯誤也是。請只捕捉 `torch.OutOfMemoryError`。",
        )
    if len(step.calls) > 1:
        raise Wrong(
            en="A wrong shape is tried again with smaller batches. Catch only `torch.OutOfMemoryError`.",
            zh="遇到形狀不合的錯誤時，你的函式還縮小批次再試。請只捕捉 `torch.OutOfMemoryError`。",
        )


def _check_no_batch_fits(answer: Any) -> None:
    """Check that the function gives up where no batch fits."""
    step = _Step(-1)  # not even an empty batch fits, so an answer that never gives up is noticed
    try:
        found = answer(step, 4)
    except torch.OutOfMemoryError:
        pass
    else:
        raise Wrong(
            en=f"When not even one example fits, your function returns `{found}`. There the error should come out.",
            zh=f"連一筆都放不下時，你的函式傳回 `{found}`。這時應該讓錯誤傳出去。",
        )
    if 0 in step.calls:
        raise Wrong(
            en="Your function tries a batch of 0. Stop at 1: if that does not fit, let the error out.",
            zh="你的函式連 0 筆都試了。批次減到 1 就該停了，如果還是放不下，就讓錯誤傳出去。",
        )


def show_halve(answer: Any) -> Block:
    """Return which batches the answer tried where 20 fit, and what it returned."""
    step = _Step(20)
    try:
        found = value(answer(step, 128))
    except Exception as error:
        found = f"`{type(error).__name__}`"
    fits = {True: Bilingual("fits", "放得下"), False: Bilingual("out of memory", "記憶體不足")}
    rows: list[tuple[Any, ...]] = [(str(batch), fits[batch <= step.most]) for batch in step.calls[:12]]
    rows.append((Bilingual("your function returns", "你的函式傳回"), found))
    return table(
        (Bilingual("batch tried (20 fit)", "試過的批次（最多放得下 20 筆）"), Bilingual("result", "結果")),
        rows,
    )
