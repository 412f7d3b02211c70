"""Find the root-cause rank. Later failures (timeouts, closed connections) are consequences."""

import linecache
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

from notebook_torchrun.rank import consequence
from notebook_torchrun.result import Failure, Run

_STATUS = re.compile(r"rank +: (\d+) .*\n +exitcode +: (-?\d+)")  # in torchrun's message (ChildFailedError)
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (.+)')  # in what faulthandler writes
_LIBRARIES = re.compile(r'(?<=File ")[^"]*[/\\](?:site-packages|dist-packages|python3\.\d+)[/\\]')
_READS_A_TENSOR = re.compile(r"\.(item|tolist|cpu|numpy)\(")
LAST_LINES = 10  # that are shown of a rank without a traceback
NCCL_LINES = 200  # that are searched for why NCCL aborted: it prints many frames after the reason


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _place(stacks: str) -> str:
    """Return where a rank's main thread was, as a traceback with the most recent call last, or ""."""
    lines = re.findall(r"^Fatal .*", stacks, re.M)[:1]
    *_, main_thread = re.split(
        r"^(?=Thread 0x|Current thread 0x)", stacks, flags=re.M
    )  # the oldest comes last
    for file, number, name in reversed(_FRAME.findall(main_thread)):
        if not file.replace("\\", "/").endswith("notebook_torchrun/rank.py"):
            lines.append(f'  File "{file}", line {number}, in {name}')
            lines += filter(None, ["    " + linecache.getline(file, int(number)).strip()])
    return "\n".join(lines)


def _waiting(where: str) -> int:
    """Return how surely a rank only waits for others: 2 in a collective, 1 where that is likely, else 0.

    Likely in a backward pass, and where Python waits for the GPU: NCCL's collectives run there.
    """
    _, known, last = where.rpartition('File "')
    file, _, line = last.replace("\\", "/").partition('"')
    if not known:  # no place, but a printed line
        return 0
    if "torch/distributed" in file:
        return 2
    return int(bool(re.search("torch/(autograd|cuda)", file) or _READS_A_TENSOR.search(line)))


def find_failures(folder: Path, run: Run, facts: dict, why: str, script: Path) -> list[Failure]:
    """Return what went wrong in the last start of the job: the cause first, then the other ranks.

    Args:
        folder: The run's folder, with the output of torchrun and the stacks of the ranks.
        run: What was printed, by which rank.
        facts: The records of the ranks (:attr:`LogReader.facts`).
        why: Why the job is over: ``"failed"`` or ``"limit"``.
        script: The worker; its folder is left out of tracebacks.
    """

    def short(text: str) -> str:
        return _LIBRARIES.sub("", text.replace(f"{script.parent.parent}{os.sep}", ""))

    logs = "\n".join(map(_read, sorted(folder.glob("torchrun*.log"))))
    torchrun = Failure(None, "exited" if facts or why != "limit" else "hangs", logs.strip()[-3000:], None)
    if not facts:
        return [torchrun]
    statuses = {int(rank): int(status) for rank, status in _STATUS.findall(logs)}
    if len(statuses) > 1:  # torchrun terminates the others when one has failed
        statuses = {rank: status for rank, status in statuses.items() if status != -signal.SIGTERM}
    found = []
    for rank in range(run.ranks):
        own, status = facts.get((run.restarts, rank), {}), statuses.get(rank, 0)
        printed = zip(run.lines, run.starts, strict=True)
        lines = [line for (who, line), start in printed if (who, start) == (rank, run.restarts)]
        where = short(_place(_read(folder / f"{run.restarts}-{rank}.stacks")))
        last, waiting = "\n".join(lines[-LAST_LINES:]), _waiting(where)
        order, when = 0, own.get("time", 0)  # 0 is a cause, 5 is no failure at all
        if "raised" in own:
            order, how = consequence(own["message"]), ("raised", short(own["raised"]), 1)
        elif "exited" in own:
            how = ("exited", last, own["exited"])
        elif status:
            when, how = 0, ("killed" if status < 0 else "exited", where or last, status)
            if status == -signal.SIGABRT:  # NCCL aborts a rank that waited too long
                order = consequence("\n".join(lines[-NCCL_LINES:]))
        elif why == "limit" and (where or "done" not in own):
            order, when, how = 4 if waiting else 1, bool(where) + waiting, ("hangs", where or last, None)
        elif "done" in own:
            order, how = 5, ("done", last, 0)
        else:  # because another one had failed
            order, when, how = 4, waiting, ("stopped", where or last, None)
        found.append((order, when, rank, Failure(rank, *how)))
    failures = _in_order([failure for *_, failure in sorted(found, key=lambda item: item[:3])])
    return [torchrun] * (failures[0].kind in ("stopped", "done")) + failures


def _in_order(failures: list[Failure]) -> list[Failure]:
    """Return `failures`, the cause first. The choice must not depend on chance, else the box would."""
    # All ranks made the same mistake: which one noticed first is chance, so the lowest rank is named.
    same = [failure for failure in failures if _gist(failure) == _gist(failures[0])]
    failures = sorted(same, key=lambda failure: failure.rank) + [f for f in failures if f not in same]
    if failures[0].kind == "raised" and consequence(_gist(failures[0])[2]) == 2:
        # It waited for a rank that was busy elsewhere and had to be stopped: that one is the cause.
        busy = [f for f in failures if f.kind == "stopped" and _waiting(f.text) == 0]
        failures = [replace(f, kind="hangs") for f in busy] + [f for f in failures if f not in busy]
    return failures


def _gist(failure: Failure) -> tuple[str, int | None, str]:
    return failure.kind, failure.exit, re.sub(r"\d+", "0", failure.text.strip().rpartition("\n")[2])
