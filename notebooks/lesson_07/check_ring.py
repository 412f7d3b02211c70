"""Check the exercise ``ring_all_reduce``: run the answer on a ring of threads, then compare sums and traffic.

Chunk c of rank r is filled with ``PRIMES[c] * 1000**r``, so a number tells which chunks of which ranks were added up. With 2
ranks, chunk 0 is 7 on rank 0 and 7000 on rank 1; 7007 is their sum, 14007 has rank 1's chunk twice, and 11007 mixes two chunks.
"""

from __future__ import annotations

import ctypes
import math
import queue
import threading
from collections.abc import Callable
from typing import Any

import torch

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Wrong
from lesson_07.ring_all_reduce import draw_cells

LENGTH = 6  # numbers in a chunk
SIZES = (4, 2, 3, 5, 1)  # numbers of ranks; with 4, nearly every mistake shows
PRIMES = (7, 11, 13, 17, 19)


class _Stop(BaseException):
    """Ends a rank that waits for a message; no ``except Exception`` catches it."""


class _Rank(threading.Thread):
    """One rank: a thread that runs the answer, and waits in each exchange until the ring goes on.

    Attributes:
        chunks: What the rank has.
        sent: Messages that it has sent.
        held: Its chunks after each step.
        ended: Whether the answer has returned or raised.
        error: What the answer has raised.
    """

    def __init__(self, answer: Callable[..., Any], rank: int, size: int) -> None:
        super().__init__(daemon=True)
        self.rank, self.size, self.answer = rank, size, answer
        self.chunks: list[Any] = first_chunks(rank, size)
        self.sent: list[torch.Tensor] = []
        self.held: list[list[Any]] = []
        self.ended, self.error = False, None
        self.inbox: queue.Queue[torch.Tensor | None] = queue.Queue()
        self.waits = threading.Semaphore(0)  # released when the rank has sent something, or has ended

    def run(self) -> None:
        try:
            if self.inbox.get() is not None:
                self.answer(self.chunks, self.rank, self.size, self.exchange)
        except BaseException as error:  # also SystemExit: the ring decides what becomes of it
            self.error = error
        self.note()
        self.ended = True
        self.waits.release()

    def note(self) -> None:
        """Keep a copy of the chunks as they are now."""
        if isinstance(self.chunks, list):
            self.held.append([c.clone() if isinstance(c, torch.Tensor) else c for c in self.chunks])

    def exchange(self, tensor: torch.Tensor) -> torch.Tensor:
        """Send `tensor` to the right neighbour, and return what the left one has sent."""
        if not isinstance(tensor, torch.Tensor):
            raise Wrong(
                en=f"`exchange` sends one tensor, but you give it a `{type(tensor).__name__}`.",
                zh=f"`exchange` 一次送一個張量，你給的卻是 `{type(tensor).__name__}`。",
            )
        self.note()
        self.sent.append(tensor.detach().clone())
        self.waits.release()
        arrived = self.inbox.get()
        if arrived is None:
            raise _Stop
        return arrived.clone()

    def advance(self, message: torch.Tensor) -> None:
        """Let the rank go on until its next exchange or its end."""
        self.inbox.put(message)
        self.waits.acquire()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """End the thread, where it waits and where it computes without end."""
        self.inbox.put(None)
        if self.ident and not self.ended:
            thread = ctypes.c_ulong(self.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_Stop))


