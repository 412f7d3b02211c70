"""Exercise ``largest_batch(step, batch)``: halve the batch until a step fits into memory."""

import sys
from collections.abc import Callable
from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistake, Mistakes
from course_utils.tables import table, value


class _Step:
    """A training step that fails as if memory were short.

    Attributes:
        most: Largest batch that fits.
        calls: The batch sizes that it was called with.
    """

    def __init__(self, most: int) -> None:
        self.most, self.calls = most, list[int]()
        self._outside = sys.exc_info()[1]  # the exception that is being handled where the step was created

    def __call__(self, batch: Any) -> None:
        if isinstance(batch, bool) or not isinstance(batch, int):
            raise Mistake("no_whole_batch", batch=batch)
        if sys.exc_info()[1] is not self._outside:
            raise Mistake("inside_except")
        self.calls.append(batch)
        if len(self.calls) > 200 or batch < 0:
            raise Mistake("for_ever")
        self.work(batch)

    def work(self, batch: int) -> None:
        """Raise an error if the batch does not fit."""
        if batch > self.most:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {batch} MiB.")


class _WrongShape(_Step):
    """A training step with an error that no smaller batch avoids."""

    def work(self, batch: int) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)")


def _tried(answer: Callable[..., Any], step: _Step, batch: int) -> Any:
    """Return what the answer returns, or the error of the step that it lets out."""
    try:
        return answer(step, batch)
    except RuntimeError as error:  # OutOfMemoryError is one, too
        if isinstance(error, torch.OutOfMemoryError) or "mat1" in str(error):
            return error
        raise


def judge(answer: Any) -> Mistakes:
    """Try it where 20 fit, where the step has another error, and where nothing fits."""
    step = _Step(20)
    found = _tried(answer, step, 128)
    yield isinstance(found, RuntimeError), "error_escapes"
    yield not step.calls, "never_tried"
    yield found is None, "returned_none"
    yield found != 16, "other", {"found": found, "tried": ", ".join(map(str, step.calls[:6]))}
    step = _WrongShape(20)
    found = _tried(answer, step, 8)
    yield "mat1" not in str(found), "swallowed"
    yield len(step.calls) > 1, "tried_again"
    step = _Step(-1)  # not even an empty batch fits, so an answer that never gives up is noticed
    found = _tried(answer, step, 4)
    yield not isinstance(found, RuntimeError), "nothing_fits", {"found": found}
    yield 0 in step.calls, "batch_of_0"


def show(answer: Any) -> Block:
    """Return which batches the answer tried where 20 fit, and what it returned."""
    step = _Step(20)
    try:
        found = value(answer(step, 128))
    except Mistake:
        found = "–"
    except Exception as error:
        found = f"`{type(error).__name__}`"
    fits = {True: Bilingual("fits", "放得下"), False: Bilingual("out of memory", "記憶體不足")}
    rows: list[tuple[Any, ...]] = [(str(batch), fits[batch <= step.most]) for batch in step.calls[:12]]
    rows.append((Bilingual("your function returns", "你的函式傳回"), found))
    tried = Bilingual("batch tried (20 fit)", "試過的批次（最多放得下 20 筆）")
    return table((tried, Bilingual("result", "結果")), rows)
