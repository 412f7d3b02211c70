"""A tiny job of two processes with a known answer: 1 + 100 = 101. Then a copy between two GPUs, and NCCL.

This file is the probe, which starts two processes and watches them, and also the worker that both of them run. No
file is written and no fixed port is used: the first worker lets the system choose a port and tells it to the second.
"""

from __future__ import annotations

import faulthandler
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

MINE = {0: 1.0, 1: 100.0}
ANSWER = 101.0
STEP = 2.0  # seconds that one try may take


def worker(rank: int, port: int, scale: float) -> None:
    """Take part as `rank`: try gloo, then gloo on the loopback interface, a copy and NCCL where there are two GPUs."""
    import torch
    import torch.distributed as dist

    def report(**found: Any) -> None:
        print(json.dumps(found), flush=True)

    limit = timedelta(seconds=STEP * scale)
    # Workers take minutes to start on a slow disk, and only seconds to talk.
    store = dist.TCPStore(
        "127.0.0.1", port, 2, rank == 0, timedelta(seconds=60 * scale), wait_for_workers=False
    )
    if rank == 0:
        report(port=store.port)
    store.set(f"ready{rank}", "1")
    store.wait(["ready0", "ready1"])
    report(ready=rank)

    def attempt(name: str, job: Callable[[], float], answer: float) -> bool:
        report(**{name: {"how": "slow"}})  # until there is more to say
        try:
            value = job()
        except Exception as error:
            report(**{name: {"how": "failed", "error": f"{type(error).__name__}: {error}"[:300]}})
            return False
        report(**{name: {"how": "right" if value == answer else "wrong", "value": value}})
        return value == answer

    def add_up(name: str, backend: str, device: str) -> float:
        group = dist.PrefixStore(name, store)
        # NCCL ends the whole process at its limit, and its first sum includes seconds of setting up.
        wait = limit if backend == "gloo" else timedelta(minutes=5)
        dist.init_process_group(backend, store=group, rank=rank, world_size=2, timeout=wait)
        try:
            value = torch.tensor([MINE[rank]], device=device)
            dist.all_reduce(value)
            return value.item()
        finally:
            dist.destroy_process_group()

    def copy() -> float:
        sent = torch.ones(1000, device="cuda:0")
        return sent.to("cuda:1").sum().item()

    if not attempt("gloo", lambda: add_up("gloo", "gloo", "cpu"), ANSWER):
        os.environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
        attempt("gloo-loopback", lambda: add_up("gloo-loopback", "gloo", "cpu"), ANSWER)
    if torch.cuda.device_count() < 2:
        return
    if rank == 0:
        attempt("copy", copy, 1000.0)
    if dist.is_nccl_available():
        torch.cuda.set_device(rank)
        attempt("nccl", lambda: add_up("nccl", "nccl", f"cuda:{rank}"), ANSWER)


_RUN = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def _start(rank: int, port: int, scale: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, os.path.abspath(__file__), str(rank), str(port), str(scale)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def taken(port: int) -> bool:
    """Return whether somebody listens on `port` of this machine."""
    with socket.socket() as one:
        one.settimeout(0.5)
        return one.connect_ex(("127.0.0.1", port)) == 0


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report the port of the environment, what the host's name stands for, and how each try of the job ended."""
    port = os.environ.get("MASTER_PORT", "29500")
    port = int(port) if port.isdigit() and int(port) < 65536 else 29500
    scale = float(os.environ.get("COURSE_DOCTOR_PATIENCE", "1"))
    emit(port=port, port_taken=taken(port), patience=scale)
    told: dict[str, dict[int, dict[str, Any]]] = {}
    lock = threading.Lock()

    def read(process: subprocess.Popen[str], rank: int, ready: threading.Event) -> None:
        for line in process.stdout or ():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            with lock:
                if "port" in found:
                    listening.append(found["port"])
                    ready.set()
                for name, how in found.items():
                    if isinstance(how, dict):
                        told.setdefault(name, {})[rank] = how
                emit(tries={name: _together(how) for name, how in told.items()})
        ready.set()

    listening: list[int] = []
    ready = threading.Event()
    first = _start(0, 0, scale)
    readers = [threading.Thread(target=read, args=(first, 0, ready), daemon=True)]
    readers[0].start()
    threading.Thread(target=_resolve, args=(emit,), daemon=True).start()
    ready.wait()
    if not listening:
        emit(error=f"the first process ended with status {first.wait()}")
        return
    second = _start(1, listening[0], scale)
    readers.append(threading.Thread(target=read, args=(second, 1, threading.Event()), daemon=True))
    readers[1].start()
    for reader in readers:
        reader.join()
    time.sleep(0.05)
    emit(statuses=[first.wait(), second.wait()])


def _together(told: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return how a try ended: as badly as for the process for which it ended worst."""
    order = ("failed", "wrong", "slow", "right")
    return min(told.values(), key=lambda how: order.index(how["how"]))


def _resolve(emit: Callable[..., None]) -> None:
    """Report what the host's own name stands for; asking for it may hang, so it happens beside the job."""
    try:
        emit(resolves=socket.gethostbyname(socket.gethostname()))
    except OSError as error:
        emit(resolves=f"not found ({error.strerror or error})")


if __name__ == "__main__":
    # Ends this process also where nobody is left to end it.
    faulthandler.dump_traceback_later(15 * float(sys.argv[3]), exit=True)
    worker(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
