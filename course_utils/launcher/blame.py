"""Which rank failed first? When one fails, the others fail a moment later, and louder."""

from __future__ import annotations

import json
import linecache
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from course_utils.launcher.channel import Record
from course_utils.launcher.run import Failure

# What a rank says when it only suffers: it waited too long for another one, or another one is gone.
_WAITED = r"[Tt]imed out|[Ww]ait timeout|[Tt]imeout\(ms\)|Socket Timeout|collective operation timeout"
_LOST = re.compile(
    r"closed by peer|reset by peer|Broken pipe|pair closure|Connection was likely closed|Connection refused|"
    r"failed to recv|DistNetworkError|DistStoreError|remote process exited|ncclRemoteError|communicator was aborted"
)
_THREADS = re.compile(r"^(?=Thread 0x|Current thread 0x)", re.M)
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (.+)')  # in what faulthandler writes
_LIBRARIES = re.compile(r'(?<=File ")[^"]*[/\\](?:site-packages|dist-packages|python3\.\d+)[/\\]')
_READS_A_TENSOR = re.compile(r"\.(item|tolist|cpu|numpy)\(")
LAST_LINES = 10  # that are shown of a rank which left no traceback
NCCL_LINES = 200  # that are searched for what made NCCL abort


def is_consequence(said: str) -> bool:
    """Return whether the message of an exception, or what was printed before an abort, is about another rank."""
    return _follows(said) > 0


def _follows(said: str) -> int:
    """Return 2 for a rank that waited too long, 3 for one whose connection was lost (after that), 0 for a cause."""
    return 2 if re.search(_WAITED, said) else 3 if _LOST.search(said) else 0


def place(stacks: Path) -> str:
    """Return where a rank's main thread was, as a traceback with the most recent call last, or ""."""
    told = stacks.read_text(encoding="utf-8", errors="replace") if stacks.exists() else ""
    threads = [
        _FRAME.findall(part) for part in _THREADS.split(told) if "in end_with_the_notebook" not in part
    ]
    lines = re.findall(r"^Fatal .*", told, re.M)[:1]
    for file, number, name in reversed(threads[-1]):  # the main thread is the oldest and comes last
        if not file.replace("\\", "/").endswith("launcher/rank.py"):
            lines.append(f'  File "{file}", line {number}, in {name}')
            lines += filter(None, ["    " + linecache.getline(file, int(number)).strip()])
    return "\n".join(lines)


def _waiting(where: str) -> int:
    """Return how surely a rank only waits for others: 2 in a collective, 1 where that is likely, else 0.

    Likely in a backward pass, and where Python waits for the GPU: NCCL's collectives run there.
    """
    _, known, last = where.rpartition('File "')
    if not known:
        return 0
    file, _, line = last.replace("\\", "/").partition('"')
    if "torch/distributed" in file:
        return 2
    return int(bool(re.search("torch/(autograd|cuda)", file) or _READS_A_TENSOR.search(line)))


def find_failures(folder: Path, records: list[Record], why: str, ranks: int, script: Path) -> list[Failure]:
    """Return what went wrong in the last start of the job: the cause first, then the other ranks.

    Args:
        folder: The run's folder, with what torchrun said and where each rank was.
        records: What the ranks said.
        why: Why the job is over: ``"ended"`` (by itself) or ``"limit"``.
        ranks: How many there are.
        script: The worker; its folder is left out of tracebacks.
    """

    def short(text: str) -> str:
        return _LIBRARIES.sub("", text.replace(f"{script.parent.parent}{os.sep}", ""))

    logs = "\n".join(log.read_text("utf-8", "replace") for log in sorted(folder.glob("agent*.log")))
    if not records:
        return [Failure(None, "hangs" if why == "limit" else "exited", logs.strip()[-3000:], None)]
    agents = [json.loads(file.read_text()) for file in folder.glob("agent-*.json")]
    statuses = {int(rank): status for agent in agents for rank, status in agent.items()}
    start = max(record.start for record in records)
    found: list[tuple[int, Any, Failure]] = []  # 0 (a cause) to 5 (no failure at all); then what sorts equals
    for rank in range(ranks):
        told = [record for record in records if (record.start, record.rank) == (start, rank)]
        what = {key: value for record in told for key, value in record.what.items()}
        when = told[-1].time if told else 0
        where = short(place(folder / f"{start}-{rank}.stacks"))
        lines = [record.what["line"] for record in told if "line" in record.what]
        last = "\n".join(lines[-LAST_LINES:])
        status = statuses.get(rank, 0)
        if status == -signal.SIGTERM and len(statuses) > 1:
            status = 0  # torchrun stopped it because another one had failed
        if "raised" in what:
            found.append((_follows(what["said"]), when, Failure(rank, "raised", short(what["raised"]), 1)))
        elif "exited" in what:
            found.append((0, when, Failure(rank, "exited", last, what["exited"])))
        elif status:  # ended without a word. NCCL says what it waited for, prints many frames, and aborts.
            order = _follows("\n".join(lines[-NCCL_LINES:])) if status == -signal.SIGABRT else 0
            kind = "killed" if status < 0 else "exited"
            found.append((order, 0, Failure(rank, kind, where or last, status)))
        elif why == "limit" and (where or "done" not in what):
            order = 1 if _waiting(where) == 0 else 4
            found.append((order, (where != "", _waiting(where)), Failure(rank, "hangs", where or last, None)))
        elif "done" in what:
            found.append((5, when, Failure(rank, "done", last, 0)))
        else:  # stopped because another one had failed
            found.append((4, _waiting(where), Failure(rank, "stopped", where or last, None)))
    failures = _in_order(found)
    if failures[0].kind in ("stopped", "done"):
        failures.insert(0, Failure(None, "exited", logs.strip()[-3000:], None))
    return failures


def _in_order(found: list[tuple[int, Any, Failure]]) -> list[Failure]:
    """Return the failures, the cause first. The choice must not depend on chance, else the box would."""
    failures = [failure for *_, failure in sorted(found, key=lambda one: (one[0], one[1], one[2].rank))]
    # All ranks made the same mistake: who was the first to notice is chance, so the lowest rank stands for all.
    alike = [failure for failure in failures if _gist(failure) == _gist(failures[0])]
    failures.sort(key=lambda failure: (failure not in alike, failure.rank if failure in alike else 0))
    if failures[0].kind == "raised" and re.search(_WAITED, _gist(failures[0])[2]):
        # It waited for one that was busy elsewhere and had to be stopped: that one is the cause.
        busy = [one for one in failures if one.kind == "stopped" and _waiting(one.text) == 0]
        failures.sort(key=lambda failure: failure not in busy)
        failures = [replace(failure, kind="hangs") if failure in busy else failure for failure in failures]
    return failures


def _gist(failure: Failure) -> tuple[str, int | None, str]:
    return failure.kind, failure.exit, re.sub(r"\d+", "0", failure.text.strip().rpartition("\n")[2])
