"""Exercise: the bytes that each rank of a ring sends."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts, figures
from course_utils.exercises import Wrong
from shared.given_number import close, number

CASES = ((840, 4), (840, 2), (1_000_000, 8), (5_000, 1))


def right(size: int, ranks: int) -> float:
    """Return the bytes that each rank sends."""
    return 2 * (ranks - 1) / ranks * size


def examine(answer: Any) -> None:
    """Examine ``sent_bytes(size, ranks) -> number``."""
    for size, ranks in CASES:
        got = number(answer(size, ranks))
        if not close(got, right(size, ranks)):
            _explain(got, size, ranks)


def _explain(got: float, size: int, ranks: int) -> None:
    """Raise the hint for a wrong number of bytes."""
    chunk = size / ranks
    if close(got, (ranks - 1) * chunk):
        raise Wrong(
            en="That is one way round, the reduce-scatter. The finished chunks have to go round as well.",
            zh="這只是第一圈（reduce-scatter）的量。加好的各塊還要再傳一圈。",
        )
    if close(got, 2 * ranks * chunk):
        raise Wrong(
            en=f"With {ranks} ranks, a chunk has reached all of them after {ranks - 1} steps, not {ranks}.",
            zh=f"{ranks} 個 rank 時，一塊傳 {ranks - 1} 步就走遍所有 rank，不必 {ranks} 步。",
        )
    if close(got, 2 * (ranks - 1) * size):
        raise Wrong(
            en="In each step a rank sends one chunk, not everything that it has. How large is a chunk?",
            zh="每一步只送一塊，不是手上的全部。一塊有多大？",
        )
    if close(got, 2 * (ranks - 1)):
        raise Wrong(
            en="That is the number of steps. Asked for are bytes: how many go over the link in each step?",
            zh="這是步數。題目要的是位元組數，每一步送出多少？",
        )
    if close(got, (ranks - 1) * size):
        raise Wrong(
            en="That is what rank 0 sends if everything goes through it. In a ring, all ranks send the same amount.",
            zh="這是全部都經過 rank 0 時，rank 0 要送出的量。在環裡，每個 rank 送的一樣多。",
        )
    raise Wrong(
        en=f"{size} bytes on each of {ranks} ranks: your function says {got:g}. Count the steps of the explorer, and the bytes of one chunk.",
        zh=f"{ranks} 個 rank、各 {size} 個位元組，你的函式算出 {got:g}。請在上面的圖裡數一數步數，再看一塊有多少位元組。",
    )


def pictured(answer: Any) -> Block:
    """Return what the answer says for 100 MB and more and more ranks."""
    rows = {f"N = {n}": figures.amount(float(answer(100_000_000, n))) for n in (2, 4, 8, 64, 1024)}
    head = Bilingual("S = 100 MB: each rank sends", "S = 100 MB，每個 rank 送出")
    return facts(fixed={head: "", **rows})