class Ring:
    """Ranks that exchange messages with their neighbours: a thread each, one after the other, step by step.

    Args:
        size: Number of ranks.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.ranks: list[_Rank] = []

    @property
    def chunks(self) -> list[Any]:
        """What each rank has in the end."""
        return [rank.chunks for rank in self.ranks]

    @property
    def sent(self) -> list[list[torch.Tensor]]:
        """The messages that each rank has sent."""
        return [rank.sent for rank in self.ranks]

    def run(self, answer: Callable[..., Any]) -> None:
        """Run ``answer(chunks, rank, size, exchange)`` on every rank to its end.

        Raises:
            Wrong: The ranks make different numbers of exchanges, or far too many.
        """
        self.ranks = [_Rank(answer, rank, self.size) for rank in range(self.size)]
        try:
            for rank in self.ranks:
                rank.start()
            messages = [torch.empty(0)] * self.size  # the first one only starts a rank
            while not self._over():
                for rank, message in zip(self.ranks, messages, strict=True):
                    rank.advance(message)
                messages = [rank.sent[-1] if rank.sent else torch.empty(0) for rank in self.ranks]
                messages = messages[-1:] + messages[:-1]
        finally:
            for rank in self.ranks:
                rank.stop()

    def _over(self) -> bool:
        """Return whether all ranks are done; raise the hint if only some are, or if they never will be."""
        done, sent = [rank.ended for rank in self.ranks], self.sent
        if any(done) and not all(done):
            early, late = done.index(True), done.index(False)
            raise Wrong(
                en=f"With {self.size} ranks, rank {early} is done after {len(sent[early])} exchanges, but rank {late} wants another one: it would wait for ever. All ranks need the same number.",
                zh=f"{self.size} 個 rank 時，rank {early} 交換 {len(sent[early])} 次就結束了，rank {late} 卻還要再交換一次，會永遠等下去。每個 rank 的次數要一樣。",
            )
        if len(sent[0]) > 6 * self.size:
            raise Wrong(
                en=f"With {self.size} ranks, each of yours has made {len(sent[0])} exchanges and goes on. {2 * (self.size - 1)} are enough.",
                zh=f"{self.size} 個 rank 時，每個 rank 已經交換 {len(sent[0])} 次，還沒有要停。其實 {2 * (self.size - 1)} 次就夠了。",
            )
        return all(done)


def first_chunks(rank: int, size: int) -> list[torch.Tensor]:
    """Return the chunks with which `rank` begins."""
    return [torch.full((LENGTH,), p * 1000.0**rank, dtype=torch.float64) for p in PRIMES[:size]]


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
    start = torch.stack([torch.stack(first_chunks(rank, n))[:, 0] for rank in range(n)])  # [rank, chunk]
    right = start.sum(0)
    done = values == right
    if done.all():
        return
    if torch.equal(values, start):
        raise Wrong(
            en="`chunks` is as it was. Write the sums into the list itself (`chunks[…] = …`); what the function returns is not looked at.",
            zh="`chunks` 原封不動。要把總和寫進這個 list（`chunks[…] = …`），函式的傳回值不會採用。",
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
            zh=f"{where.zh}把 rank {more[0]} 的數字加了 {counts[more[0]]} 次。是不是有一步送出的不是剛收到的那一塊？還是後半段收到加好的那一塊時，沒有直接取代，又加了一次？",
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


SHOWN = 4  # ranks in the picture
STEPS = 2 * (SHOWN - 1)


def pictured(answer: Any) -> figures.Picture:
    """Draw what each of four ranks holds at the start and after each of the first six steps."""
    ring = Ring(SHOWN)
    try:
        ring.run(answer)
    except Wrong:  # the card says what; the picture shows how far it came
        pass
    figure, rows = figures.new(height=4.4, rows=2, columns=4, squeeze=False)
    finished = [0] * (STEPS + 1)
    for step, axes in enumerate(rows.flat):
        if step > STEPS:
            axes.axis("off")
            continue
        held = [_origins(rank.held[min(step, len(rank.held) - 1)]) for rank in ring.ranks]
        finished[step] = sum(counts == [1] * SHOWN for row in held for counts in row)
        draw_cells(axes, held)
        axes.set_title(f"{step}", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks(range(SHOWN), [str(rank) for rank in range(SHOWN)])
    rows[0][0].set_ylabel("rank")
    rows[1][0].set_ylabel("rank")
    exchanges = len(ring.sent[0])
    return figures.Picture(
        figure,
        Bilingual(
            f"Your ring of {SHOWN} ranks: what each holds at the start (0) and after each step. A column is a chunk, a colour "
            f"a rank whose numbers are in it, a dark frame the sum. Rank 0 makes {exchanges} exchanges; "
            f"in the end {finished[-1]} of {SHOWN**2} places hold the sum.",
            f"你的環有 {SHOWN} 個 rank，畫出開始時（0）與每一步之後各 rank 的內容。每一欄是一塊，每種顏色代表加了哪個 rank 的數字，深色框就是總和。"
            f"rank 0 交換了 {exchanges} 次，最後 {SHOWN**2} 格裡有 {finished[-1]} 格是總和。",
        ),
        Bilingual(
            f"Grids of {SHOWN} ranks and {SHOWN} chunks, one for each step; places with the sum: {', '.join(map(str, finished))}.",
            f"每一步一張方格圖，{SHOWN} 個 rank、{SHOWN} 塊；是總和的格數依序為 {'、'.join(map(str, finished))}。",
        ),
    )


def _origins(chunks: list[Any]) -> list[list[int] | None]:
    """Return for each chunk how often each rank's numbers are in it, or None where it is something else."""
    found = []
    for place in range(SHOWN):
        chunk = chunks[place] if place < len(chunks) else None
        fits = isinstance(chunk, torch.Tensor) and chunk.shape == (LENGTH,)
        found.append(_contributions(_number(chunk), place, SHOWN) if fits else None)
    return found
