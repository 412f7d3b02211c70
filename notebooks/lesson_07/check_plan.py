"""Exercise: the global batch, and how many steps the optimizer makes in an epoch."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Wrong

CASES = ((32, 4, 1, 1000), (16, 8, 4, 10_000), (64, 1, 2, 1000), (32, 2, 1, 64))


def right(per_rank: int, ranks: int, accumulate: int, images: int) -> tuple[int, int]:
    """Return the global batch and the steps of an epoch; what does not fill a whole step is dropped."""
    batch = per_rank * ranks * accumulate
    return batch, images // batch


def examine(answer: Any) -> None:
    """Examine ``plan(per_rank, ranks, accumulate, images) -> (batch, steps)``."""
    for case in CASES:
        _judge(answer(*case), *case)


def _judge(got: Any, per_rank: int, ranks: int, accumulate: int, images: int) -> None:
    """Raise the hint for a wrong pair."""
    if got is None:
        raise Wrong(**NO_RETURN)
    whole = isinstance(got, tuple) and len(got) == 2 and all(type(value) is int for value in got)
    if not whole:
        raise Wrong(
            en="Return two whole numbers: `return batch, steps`. (`//` divides to a whole number.)",
            zh="請傳回兩個整數：`return batch, steps`。（`//` 的商是整數。）",
        )
    (batch, steps), (right_batch, right_steps) = got, right(per_rank, ranks, accumulate, images)
    where = Bilingual(
        f"{per_rank} images per rank, {ranks} ranks, accumulate {accumulate}, {images} images",
        f"每個 rank {per_rank} 張、{ranks} 個 rank、累積 {accumulate} 次、共 {images} 張影像",
    )
    if batch != right_batch:
        if batch == per_rank * ranks:
            raise Wrong(
                en=f"{where.en}: the optimizer steps once for {accumulate} backward passes. All their images count.",
                zh=f"{where.zh}：反向傳播 {accumulate} 次，最佳化器才更新一次，這些影像都要算進去。",
            )
        if batch == per_rank * accumulate:
            raise Wrong(
                en=f"{where.en}: {batch} is what one rank sees. The gradient is the mean over all ranks.",
                zh=f"{where.zh}：{batch} 只是一個 rank 看到的張數。梯度是所有 rank 的平均。",
            )
        raise Wrong(
            en=f"{where.en}: you say that a step uses {batch} images. Multiply what one backward pass sees.",
            zh=f"{where.zh}：你算出每一步用 {batch} 張。請從一次反向傳播看到的張數開始乘。",
        )
    if steps == right_steps:
        return
    if steps == -(-images // batch):
        raise Wrong(
            en=f"{where.en}: the last, incomplete batch is dropped (`drop_last=True`), so round down.",
            zh=f"{where.zh}：最後不完整的批次會丟掉（`drop_last=True`），所以要無條件捨去。",
        )
    if steps == images // (per_rank * ranks):
        raise Wrong(
            en=f"{where.en}: {steps} is the number of backward passes. The optimizer steps once for {accumulate} of them.",
            zh=f"{where.zh}：{steps} 是反向傳播的次數。每 {accumulate} 次，最佳化器才更新一次。",
        )
    raise Wrong(
        en=f"{where.en}: the batch is right, but you count {steps} steps. A step uses up {batch} of the {images} images.",
        zh=f"{where.zh}：批次對了，步數卻是 {steps}。每一步用掉 {images} 張裡的 {batch} 張。",
    )


def pictured(answer: Any) -> Block:
    """Return the plans for 60,000 images and more and more ranks."""
    head = Bilingual(
        "32 images per rank, 60,000 in all: batch, steps", "每個 rank 32 張，共 60,000 張：批次、步數"
    )
    rows = {f"N = {n}": f"{', '.join(map(str, answer(32, n, 1, 60_000)))}" for n in (1, 4, 16, 64)}
    rows["N = 4, accumulate = 4"] = ", ".join(map(str, answer(32, 4, 4, 60_000)))
    return facts(fixed={head: "", **rows})
