"""Find the root-cause rank. Later failures (timeouts, closed connections) are consequences."""

import linecache
import os
import re
import signal
from dataclasses import replace
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
        if not file.replace("\\", "/").endswith("notebook_torchrun/rank.py"):
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
        own, status, lines = facts.get((run.restarts, rank), {}), statuses.get(rank, 0), run.printed(rank)
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
                order = consequence("\n".join(lines))
        elif why == "limit" and (where or "done" not in own):
            order, when, how = 4 if waiting else 1, bool(where) + waiting, ("hangs", where or last, None)
        elif "done" in own:
            order, how = 5, ("done", last, 0)
        else:  # because another one had failed
            order, when, how = 4, waiting, ("stopped", where or last, None)
        found.append((order, when, rank, Failure(rank, *how)))
    found.sort(key=lambda item: item[:3])
    # The choice must not depend on chance, else the box would: if ranks made the same mistake, the lowest is named.
    first = _gist(found[0][3])
    found.sort(key=lambda item: item[2] if _gist(item[3]) == first else run.ranks)
    failures = [failure for *_, failure in found]
    if (
        found[0][0] == 2
    ):  # it waited for ranks that were busy elsewhere and had to be stopped: they are the cause
        busy = [failure for order, when, _, failure in found if (order, when) == (4, 0)]
        failures = [replace(f, kind="hangs") for f in busy] + [f for f in failures if f not in busy]
    return [torchrun] * (failures[0].kind in ("stopped", "done")) + failures


def _gist(failure: Failure) -> tuple[str, int | None, str]:
    return failure.kind, failure.exit, re.sub(r"\d+", "0", failure.text.strip().rpartition("\n")[2])
