"""A worker for tests: run many learners' scripts in one launch, each in a forked child of its rank.

``many_scripts.py FOLDER NUMBER`` runs ``0.py``, ``1.py`` … in FOLDER; rank r writes ``0-r.json`` … beside them. To start
PyTorch takes seconds, a fork milliseconds.
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

import torch._dynamo  # noqa: F401  (otherwise the constructor of DistributedDataParallel loads it, in every child)
import torch.distributed
from torch.nn.parallel import DistributedDataParallel  # noqa: F401
from torch.utils.data import DistributedSampler  # noqa: F401

from lesson_06 import observed_script

FOLDER, NUMBER, RANK = Path(sys.argv[1]), int(sys.argv[2]), int(os.environ["RANK"])
LIMIT_SECONDS = 40
LOOPBACK = "127.0.0.1"
observed_script.WAIT_SECONDS = 5  # the ranks start at the same moment here


def run(number: int) -> None:
    """Run one script in this process, and write its outcome."""
    if RANK == 0:  # a store for each script, in the child: a fork beside the store's thread might hang
        store = torch.distributed.TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
        write(f"{number}.port", str(store.port))
    port = wait_for(f"{number}.port", LIMIT_SECONDS)
    os.environ |= {"MASTER_ADDR": LOOPBACK, "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        record = observed_script.observe(FOLDER / f"{number}.py")
    write(f"{number}-{RANK}.json", json.dumps({"record": record, "printed": printed.getvalue().splitlines()}))
    if RANK == 0:
        wait_for(f"{number}-1.json", 3)  # the store exists as long as this process


def write(name: str, text: str) -> None:
    """Write a file in one step, so that the other rank never reads half of it."""
    path = FOLDER / f"{name}.{RANK}.part"
    path.write_text(text, encoding="utf-8")
    path.rename(FOLDER / name)


def wait_for(name: str, seconds: float) -> str:
    """Return the text of a file as soon as it exists, or "" after `seconds`."""
    end = time.monotonic() + seconds
    while not (FOLDER / name).exists():
        if time.monotonic() > end:
            return ""
        time.sleep(0.01)
    return (FOLDER / name).read_text(encoding="utf-8")


def other_failed(number: int) -> bool:
    """Return whether the other rank's script has ended with an exception."""
    other = FOLDER / f"{number}-{1 - RANK}.json"
    return other.exists() and "raised" in json.loads(other.read_text(encoding="utf-8"))["record"]


for number in range(NUMBER):
    child = os.fork()
    if not child:
        try:
            run(number)
        finally:
            os._exit(0)
    end = time.monotonic() + LIMIT_SECONDS
    while not os.waitpid(child, os.WNOHANG)[0]:
        if other_failed(number):  # torchrun would stop this rank as well
            end = min(end, time.monotonic() + 2)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    write(f"{number}-{RANK}.over", "")
    wait_for(f"{number}-{1 - RANK}.over", LIMIT_SECONDS)
