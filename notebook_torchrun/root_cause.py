"""Find the root-cause rank. Later failures (timeouts, closed connections) are consequences."""

import linecache
import os
import re
import signal
from dataclasses import replace
from enum import IntEnum
from pathlib import Path

from notebook_torchrun.rank import consequence
from notebook_torchrun.result import Failure, Run

_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (.+)')  # in what faulthandler writes
_LIBRARIES = re.compile(r'(?<=File ")[^"]*[/\\](?:site-packages|dist-packages|python3\.\d+)[/\\]')
_LIKELY_WAITS = re.compile(r"torch/(autograd|cuda)|\.(item|tolist|cpu|numpy)\(")
LAST_LINES = 10  # that are shown of a rank without a traceback


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _place(stacks: str) -> str:
    """Return where a rank's main thread was, as a traceback with the most recent call last, or ""."""
    lines = re.findall(r"^Fatal .*", stacks, re.M)[:1]
    main_thread = re.split(r"^(?=Thread 0x|Current thread 0x)", stacks, flags=re.M)[-1]  # the oldest
    for file, number, name in reversed(_FRAME.findall(main_thread)):
        if not re.search(r"notebook_torchrun[/\\](agent|fork_server|rank)\.py$", file):
            lines.append(f'  File "{file}", line {number}, in {name}')
            lines += filter(None, ["    " + linecache.getline(file, int(number)).strip()])
    return "\n".join(lines)


def _waiting(where: str) -> int:
    """Return how surely a rank only waits for others: 2 in a collective, 1 where that is likely, else 0.

    Likely in a backward pass, and where Python waits for the GPU: NCCL's collectives run there.
    """
    _, known, last = where.replace("\\", "/").rpartition('File "')
    if not known:  # no place, but a printed line
        return 0
    return 2 if "torch/distributed" in last else int(bool(_LIKELY_WAITS.search(last)))


class Order(IntEnum):
    """What to name first; the lower, the likelier a rank's end is the cause of the others'."""

    CAUSE = 0
    BUSY = 1  # somewhere else than in a collective, when the time was up
    WAITED = 2  # too long for another one; this and the next as in `consequence`
    LOST = 3  # its connection to another one
    STOPPED = 4  # or still waiting, when the job was over
    DONE = 5


End = tuple[
    Order, int, tuple[str, str, int | None]
]  # when it ended, if that is known; kind, text and status of a failure


def _end(own: dict, status: int, why: str, where: str, printed: list[str]) -> End:
    """Return how a rank ended: `own` are its records, `status` is what torchrun saw, `where` is its place if it wrote that."""
    last, when, waiting = "\n".join(printed[-LAST_LINES:]), own.get("time", 0), _waiting(where)
    if "raised" in own:
        return Order(consequence(own["message"])), when, ("raised", own["raised"], 1)
    if "exited" in own:
        return Order.CAUSE, when, ("exited", last, own["exited"])
    if status:
        aborted = status == -signal.SIGABRT  # as NCCL does to a rank that waited too long
        order = Order(consequence("\n".join(printed))) if aborted else Order.CAUSE
        return order, 0, ("killed" if status < 0 else "exited", where or last, status)
    if why == "limit" and (where or "done" not in own):
        order = Order.STOPPED if waiting else Order.BUSY
        return order, bool(where) + waiting, ("hangs", where or last, None)
    if "done" in own:
        return Order.DONE, when, ("done", last, 0)
    return Order.STOPPED, waiting, ("stopped", where or last, None)  # because another one had failed


def find_failures(
    folder: Path, run: Run, facts: dict, why: str, statuses: dict[int, int], script: Path
) -> list[Failure]:
    """Return what went wrong in the last start of the job: the cause first, then the other ranks.

    Args:
        folder: The run's folder, with the output of torchrun and the stacks of the ranks.
        run: What was printed, by which rank.
        facts: The records of the ranks (:attr:`LogReader.facts`).
        why: Why the job is over: ``"failed"`` or ``"limit"``.
        statuses: With which exit status torchrun saw a rank fail (``ChildFailedError``).
        script: The worker; its folder is left out of tracebacks.
    """

    def short(text: str) -> str:
        return _LIBRARIES.sub("", text.replace(f"{script.parent.parent}{os.sep}", ""))

    log = _read(folder / "torchrun.log").strip()[-3000:]
    torchrun = Failure(None, "exited" if facts or why != "limit" else "hangs", log, None)
    if not facts:
        return [torchrun]
    if len(statuses) > 1:  # torchrun terminates the others when one has failed
        statuses = {rank: status for rank, status in statuses.items() if status != -signal.SIGTERM}
    found = []
    for rank in range(run.ranks):
        where = short(_place(_read(folder / f"{run.restarts}-{rank}.stacks")))
        own = facts.get((run.restarts, rank), {})
        order, when, (kind, text, status) = _end(own, statuses.get(rank, 0), why, where, run.printed(rank))
        text = short(text) if kind == "raised" else text
        found.append((order, when, rank, Failure(rank, kind, text, status)))
    found.sort(key=lambda item: item[:3])
    failures = _ordered(found)
    return [torchrun] * (failures[0].kind in ("stopped", "done")) + failures


def _ordered(found: list[tuple[Order, int, int, Failure]]) -> list[Failure]:
    """Return the failures, sorted by order, time and rank, with the one to name in front."""
    # The choice must not depend on chance, else the box would: if ranks made the same mistake, the lowest is named.
    first = _gist(found[0][3])
    failures = [
        f for *_, f in sorted(found, key=lambda item: item[2] if _gist(item[3]) == first else len(found))
    ]
    if found[0][0] != Order.WAITED:
        return failures
    # It waited for ranks that were busy elsewhere and had to be stopped: they are the cause.
    busy = [failure for order, when, _, failure in found if (order, when) == (Order.STOPPED, 0)]
    return [replace(f, kind="hangs") for f in busy] + [f for f in failures if f not in busy]


def _gist(failure: Failure) -> tuple[str, int | None, str]:
    return failure.kind, failure.exit, re.sub(r"\d+", "0", failure.text.strip().rpartition("\n")[2])
