"""A worker for tests: runs many learners' scripts in one launch, each in a forked child of its rank.

``many_scripts.py FOLDER NUMBER`` runs ``0.py``, ``1.py`` … in FOLDER; rank r leaves ``0-r.json`` … beside them. Starting
PyTorch costs seconds, a fork next to nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import time
from pathlib import Path

import torch._dynamo  # noqa: F401  (the constructor of DistributedDataParallel would load it, in every child)
import torch.distributed
from torch.nn.parallel import DistributedDataParallel  # noqa: F401
from torch.utils.data import DistributedSampler  # noqa: F401

from course_utils.exercises import observed

FOLDER, NUMBER, RANK = Path(sys.argv[1]), int(sys.argv[2]), int(os.environ["RANK"])
LIMIT_SECONDS = 40
LOOPBACK = "127.0.0.1"
observed.WAIT_SECONDS = 5  # the ranks start at the same moment here


def run(number: int) -> None:
    """Run one script in this process, and write down what came of it."""
    if RANK == 0:  # a store for each script, in the child: a fork beside the store's thread might stand still
        store = torch.distributed.TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
        write(f"{number}.port", str(store.port))
    port = wait_for(f"{number}.port", LIMIT_SECONDS)
    os.environ |= {"MASTER_ADDR": LOOPBACK, "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        notes = observed.observe(FOLDER / f"{number}.py")
    outcome = {"notes": notes, "printed": printed.getvalue().splitlines()}
    write(f"{number}-{RANK}.json", json.dumps(outcome))
    if RANK == 0:
        wait_for(f"{number}-1.json", 3)  # the store lives as long as this process


def write(name: str, text: str) -> None:
    """Write a file that is never seen half finished."""
    path = FOLDER / f"{name}.{RANK}.part"
    path.write_text(text, encoding="utf-8")
    path.rename(FOLDER / name)


def wait_for(name: str, seconds: float) -> str:
    """Return what a file holds, once it is there; nothing if that takes too long."""
    end = time.monotonic() + seconds
    while not (FOLDER / name).exists():
        if time.monotonic() > end:
            return ""
        time.sleep(0.01)
    return (FOLDER / name).read_text(encoding="utf-8")


def failed(number: int) -> bool:
    """Return whether the other rank's script has ended with an exception."""
    other = FOLDER / f"{number}-{1 - RANK}.json"
    return other.exists() and "raised" in json.loads(other.read_text(encoding="utf-8"))["notes"]


for number in range(NUMBER):
    child = os.fork()
    if not child:
        try:
            run(number)
        finally:
            os._exit(0)
    end, mercy = time.monotonic() + LIMIT_SECONDS, None
    while not os.waitpid(child, os.WNOHANG)[0]:
        now = time.monotonic()
        mercy = mercy or (now + 2 if failed(number) else None)  # torchrun would end this rank as well
        if now > end or (mercy and now > mercy):
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    write(f"{number}-{RANK}.over", "")
    wait_for(f"{number}-{1 - RANK}.over", LIMIT_SECONDS)
