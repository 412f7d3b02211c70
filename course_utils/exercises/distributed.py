"""The exercises of lesson 06: a ring all-reduce, the shares of a sampler, and two scripts that really run in two processes.

What stands in the lesson: the stubs are :data:`STUBS`, the solutions :data:`SOLUTIONS`, both by the exercise's name. (The
answer to the last two is the text of a script. It runs under the launcher on the CPU, so that the verdict is the same
on every machine, and :mod:`course_utils.exercises.observed` notes what it does.)
"""

from __future__ import annotations

import ast
import math
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from course_utils.exercises import Exercise, NotYet, Wrong
from course_utils.exercises.dictionary import filled_in
from course_utils.language import Bilingual

_MEND = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
dist.init_process_group("gloo")
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=32, shuffle=True)
model = torch.nn.Linear(1, 1)
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        print(f"epoch {epoch}: mean loss {loss.item() / 2:.4f}")
dist.destroy_process_group()
"""
_MENDED = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
dist.init_process_group("gloo")
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)  # 1: a share each
model = torch.nn.Linear(1, 1)
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)  # 2: another order
    for x, y in loader:
        loss = ((ddp(x) - y) ** 2).mean()  # 3: through the wrapper
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.all_reduce(loss)  # 4: all ranks take part
    if dist.get_rank() == 0:
        print(f"epoch {epoch}: mean loss {loss.item() / 2:.4f}")
dist.destroy_process_group()
"""
_SINGLE = """
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
loader = DataLoader(dataset, batch_size=64, shuffle=True)
model = torch.nn.Linear(1, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(3):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
"""
_DISTRIBUTED = """
import os
from datetime import timedelta
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpus else torch.device("cpu")
if gpus:
    torch.cuda.set_device(device)
limit = timedelta(seconds=60)
dist.init_process_group("nccl" if gpus else "gloo", timeout=limit)
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=64 // dist.get_world_size(), sampler=sampler)
model = DistributedDataParallel(torch.nn.Linear(1, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"epoch {epoch}: loss {loss.item():.4f}")
dist.destroy_process_group()
"""
_SHARES = {
    "7 samples, rank 0 of 2": [0, 2, 4, 6],
    "7 samples, rank 1 of 2": [1, 3, 5, 0],
    "7 samples, rank 1 of 2, drop_last=True": [1, 3, 5],
    "5 samples, rank 3 of 4": [3, 2],
    "samples in all, 7 over 2 ranks": 8,
    "shuffle=True, no set_epoch: same order in every epoch": True,
}


def _cell(name: str, *values: str) -> str:
    lines = "".join(f"    {key!r}: {value},\n" for key, value in zip(_SHARES, values, strict=True))
    return f"{name} = {{\n{lines}}}\n".replace("'", '"')


STUBS = {
    "ring_all_reduce": '''\
def ring_all_reduce(chunks, rank, size, exchange):
    """Replace each of the `size` chunks by its sum over all ranks, in place.

    `exchange(tensor)` sends a tensor to the right neighbour, rank + 1, and returns
    what the left neighbour has sent in the same moment.
    """
    ...

check("ring_all_reduce", ring_all_reduce)
''',
    "sampler_shares": _cell("answers", *["..."] * len(_SHARES)) + '\ncheck("sampler_shares", answers)\n',
    "mend_ddp": f'script = """{_MEND}"""\ncheck("mend_ddp", script)\n',
    "distribute": f'script = """{_SINGLE}"""\n\ncheck("distribute", script)\n',
}

SOLUTIONS = {
    "ring_all_reduce": """\
def ring_all_reduce(chunks, rank, size, exchange):
    for step in range(size - 1):  # reduce-scatter: pass on what just arrived, summed
        received = exchange(chunks[(rank - step) % size])
        chunks[(rank - step - 1) % size] += received
    for step in range(size - 1):  # all-gather: pass on what is finished
        received = exchange(chunks[(rank - step + 1) % size])
        chunks[(rank - step) % size] = received
""",
    "sampler_shares": _cell("answers", *map(repr, _SHARES.values())),
    "mend_ddp": f'script = """{_MENDED}"""\n',
    "distribute": f'script = """{_DISTRIBUTED}"""\n',
}


# --- a ring all-reduce ---------------------------------------------------------------------------------

LENGTH = 6  # numbers in a chunk
SIZES = (4, 2, 3, 5, 1)  # ranks; first the one with which nearly every mistake shows
PRIMES = (7, 11, 13, 17, 19)  # one for each chunk, so that a sum of different chunks is seen to be one


class _Waits(BaseException):
    """Ends a rank's run where it needs a message that has not been sent yet."""


