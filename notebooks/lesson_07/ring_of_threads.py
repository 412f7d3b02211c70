"""A ring of threads in which the exercise ``ring_all_reduce`` runs, and whose numbers tell where they came from.

Chunk c of rank r is filled with ``PRIMES[c] * 1000**r``, so a number tells which chunks of which ranks were added up. With 2
ranks, chunk 0 is 7 on rank 0 and 7000 on rank 1; 7007 is their sum, 14007 has rank 1's chunk twice, and 11007 mixes two chunks.
"""

import ctypes
import math
import queue
import threading
from collections.abc import Callable
from typing import Any

import torch

from course_utils.exercises import Mistake

LENGTH = 6  # numbers in a chunk
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
            raise Mistake("sends_no_tensor", kind=type(tensor).__name__)
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
            Mistake: The ranks make different numbers of exchanges, or far too many.
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
        """Return whether all ranks are done; raise a Mistake if only some are, or if they never will be."""
        done, sent = [rank.ended for rank in self.ranks], self.sent
        if any(done) and not all(done):
            early, late = done.index(True), done.index(False)
            raise Mistake("waits_for_ever", size=self.size, early=early, made=len(sent[early]), late=late)
        if len(sent[0]) > 6 * self.size:
            raise Mistake("goes_on", size=self.size, made=len(sent[0]), enough=2 * (self.size - 1))
        return all(done)


def first_chunks(rank: int, size: int) -> list[torch.Tensor]:
    """Return the chunks with which `rank` begins."""
    return [torch.full((LENGTH,), p * 1000.0**rank, dtype=torch.float64) for p in PRIMES[:size]]


def number(chunk: torch.Tensor) -> float:
    """Return the number with which a chunk is filled, or nan."""
    return float(chunk[0]) if bool((chunk == chunk[0]).all()) else math.nan


def contributions(chunk: Any, place: int, size: int) -> list[int] | None:
    """Return how often each rank's chunk was added to get `chunk`: 14007.0 → [1, 2] for chunk 0 of 2 ranks.

    Args:
        chunk: What a rank holds; anything.
        place: The number of the chunk.
        size: How many ranks there are.

    Returns:
        None if it is no sum of chunks of this number.
    """
    if not isinstance(chunk, torch.Tensor) or chunk.shape != (LENGTH,):
        return None
    value = number(chunk)
    if not (value >= 0 and value.is_integer()):  # inf and nan are no integers
        return None
    rest, counts = int(value), []
    for _ in range(size):
        rest, part = divmod(rest, 1000)
        if part % PRIMES[place]:
            return None
        counts.append(part // PRIMES[place])
    return None if rest else counts
