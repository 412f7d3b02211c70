"""Check the exercise ``ring_all_reduce``: run the answer on a simulated ring, then compare sums and traffic.

Chunk c of rank r is filled with ``PRIMES[c] * 1000**r``, so a number tells which chunks of which ranks were added up. With 2
ranks, chunk 0 is 7 on rank 0 and 7000 on rank 1; 7007 is their sum, 14007 has rank 1's chunk twice, and 11007 mixes two chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from course_utils.exercises import Wrong
from torch_doctor.bilingual import Bilingual

LENGTH = 6  # numbers in a chunk
SIZES = (4, 2, 3, 5, 1)  # numbers of ranks; with 4, nearly every mistake shows
PRIMES = (7, 11, 13, 17, 19)


class _MessageMissing(BaseException):
    """Stops a rank that needs a message which has not been sent yet; no ``except Exception`` catches it."""


class Ring:
    """Ranks that exchange messages with their neighbours, simulated in one thread.

    Every rank runs until it needs a message that is not there. Then the messages are delivered, and every rank runs again
    from its beginning, with the old messages ready. So an endless answer can be stopped like any other.

    Attributes:
        size: Number of ranks.
        sent: Messages that each rank has sent.
        received: Messages that each rank has received.
        chunks: What each rank has in the end.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.sent: list[list[torch.Tensor]] = [[] for _ in range(size)]
        self.received: list[list[torch.Tensor]] = [[] for _ in range(size)]
        self.chunks: list[Any] = [None] * size

    def start(self, rank: int) -> list[torch.Tensor]:
        """Return the chunks with which `rank` begins."""
        return [torch.full((LENGTH,), p * 1000.0**rank, dtype=torch.float64) for p in PRIMES[: self.size]]

    def run(self, answer: Callable[..., Any]) -> None:
        """Run ``answer(chunks, rank, size, exchange)`` on every rank to its end.

        Raises:
            Wrong: The ranks make different numbers of exchanges, or far too many.
        """
        while True:
            done = [self._advance(answer, rank) for rank in range(self.size)]
            if all(done):
                return
            if any(done):
                early, late = done.index(True), done.index(False)
                raise Wrong(
                    en=f"With {self.size} ranks, rank {early} is done after {len(self.sent[early])} exchanges, but rank {late} wants another one: it would wait for ever. All ranks need the same number.",
                    zh=f"{self.size} 個 rank 時，rank {early} 交換 {len(self.sent[early])} 次就結束了，rank {late} 卻還要再交換一次，會永遠等下去。每個 rank 的次數要一樣。",
                )
            if len(self.sent[0]) > 6 * self.size:
                raise Wrong(
                    en=f"With {self.size} ranks, each of yours has made {len(self.sent[0])} exchanges and goes on. {2 * (self.size - 1)} are enough.",
                    zh=f"{self.size} 個 rank 時，每個 rank 已經交換 {len(self.sent[0])} 次，還沒有要停。其實 {2 * (self.size - 1)} 次就夠了。",
                )
            for rank in range(self.size):
                self.received[(rank + 1) % self.size].append(self.sent[rank][-1])

    def _advance(self, answer: Callable[..., Any], rank: int) -> bool:
        """Run `rank` until it needs a message that is not there; return whether it came to its end."""
        chunks, count = self.start(rank), 0

        def exchange(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal count
            if not isinstance(tensor, torch.Tensor):
                raise Wrong(
                    en=f"`exchange` sends one tensor, but you give it a `{type(tensor).__name__}`.",
                    zh=f"`exchange` 一次送一個張量，你給的卻是 `{type(tensor).__name__}`。",
                )
            count += 1
            if count > len(self.received[rank]):
                self.sent[rank].append(tensor.detach().clone())
                raise _MessageMissing
            return self.received[rank][count - 1].clone()

        try:
            answer(chunks, rank, self.size, exchange)
        except _MessageMissing:
            return False
        self.chunks[rank] = chunks
        return True


def examine(answer: Any) -> None:
    """Examine ``ring_all_reduce(chunks, rank, size, exchange)``."""
    for size in SIZES:
        ring = Ring(size)
        ring.run(answer)
        _check_shapes(ring)
        _check_sums(ring)
        _check_traffic(ring)


def _check_shapes(ring: Ring) -> None:
    n = ring.size
    for rank, chunks in enumerate(ring.chunks):
        tensors = [c for c in chunks if isinstance(c, torch.Tensor) and c.shape == (LENGTH,)]
        if not len(tensors) == len(chunks) == n:
            raise Wrong(
                en=f"Afterwards `chunks` should still hold {n} tensors of {LENGTH} numbers each; on rank {rank} it does not.",
                zh=f"做完之後，`chunks` 裡應該還是 {n} 個張量，每個 {LENGTH} 個數字；rank {rank} 上不是這樣。",
            )


def _number(chunk: torch.Tensor) -> float:
    """Return the number with which a chunk is filled, or nan."""
    return float(chunk[0]) if bool((chunk == chunk[0]).all()) else math.nan


def _check_sums(ring: Ring) -> None:
    n = ring.size
    values = torch.tensor(
        [[_number(chunk) for chunk in chunks] for chunks in ring.chunks], dtype=torch.float64
    )
    start = torch.stack([torch.stack(ring.start(rank))[:, 0] for rank in range(n)])  # [rank, chunk]
    right = start.sum(0)
    done = values == right
    if done.all():
        return
    if torch.equal(values, start):
        raise Wrong(
            en="`chunks` is as it was. Write the sums into the list itself (`chunks[…] = …`); what the function returns is not looked at.",
            zh="`chunks` 原封不動。要把總和寫進這個 list（`chunks[…] = …`），函式傳回什麼都不算。",
        )
    if torch.allclose(values, (right / n).expand(n, n), rtol=0, atol=1e-6):
        raise Wrong(
            en="That is the mean over the ranks. Asked for is the sum, as `dist.all_reduce` gives it.",
            zh="這是各個 rank 的平均。題目要的是總和，和 `dist.all_reduce` 一樣。",
        )
    if (done.sum(0) == 1).all() and len(ring.sent[0]) < 2 * (n - 1):
        raise Wrong(
            en=f"Half way: with {n} ranks, each chunk is finished on one of them. Now the finished chunks have to go round as well, in {n - 1} more exchanges.",
            zh=f"完成一半了：{n} 個 rank 時，每一塊都已經在某一個 rank 上加好。接著還要交換 {n - 1} 次，把加好的傳一圈。",
        )
    counts = [_contributions(float(value), c, n) for row in values for c, value in enumerate(row)]
    if all(count is not None and sum(count) == 1 for count in counts):
        raise Wrong(
            en="In the end each place holds the numbers of one rank only. In the first half, the receiver adds what arrives to its own chunk of the same number; in the second half, what was summed goes round.",
            zh="到最後，每一格都只有一個 rank 的數字。前半段收到的，要加到自己編號相同的那一塊；後半段傳的，才是加好的。",
        )
    rank, c = (~done).nonzero()[0].tolist()
    _explain(counts[rank * n + c], rank, c, n)


def _contributions(value: float, chunk: int, size: int) -> list[int] | None:
    """Return how often each rank's chunk was added to get `value`: 14007.0 → [1, 2] for chunk 0 of 2 ranks.

    None if `value` is no sum of chunks of this number.
    """
    if not (value >= 0 and value.is_integer()):  # inf and nan are no integers
        return None
    rest, counts = int(value), []
    for _ in range(size):
        rest, part = divmod(rest, 1000)
        if part % PRIMES[chunk]:
            return None
        counts.append(part // PRIMES[chunk])
    return None if rest else counts


def _explain(counts: list[int] | None, rank: int, c: int, n: int) -> None:
    """Raise the hint for chunk `c` on `rank`, to which each rank's chunk was added `counts` times."""
    where = Bilingual(
        f"With {n} ranks, chunk {c} on rank {rank}", f"{n} 個 rank 時，rank {rank} 上的第 {c} 塊"
    )
    if counts is None:
        raise Wrong(
            en=f"{where.en} is no sum of everybody's chunk {c}: it got mixed up with others. The left neighbour decides which chunk arrives, so the receiver has to count from `rank - 1`.",
            zh=f"{where.zh}不是大家第 {c} 塊的總和，混進了別塊。收到的是哪一塊，由左邊的 rank 決定，所以接收的一方要從 `rank - 1` 算起。",
        )
    more = [other for other, times in enumerate(counts) if times > 1]
    if more:
        raise Wrong(
            en=f"{where.en} holds the numbers of rank {more[0]} {counts[more[0]]} times. Is a chunk sent on that did not just arrive? Or is what arrives in the second half, already finished, added once more instead of kept?",
            zh=f"{where.zh}把 rank {more[0]} 的數字加了 {counts[more[0]]} 次。送出去的，是不是剛收到的那一塊？還是後半段收到已經加好的，沒有直接取代，又加了一次？",
        )
    missing = [str(other) for other, times in enumerate(counts) if not times]
    raise Wrong(
        en=f"{where.en} lacks the numbers of rank {', '.join(missing)}. In each step, a rank passes on the very chunk that it has just received and summed.",
        zh=f"{where.zh}少了 rank {'、'.join(missing)} 的數字。每一步往右送的，就是剛收到、也加好了的那一塊。",
    )


def _check_traffic(ring: Ring) -> None:
    n, s = ring.size, ring.size * LENGTH
    for rank in range(n):
        sent = sum(tensor.numel() for tensor in ring.sent[rank])
        if sent > 2 * (n - 1) * LENGTH:
            raise Wrong(
                en=f"The sums are right, but with {n} ranks, rank {rank} sends {sent} numbers for its {s}. 2(N−1)/N · S = {2 * (n - 1) * LENGTH} are enough: one chunk in each of {2 * (n - 1)} exchanges.",
                zh=f"總和對了，但 {n} 個 rank 時，rank {rank} 只有 {s} 個數字，卻送出 {sent} 個。2(N−1)/N · S = {2 * (n - 1) * LENGTH} 個就夠：交換 {2 * (n - 1)} 次，每次只送一塊。",
            )
