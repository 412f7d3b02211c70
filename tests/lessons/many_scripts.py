"""A worker for tests: run many learners' scripts in one launch, each in a forked child of its rank.

``many_scripts.py FOLDER`` runs what ``FOLDER/jobs.json`` lists: text, worlds and stop of each script. Rank r writes
``0-0-r.json`` … beside it: script, start, rank. To start PyTorch takes seconds, a fork milliseconds.
"""

import contextlib
import io
import json
import os
import signal
import sys
import time
from pathlib import Path

import torch._dynamo  # noqa: F401  (otherwise the constructor of DistributedDataParallel loads it, in every child)
from torch.nn.parallel import DistributedDataParallel  # noqa: F401
from torch.utils.data import DistributedSampler  # noqa: F401

from shared import observed_script

FOLDER, RANK = Path(sys.argv[1]), int(os.environ["RANK"])
JOBS = json.loads((FOLDER / "jobs.json").read_text(encoding="utf-8"))
LIMIT_SECONDS = 40


def run(number: int, start: int) -> None:
    """Run one script in this process, and write its outcome."""
    text, worlds, stop = JOBS[number]
    folder, printed = FOLDER / str(number), io.StringIO()
    copy, beside = observed_script.place(FOLDER / "script.py", folder, worlds, start, number)
    with contextlib.redirect_stdout(printed):
        record = observed_script.observe(text, copy, beside, 0 if start else stop)
    write(
        f"{number}-{start}-{RANK}.json",
        json.dumps({"record": record, "printed": printed.getvalue().splitlines()}),
    )


def write(name: str, text: str) -> None:
    """Write a file in one step, so that the other rank never reads half of it."""
    path = FOLDER / f"{name}.{RANK}.part"
    path.write_text(text, encoding="utf-8")
    path.rename(FOLDER / name)


def wait_for(name: str) -> None:
    """Wait until a file exists."""
    end = time.monotonic() + LIMIT_SECONDS
    while not (FOLDER / name).exists() and time.monotonic() < end:
        time.sleep(0.01)


def other_failed(number: int, start: int) -> bool:
    """Return whether another rank's script has ended with an exception."""
    files = FOLDER.glob(f"{number}-{start}-*.json")
    return any("raised" in json.loads(file.read_text(encoding="utf-8"))["record"] for file in files)


for number, (_, worlds, stop) in enumerate(JOBS):
    for start in range(1 + bool(stop)):
        if RANK < sum(worlds):
            child = os.fork()
            if not child:
                try:
                    run(number, start)
                finally:
                    os._exit(0)
            end = time.monotonic() + LIMIT_SECONDS
            while not os.waitpid(child, os.WNOHANG)[0]:
                if other_failed(number, start):  # torchrun would stop this rank as well
                    end = min(end, time.monotonic() + 2)
                if time.monotonic() > end:
                    os.kill(child, signal.SIGKILL)
                time.sleep(0.01)
        write(f"{number}-{start}-{RANK}.over", "")
        for other in range(int(os.environ["WORLD_SIZE"])):
            wait_for(f"{number}-{start}-{other}.over")