class Ring:
    """Ranks that exchange messages with their neighbours, all in one thread.

    Every rank is run until it waits for a message. When all have got as far, the messages are delivered, and every
    rank is run again *from its beginning*, with the old messages ready. Thus no rank needs a thread, and an answer that
    never ends can be stopped like any other.

    Args:
        size: Number of ranks.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.sent: list[list[torch.Tensor]] = [[] for _ in range(size)]
        self.received: list[list[torch.Tensor]] = [[] for _ in range(size)]
        self.held: list[Any] = [None] * size

    def start(self, rank: int) -> list[torch.Tensor]:
        """Return the chunks that `rank` brings along: chunk c holds prime c · 1000^rank, so that a sum tells its parts."""
        primes = PRIMES[: self.size]
        return [torch.full((LENGTH,), prime * 1000.0**rank, dtype=torch.float64) for prime in primes]

    def run(self, answer: Callable[..., Any]) -> None:
        """Run ``answer(chunks, rank, size, exchange)`` on every rank to its end."""
        while True:
            done = [self._advance(answer, rank) for rank in range(self.size)]
            if all(done):
                return
            if any(done):
                early, late = done.index(True), done.index(False)
                raise Wrong(
                    en=f"With {self.size} ranks, rank {early} is done after {len(self.sent[early])} exchanges, but rank {late} "
                    "wants another one: it would wait for ever. All ranks need the same number.",
                    zh=f"{self.size} 個 rank 時，rank {early} 交換 {len(self.sent[early])} 次就結束了，rank {late} 卻還要再交換一次，"
                    "會永遠等下去。每個 rank 的次數要一樣。",
                )
            if len(self.sent[0]) > 6 * self.size:
                raise Wrong(
                    en=f"With {self.size} ranks, each of yours has made {len(self.sent[0])} exchanges and goes on. "
                    f"{2 * (self.size - 1)} are enough.",
                    zh=f"{self.size} 個 rank 時，每個 rank 已經交換 {len(self.sent[0])} 次，還沒有要停。其實 {2 * (self.size - 1)} 次就夠了。",
                )
            for rank in range(self.size):
                self.received[(rank + 1) % self.size].append(self.sent[rank][-1])

    def _advance(self, answer: Callable[..., Any], rank: int) -> bool:
        """Run `rank` until it is done, or needs a message that is not there yet."""
        chunks, made = self.start(rank), 0

        def exchange(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal made
            if not isinstance(tensor, torch.Tensor):
                raise Wrong(
                    en=f"`exchange` sends one tensor, but you give it a `{type(tensor).__name__}`.",
                    zh=f"`exchange` 一次送一個張量，你給的卻是 `{type(tensor).__name__}`。",
                )
            made += 1
            if made > len(self.received[rank]):
                self.sent[rank].append(tensor.detach().clone())
                raise _Waits
            return self.received[rank][made - 1].clone()

        try:
            answer(chunks, rank, self.size, exchange)
        except _Waits:
            return False
        self.held[rank] = chunks
        return True


def examine_ring(answer: Any) -> None:
    """Examine ``ring_all_reduce(chunks, rank, size, exchange)``."""
    for size in SIZES:
        ring = Ring(size)
        ring.run(answer)
        _judge_sums(ring)
        _judge_traffic(ring)


def _shares(value: float, chunk: int, size: int) -> list[int] | None:
    """Return how often each rank's numbers are in `value`, or None if it is no sum of such numbers."""
    if value < 0 or not value.is_integer():  # inf and nan are none, either
        return None
    left, parts = int(value), []
    for _ in range(size):
        left, digit = divmod(left, 1000)
        parts.append(digit)
    own = PRIMES[chunk]
    return None if left or any(digit % own for digit in parts) else [digit // own for digit in parts]


def _number(chunk: torch.Tensor) -> float:
    """Return the number that a chunk consists of, or nan."""
    return float(chunk[0]) if bool((chunk == chunk[0]).all()) else math.nan


def _judge_sums(ring: Ring) -> None:
    n = ring.size
    for rank in range(n):
        chunks = ring.held[rank]
        if len(chunks) != n or not all(
            isinstance(chunk, torch.Tensor) and chunk.shape == (LENGTH,) for chunk in chunks
        ):
            raise Wrong(
                en=f"Afterwards `chunks` should still hold {n} tensors of {LENGTH} numbers each; on rank {rank} it does not.",
                zh=f"做完之後，`chunks` 裡應該還是 {n} 個張量，每個 {LENGTH} 個數字；rank {rank} 上不是這樣。",
            )
    values = [[_number(chunk) for chunk in chunks] for chunks in ring.held]
    right = [float(prime * sum(1000**rank for rank in range(n))) for prime in PRIMES[:n]]
    if all(row == right for row in values):
        return
    if all(row == [float(chunk[0]) for chunk in ring.start(rank)] for rank, row in enumerate(values)):
        raise Wrong(
            en="`chunks` is as it was. Write the sums into the list itself (`chunks[…] = …`); what the function returns is "
            "not looked at.",
            zh="`chunks` 原封不動。要把總和寫進這個 list（`chunks[…] = …`），函式傳回什麼都不算。",
        )
    if all(abs(value - sum_ / n) < 1e-6 for row in values for value, sum_ in zip(row, right, strict=True)):
        raise Wrong(
            en="That is the mean over the ranks. Asked for is the sum, as `dist.all_reduce` gives it.",
            zh="這是各個 rank 的平均。題目要的是總和，和 `dist.all_reduce` 一樣。",
        )
    if n > 1 and all(row.count(sum_) for row, sum_ in zip(zip(*values, strict=True), right, strict=True)):
        done = sum(value == sum_ for row in values for value, sum_ in zip(row, right, strict=True))
        if done == n and len(ring.sent[0]) < 2 * (n - 1):
            raise Wrong(
                en=f"Half way: with {n} ranks, each chunk is finished on one of them. Now the finished chunks have to go round "
                f"as well, in {n - 1} more exchanges.",
                zh=f"完成一半了：{n} 個 rank 時，每一塊都已經在某一個 rank 上加好。接著還要交換 {n - 1} 次，把加好的傳一圈。",
            )
    parts = [_shares(value, c, n) for row in values for c, value in enumerate(row)]
    if all(part is not None and sum(part) == 1 for part in parts):
        raise Wrong(
            en="In the end each place holds the numbers of one rank only. In the first half, the receiver adds what arrives to its "
            "own chunk of the same number; in the second half, what was summed goes round.",
            zh="到最後，每一格都只有一個 rank 的數字。前半段收到的，要加到自己編號相同的那一塊；後半段傳的，才是加好的。",
        )
    for rank, row in enumerate(values):
        for c, (value, sum_) in enumerate(zip(row, right, strict=True)):
            if value != sum_:
                _judge_chunk(value, rank, c, n)


def _judge_chunk(value: float, rank: int, c: int, n: int) -> None:
    where = Bilingual(
        f"With {n} ranks, chunk {c} on rank {rank}", f"{n} 個 rank 時，rank {rank} 上的第 {c} 塊"
    )
    shares = _shares(value, c, n)
    if shares is None:
        raise Wrong(
            en=f"{where.en} is no sum of everybody's chunk {c}: it got mixed up with others. The left neighbour decides which "
            "chunk arrives, so the receiver has to count from `rank - 1`.",
            zh=f"{where.zh}不是大家第 {c} 塊的總和，混進了別塊。收到的是哪一塊，由左邊的 rank 決定，所以接收的一方要從 `rank - 1` 算起。",
        )
    more = [other for other, times in enumerate(shares) if times > 1]
    if more:
        raise Wrong(
            en=f"{where.en} holds the numbers of rank {more[0]} {shares[more[0]]} times. Is a chunk sent on that did not just "
            "arrive? Or is what arrives in the second half, already finished, added once more instead of kept?",
            zh=f"{where.zh}把 rank {more[0]} 的數字加了 {shares[more[0]]} 次。送出去的，是不是剛收到的那一塊？還是後半段收到已經加好的，"
            "沒有直接取代，又加了一次？",
        )
    missing = [str(other) for other, times in enumerate(shares) if not times]
    raise Wrong(
        en=f"{where.en} lacks the numbers of rank {', '.join(missing)}. In each step, a rank passes on the very chunk that "
        "it has just received and summed.",
        zh=f"{where.zh}少了 rank {'、'.join(missing)} 的數字。每一步往右送的，就是剛收到、也加好了的那一塊。",
    )


def _judge_traffic(ring: Ring) -> None:
    n, s = ring.size, ring.size * LENGTH
    for rank in range(n):
        sent = sum(tensor.numel() for tensor in ring.sent[rank])
        if sent > 2 * (n - 1) * LENGTH:
            raise Wrong(
                en=f"The sums are right, but with {n} ranks, rank {rank} sends {sent} numbers for its {s}. "
                f"2(N−1)/N · S = {2 * (n - 1) * LENGTH} are enough: one chunk in each of {2 * (n - 1)} exchanges.",
                zh=f"總和對了，但 {n} 個 rank 時，rank {rank} 只有 {s} 個數字，卻送出 {sent} 個。2(N−1)/N · S = "
                f"{2 * (n - 1) * LENGTH} 個就夠：交換 {2 * (n - 1)} 次，每次只送一塊。",
            )


# --- the shares of a sampler ---------------------------------------------------------------------------


def examine_shares(answer: Any) -> None:
    """Examine a dictionary: what DistributedSampler gives to whom (without shuffling, where nothing else is said)."""
    for key, given in filled_in(answer, _SHARES).items():
        right = _SHARES[key]
        if isinstance(right, bool):
            _judge_order(given, key)
        elif isinstance(right, int):
            _judge_total(given, key)
        else:
            _judge_share(given, key, right)


def _judge_share(given: Any, key: str, right: list[int]) -> None:
    if not isinstance(given, (list, tuple, range)) or not all(isinstance(number, int) for number in given):
        raise Wrong(
            en=f"`{key}`: the answer is a list of sample numbers, such as `[0, 1]`.",
            zh=f"`{key}`：答案是樣本編號的 list，例如 `[0, 1]`。",
        )
    given = list(given)
    if given == right:
        return
    samples, rank, ranks = int(key[0]), int(key.split("rank ")[1][0]), int(key.split("of ")[1][0])
    if "drop_last" in key and given == [*right, 0]:
        raise Wrong(
            en=f"`{key}`: with `drop_last=True` nothing is filled up. What would not go round is left out.",
            zh=f"`{key}`：有 `drop_last=True` 就不補，除不盡的直接丟掉。",
        )
    mine = list(range(rank, samples, ranks))
    if given == mine:
        raise Wrong(
            en=f"`{key}`: these are its samples, but every rank gets equally many, or the others would wait for it. What fills up "
            "the last row?",
            zh=f"`{key}`：樣本分對了，但每個 rank 要一樣多，不然別人會等它。最後一輪不夠的，拿什麼來補？",
        )
    if given[: len(mine)] == mine and len(given) == len(right):
        raise Wrong(
            en=f"`{key}`: the number is right. The list is filled up from its beginning (0, 1, …) as far as needed, and only then "
            "dealt out.",
            zh=f"`{key}`：個數對了。不夠的話，是從整份清單的開頭（0、1……）補起，補滿了才發。",
        )
    if len(given) > 1 and given == list(range(given[0], given[0] + len(given))):
        raise Wrong(
            en=f"`{key}`: samples are not cut into blocks. They are dealt out like cards: 0 to rank 0, 1 to rank 1, and so on.",
            zh=f"`{key}`：不是一段一段切的，而是像發牌一樣輪流發：0 給 rank 0，1 給 rank 1，依此類推。",
        )
    raise Wrong(
        en=f"`{key}`: not {given}. Deal the samples out like cards, one to each rank in turn, and see that all get the same number.",
        zh=f"`{key}`：不是 {given}。像發牌一樣，輪流發給每個 rank，再看是不是每個 rank 都一樣多。",
    )


def _judge_total(given: Any, key: str) -> None:
    if given == 7:
        raise Wrong(
            en=f"`{key}`: add up what the two ranks got above. One sample is there twice, and an accuracy counts it twice.",
            zh=f"`{key}`：把上面兩個 rank 拿到的加起來看看。有一個樣本出現兩次，算準確率時也會算兩次。",
        )
    if given != 8 or isinstance(given, bool):
        raise Wrong(
            en=f"`{key}`: how many samples do rank 0 and rank 1 go through together? It is a whole number.",
            zh=f"`{key}`：rank 0 和 rank 1 一共會跑過幾個樣本？答案是整數。",
        )


def _judge_order(given: Any, key: str) -> None:
    if not isinstance(given, bool):
        raise Wrong(
            en=f"`{key}`: answer `True` or `False`.",
            zh=f"`{key}`：請填 `True` 或 `False`。",
        )
    if not given:
        raise Wrong(
            en=f"`{key}`: the order comes from `seed + epoch`, and without `set_epoch` the epoch stays 0.",
            zh=f"`{key}`：順序由 `seed + epoch` 決定；沒有呼叫 `set_epoch`，epoch 就一直是 0。",
        )


# --- scripts in two processes --------------------------------------------------------------------------

LAUNCH_SECONDS = 60.0  # ordinarily 5 or less; the notebook may share the machine
CHECK_SECONDS = 75.0
PROCESSES = 2
EPOCHS, SAMPLES, BATCH, RATE = 3, 640, 64, 0.1  # of both scripts
STEPS = EPOCHS * SAMPLES // BATCH


@dataclass(frozen=True)
class Outcome:
    """What came of running a script in two processes.

    Attributes:
        notes: For each rank what :func:`course_utils.exercises.observed.observe` returned; None if it got no further.
        printed: For each rank the lines that it printed.
        in_time: Whether it ended within its limit.
    """

    notes: tuple[dict[str, Any] | None, ...]
    printed: tuple[tuple[str, ...], ...]
    in_time: bool


_outcomes: dict[str, Outcome] = {}  # by the text of the script: a second look costs nothing


class _Launch(threading.Thread):
    """Runs a script in a thread that nobody interrupts, so that it can tidy up.

    The thread of an answer that is to be stopped is interrupted every few milliseconds, whatever it is doing, also while it
    ends processes and removes folders. This one looks for itself whether its outcome is still wanted.
    """

    def __init__(self, script: str) -> None:
        super().__init__()
        self.script = script
        self.asking = threading.current_thread()
        self.given_up = False
        # Not an Event: an interruption inside its wait() might leave its lock behind.
        self.found: Outcome | None = None
        self.error: BaseException | None = None

    def wanted(self) -> bool:
        return self.asking.is_alive() and threading.main_thread().is_alive() and not self.given_up

    def run(self) -> None:
        try:
            self.found = self._outcome()
        except BaseException as error:
            self.error = error

    def _outcome(self) -> Outcome:
        from course_utils.exercises import observed
        from course_utils.launcher import launch

        with tempfile.TemporaryDirectory(prefix="course-exercise-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / observed.NAME
            path.write_text(self.script, encoding="utf-8")
            run = launch(
                Path(observed.__file__),
                path,
                processes=PROCESSES,
                limit=LAUNCH_SECONDS,
                environment={"CUDA_VISIBLE_DEVICES": ""},
                show="quiet",
                wanted=self.wanted,
            )
        printed = tuple(tuple(text for rank, text in run.lines if rank == mine) for mine in range(PROCESSES))
        return Outcome(tuple(run.results), printed, run.seconds < LAUNCH_SECONDS)


def outcome(script: str) -> Outcome:
    """Run `script` in two processes on the CPU, or remember what came of it before.

    Args:
        script: The text of a Python script.
    """
    if script in _outcomes:
        return _outcomes[script]
    launched = _Launch(script)
    launched.start()
    try:
        while launched.found is None and launched.error is None:
            time.sleep(0.02)
    finally:
        launched.given_up = True
    if launched.found is None:
        raise launched.error
    if launched.found.in_time:  # else the machine may have been busy: the next try may say more
        _outcomes[script] = launched.found
    return launched.found


def _load() -> None:
    """Make Python load what the checks need, so that the learner's time limit does not pay for it."""
    import torch.utils.data.distributed  # noqa: F401

    from course_utils.exercises import observed  # noqa: F401
    from course_utils.launcher import blame, box, run, starting  # noqa: F401


def _parsed(answer: Any, stub: str) -> tuple[str, ast.Module]:
    """Return the script and its syntax tree."""
    if not isinstance(answer, str):
        raise Wrong(
            en=f'The answer is the text of a script, between `"""` and `"""`; yours is a `{type(answer).__name__}`.',
            zh=f'答案是程式的內容，寫在 `"""` 和 `"""` 之間的字串；你給的卻是 `{type(answer).__name__}`。',
        )
    try:
        text = answer.rstrip() + "\n"  # its first lines stay: they are counted as in the learner's cell
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Wrong(
            en=f"Python cannot read line {error.lineno} of your script: {error.msg}.",
            zh=f"Python 看不懂程式的第 {error.lineno} 行：{error.msg}。",
        ) from None
    if not tree.body or ast.dump(tree) == ast.dump(ast.parse(stub)):
        raise NotYet(
            en="Not yet: change the text of the script, and run the cell again.",
            zh="還沒完成：修改程式的內容，再執行一次。",
        )
    return text, tree


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    """Yield every call of something called `name`, with or without its module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called == name:
                yield node


_COLLECTIVES = ("all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "barrier")


def _not_by_all(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Yield every collective that stands in one branch of an ``if`` about the rank, and not in the other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "rank" in ast.unparse(node.test):
            for name in _COLLECTIVES:
                calls = [
                    [call for part in side for call in _calls(part, name)]
                    for side in (node.body, node.orelse)
                ]
                if not all(calls):
                    yield from ((call, name) for side in calls for call in side)


def _must_load_shares(tree: ast.Module) -> None:
    """Require a sampler in the loader and a new order in every epoch, as far as the text shows them."""
    if not any(_calls(tree, "DistributedSampler")):
        raise Wrong(
            en="There is no `DistributedSampler`: both processes would go through all 640 samples, and do the same work twice.",
            zh="沒有 `DistributedSampler`：兩個行程都會跑完全部 640 個樣本，同樣的工作做兩遍。",
        )
    for call in _calls(tree, "DataLoader"):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "sampler" not in given and "batch_sampler" not in given and len(call.args) < 4:
            raise Wrong(
                en="The `DataLoader` knows nothing of the sampler, so both processes go through all samples. Hand it over.",
                zh="`DataLoader` 不知道有 sampler，所以兩個行程都會跑完全部的樣本。把 sampler 交給它吧。",
            )
        shuffle = given.get("shuffle")
        if isinstance(shuffle, ast.Constant) and shuffle.value:
            raise Wrong(
                en="`shuffle=True` and a sampler exclude each other: with a sampler, it is the sampler that shuffles, and "
                "`DistributedSampler` does so by itself.",
                zh="`shuffle=True` 和 sampler 不能同時用：有 sampler，就由 sampler 洗牌，`DistributedSampler` 本來就會洗。",
            )
    if not any(_calls(tree, "set_epoch")):
        raise Wrong(
            en="Without `sampler.set_epoch(epoch)` every epoch has the same order. It belongs at the start of each epoch.",
            zh="沒有 `sampler.set_epoch(epoch)`，每個 epoch 的順序都一樣。每個 epoch 一開始就要呼叫。",
        )


_OUT_OF_STEP = re.compile(
    r"timed? ?out|closed by peer|reset by peer|[Bb]roken pipe|pair closure|DistNetworkError|op\.preamble",
    re.I,
)


def _run(script: str) -> tuple[list[dict[str, Any]], tuple[tuple[str, ...], ...]]:
    """Run the script and return each rank's notes and lines, unless it ended badly."""
    found = outcome(script)
    raised = [
        (rank, notes["line"], notes["raised"])
        for rank, notes in enumerate(found.notes)
        if notes and "raised" in notes
    ]
    causes = [one for one in raised if not _OUT_OF_STEP.search(one[2])]
    if causes:
        rank, line, text = causes[0]
        text = text.splitlines()[0].replace("`", "'").rstrip(".") if text else ""
        raise Wrong(
            en=f"Rank {rank} of your script stopped in line {line}: {text[:300]}.",
            zh=f"程式的 rank {rank} 停在第 {line} 行：{text[:300]}。",
        )
    if raised or None in found.notes:
        en, zh = (f" (line {raised[0][1]})", f"（第 {raised[0][1]} 行）") if raised else ("", "")
        raise Wrong(
            en="The processes got out of step: one waits in a collective for another that is somewhere else, or gone"
            f"{en}. Does every rank call the same collectives, in the same order?",
            zh=f"兩個行程的步調亂了：一個在集體通訊裡等，另一個卻在別處，或是已經結束{zh}。每個 rank 呼叫的集體通訊都一樣嗎？順序也一樣嗎？",
        )
    return [notes for notes in found.notes if notes], found.printed


def _one_process(start: list[float], batches: list[list[int]]) -> tuple[list[float], list[float]]:
    """Train as one process would with these batches; return the parameters at the end and the loss of every step."""
    x = torch.linspace(-3, 3, SAMPLES)
    y = torch.sin(x)
    (slope, offset), losses = start, []
    for batch in batches:
        inputs, targets = x[batch], y[batch]
        error = slope * inputs + offset - targets
        losses.append(float((error**2).mean()))
        slope -= RATE * float((2 * error * inputs).mean())
        offset -= RATE * float((2 * error).mean())
    return [slope, offset], losses


def _close(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(abs(a - b) <= 1e-4 for a, b in zip(one, other, strict=True))


def _among(numbers: list[float], wanted: list[float]) -> bool:
    """Return whether the `wanted` numbers are there, in their order, perhaps with others in between."""
    left = iter(numbers)
    return all(any(abs(number - one) <= 1e-3 for number in left) for one in wanted)


def _must_train_alike(notes: list[dict[str, Any]]) -> list[float]:
    """Require that the two processes together do what one would do; return the loss of every step over both."""
    first, second = notes
    if not _close(first["end"], second["end"]) or not _close(first["start"], second["start"]):
        if first["forwards"]:
            raise Wrong(
                en="After training, the two processes hold different weights, although the model is wrapped. Does every forward "
                "pass go through the wrapped model, and none of them inside `no_sync`?",
                zh="模型明明包裝過了，訓練完，兩個行程的權重卻不一樣。每一次前向傳播，呼叫的都是包裝過的模型嗎？有沒有哪一次寫在 `no_sync` 裡面？",
            )
        raise Wrong(
            en="After training, the two processes hold different weights: nobody averages the gradients, or they did not start "
            "alike. `DistributedDataParallel` sees to both, if the forward pass goes through the model that it returns.",
            zh="訓練完，兩個行程的權重不一樣：不是沒有人把梯度平均起來，就是一開始就不同。這兩件事 `DistributedDataParallel` 都會處理，"
            "前提是前向傳播要呼叫它傳回的模型。",
        )
    batches = [[*a, *b] for a, b in zip(first["samples"], second["samples"], strict=False)]
    epoch = [sample for batch in batches[: len(batches) // EPOCHS] for sample in batch]
    if len(set(epoch)) < len(epoch):
        raise Wrong(
            en=f"In the first epoch, {len(epoch) - len(set(epoch))} samples come up twice: both processes work on them. Let "
            "`DistributedSampler` find out by itself how many ranks there are and which one it serves.",
            zh=f"第一個 epoch 裡，有 {len(epoch) - len(set(epoch))} 個樣本出現兩次：兩個行程都在處理。有幾個 rank、自己是哪一個，"
            "讓 `DistributedSampler` 自己去問。",
        )
    if len(first["samples"]) != STEPS or len(second["samples"]) != STEPS:
        at_once = len(batches[0]) if batches else 0
        if at_once and at_once != BATCH:
            raise Wrong(
                en=f"One process took {BATCH} samples per step; now both together take {at_once}. For the same training, a "
                "process takes its share of the batch.",
                zh=f"原本一個行程每一步用 {BATCH} 個樣本，現在兩個行程合起來用 {at_once} 個。要做同樣的訓練，每個行程就只能拿批次裡自己那一份。",
            )
        raise Wrong(
            en=f"There should be {STEPS} steps, {EPOCHS} epochs of {SAMPLES} samples, but rank 0 makes {len(first['samples'])}. "
            "The training itself should stay as it was.",
            zh=f"應該有 {STEPS} 步：{EPOCHS} 個 epoch，每個 {SAMPLES} 個樣本；rank 0 卻做了 {len(first['samples'])} 步。訓練本身應該維持原樣。",
        )
    epochs = [batches[k * STEPS // EPOCHS :] for k in range(EPOCHS)]
    if sorted(epochs[0][0]) == sorted(epochs[1][0]):
        raise Wrong(
            en=f"Every epoch has the same order: `set_epoch` got {first['epochs']}. Give it the number of the epoch, "
            "and let the sampler shuffle.",
            zh=f"每個 epoch 的順序都一樣：`set_epoch` 收到的是 {first['epochs']}。要給它 epoch 的編號，也要讓 sampler 洗牌。",
        )
    end, losses = _one_process(first["start"], batches) if len(first["start"]) == 2 else ([], [])
    if not _close(first["end"], end):
        raise Wrong(
            en="The two processes agree, but they end with other weights than one process with the same batches. Leave "
            "model, learning rate, loss and optimizer as they were; the gradient has to be the **mean** over the processes.",
            zh="兩個行程的權重一樣，卻和一個行程用同樣的批次訓練出來的不同。模型、學習率、損失、最佳化器都要維持原樣；梯度要取各行程的**平均**。",
        )
    return losses


def _must_print_once(printed: tuple[tuple[str, ...], ...]) -> None:
    if any(printed[1:]):
        raise Wrong(
            en=f"Rank 1 prints as well: {_first(printed[1])}. One rank is enough for that.",
            zh=f"rank 1 也在印：{_first(printed[1])}。由一個 rank 印就好。",
        )
    if len(printed[0]) < EPOCHS:
        raise Wrong(
            en=f"Rank 0 should print one line in each of the {EPOCHS} epochs, but it prints {len(printed[0])} in all.",
            zh=f"{EPOCHS} 個 epoch 裡，rank 0 每個都應該印一行，總共卻只印了 {len(printed[0])} 行。",
        )


def _first(lines: tuple[str, ...]) -> str:
    return f"`{lines[0][:100].replace('`', chr(39))}`"


def examine_mended(answer: Any) -> None:
    """Examine the text of the mended script."""
    text, tree = _parsed(answer, _MEND)
    _must_load_shares(tree)
    for call, name in _not_by_all(tree):
        raise Wrong(
            en=f"Line {call.lineno}: only some ranks come to this `{name}`. A collective returns when **all** ranks have called "
            "it, so those wait for ever.",
            zh=f"第 {call.lineno} 行：這個 `{name}` 只有部分 rank 會執行到。集體通訊要**所有的** rank 都呼叫了才會傳回，先到的會永遠等下去。",
        )
    notes, printed = _run(text)
    losses = _must_train_alike(notes)
    _must_print_once(printed)
    wanted = losses[STEPS // EPOCHS - 1 :: STEPS // EPOCHS]
    numbers = [float(found) for line in printed[0] for found in re.findall(r"\d+\.\d+", line)]
    if _among(numbers, wanted):
        return
    if _among(numbers, [PROCESSES * loss for loss in wanted]):
        raise Wrong(
            en="What is printed is the sum of the losses of both processes. For the mean, divide by their number.",
            zh="印出來的是兩個行程的損失總和。要的是平均，還得除以行程的個數。",
        )
    raise Wrong(
        en=f"The mean loss of both processes is {wanted[0]:.4f} after the first epoch, but your script prints "
        f"{_first(printed[0])}. Is the loss of the other process in it?",
        zh=f"第一個 epoch 結束時，兩個行程的平均損失是 {wanted[0]:.4f}，你的程式印出 {_first(printed[0])}。另一個行程的損失，算進去了嗎？",
    )


def examine_distributed(answer: Any) -> None:
    """Examine the text of the script that was made distributed."""
    text, tree = _parsed(answer, _SINGLE)
    if not any(_calls(tree, "init_process_group")):
        raise Wrong(
            en="The processes do not know of each other yet: there is no `init_process_group`.",
            zh="兩個行程還不知道彼此的存在：沒有 `init_process_group`。",
        )
    for call in _calls(tree, "init_process_group"):
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "backend")]
        if any(isinstance(one, ast.Constant) and one.value == "nccl" for one in given):
            raise Wrong(
                en="`nccl` needs a GPU for every process, and the script should run without as well: then the backend is `gloo`.",
                zh="`nccl` 要每個行程各有一張 GPU；程式在沒有 GPU 的機器上也要能跑，這時後端要用 `gloo`。",
            )
    if not re.search("local_?rank", text, re.I):
        raise Wrong(
            en='`"cuda"` means the same GPU in both processes. Which one is this process\'s own? torchrun says so in the variable '
            "`LOCAL_RANK`.",
            zh='在兩個行程裡，`"cuda"` 指的都是同一張 GPU。自己該用哪一張，torchrun 寫在環境變數 `LOCAL_RANK` 裡。',
        )
    _must_load_shares(tree)
    notes, printed = _run(text)
    _must_train_alike(notes)
    _must_print_once(printed)
    if any(one["open"] for one in notes):
        raise Wrong(
            en="All right, except for the end: close the process group with `dist.destroy_process_group()`.",
            zh="都對了，只差結尾：用 `dist.destroy_process_group()` 關閉行程群組。",
        )


# --- the list ------------------------------------------------------------------------------------------

EXERCISES = (
    Exercise(
        "ring_all_reduce",
        "06",
        Bilingual("a ring all-reduce", "環狀的全歸約"),
        examine_ring,
        (
            Bilingual(
                "Look at one chunk only: it travels once round the ring and grows, then once more, finished.",
                "只看其中一塊：它先走一圈，一路加上去；加好了，再走一圈發給大家。",
            ),
            Bilingual(
                "Before the first exchange, rank r sends chunk r. What arrives from the left, then, is chunk r − 1, and that is "
                "the one to send next.",
                "第一次交換，rank r 送第 r 塊。這時從左邊收到的是第 r − 1 塊，下一次要送的就是它。",
            ),
            Bilingual(
                "After size − 1 exchanges, chunk r + 1 is finished on rank r. It starts the second half, in which "
                "nothing is added. `%` keeps the numbers in the ring.",
                "交換 size − 1 次之後，rank r 手上加好的是第 r + 1 塊。後半段就從它開始，而且不再相加。用 `%` 讓編號接成一圈。",
            ),
        ),
    ),
    Exercise(
        "sampler_shares",
        "06",
        Bilingual("who gets which sample", "哪些樣本歸誰"),
        examine_shares,
        (
            Bilingual(
                "Write the sample numbers in a row and deal them out like cards.",
                "把樣本編號排成一列，像發牌一樣輪流發。",
            ),
            Bilingual(
                "All hands must hold equally many cards: the row is first filled up from its own beginning.",
                "每個人的牌要一樣多：先用這一列開頭的編號把不夠的補滿，再發。",
            ),
            Bilingual(
                "`list(DistributedSampler(range(7), num_replicas=2, rank=1, shuffle=False))` needs no second process.",
                "`list(DistributedSampler(range(7), num_replicas=2, rank=1, shuffle=False))` 不用第二個行程也能試。",
            ),
        ),
        prepare=_load,
    ),
    Exercise(
        "mend_ddp",
        "06",
        Bilingual("mend a DDP script", "修好 DDP 程式"),
        examine_mended,
        (
            Bilingual(
                "One mistake is in how the data are loaded, one at the start of an epoch, one in the forward pass, one behind the "
                "epoch.",
                "四個錯：一個在載入資料，一個在每個 epoch 的開頭，一個在前向傳播，一個在 epoch 結束之後。",
            ),
            Bilingual(
                "`sampler` and `ddp` are made. Who uses them?",
                "`sampler` 和 `ddp` 都建立好了，有誰在用？",
            ),
            Bilingual(
                "A collective belongs outside of every `if` that asks for the rank; the `print` inside.",
                "集體通訊要放在判斷 rank 的 `if` 外面，`print` 才放裡面。",
            ),
        ),
        prepare=_load,
        seconds=CHECK_SECONDS,
    ),
    Exercise(
        "distribute",
        "06",
        Bilingual("make a script distributed", "把程式改成分散式"),
        examine_distributed,
        (
            Bilingual(
                "Six places change: process group, device, data, model, the start of an epoch, the printing. And one line at the end.",
                "要改六個地方：行程群組、裝置、資料、模型、每個 epoch 的開頭、印出結果的地方。結尾還要再加一行。",
            ),
            Bilingual(
                "torchrun sets `LOCAL_RANK`, `LOCAL_WORLD_SIZE` and what `init_process_group` needs. With fewer GPUs than local "
                "ranks: `gloo` and the CPU.",
                "torchrun 會設定 `LOCAL_RANK`、`LOCAL_WORLD_SIZE`，以及 `init_process_group` 要的東西。GPU 的數目比這台機器上的 rank 少，就用 `gloo` 和 CPU。",
            ),
            Bilingual(
                "A sampler for the loader (instead of shuffling there), `64 // dist.get_world_size()` samples at once, and the "
                "model wrapped after it was moved.",
                "載入器改用 sampler（不用它自己洗牌），一次拿 `64 // dist.get_world_size()` 個樣本；模型先搬到裝置，再包裝。",
            ),
        ),
        prepare=_load,
        seconds=CHECK_SECONDS,
    ),
)
