"""Run a tiny job of two processes with a known result: 1 + 100 = 101. Then a copy between two GPUs, and NCCL.

This file is both the probe, which starts two workers and watches them, and the worker. It writes no file and uses no
fixed port: worker 0 lets the system choose a port, and the probe passes it to worker 1.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

VALUES = {0: 1.0, 1: 100.0}
EXPECTED = 101.0
STEP_SECONDS = 2.0  # time limit of one attempt in seconds
LOOPBACK = {"darwin": "lo0", "win32": "Loopback Pseudo-Interface 1"}  # its name elsewhere: lo


def worker(rank: int, port: int, scale: float) -> None:
    """Run as `rank`: gloo, if that fails gloo on the loopback interface, and with two GPUs a copy and NCCL.

    Args:
        rank: 0 or 1.
        port: The port of the store; 0 lets the system choose one.
        scale: Factor on the time limits.
    """
    import torch
    import torch.distributed as dist

    def report(**found: Any) -> None:
        print(json.dumps(found), flush=True)

    limit = timedelta(seconds=STEP_SECONDS * scale)
    # On a slow disk workers take minutes to start; exchanging data takes seconds.
    # The wheels for Windows have no libuv, which torch 2.4 and newer take for the store by default (pytorch#139990).
    known = "use_libuv" in (dist.TCPStore.__init__.__doc__ or "")
    options: dict[str, Any] = {"use_libuv": False} if sys.platform == "win32" and known else {}
    options.update(timeout=timedelta(seconds=60 * scale), wait_for_workers=False)
    store = dist.TCPStore("127.0.0.1", port, 2, rank == 0, **options)
    if rank == 0:
        report(port=store.port)
    store.set(f"ready{rank}", "1")
    store.wait(["ready0", "ready1"])
    report(ready=rank)

    def attempt(name: str, job: Callable[[], float], answer: float) -> bool:
        report(**{name: {"how": "slow"}})  # if the process is killed during this attempt
        try:
            value = job()
        except Exception as error:
            report(**{name: {"how": "failed", "error": f"{type(error).__name__}: {error}"[:300]}})
            return False
        report(**{name: {"how": "right" if value == answer else "wrong", "value": value}})
        return value == answer

    def all_reduce(name: str, backend: str, device: str) -> float:
        group = dist.PrefixStore(name, store)
        # NCCL kills the whole process at its timeout, and its first sum takes seconds of initialization.
        wait = limit if backend == "gloo" else timedelta(minutes=5)
        dist.init_process_group(backend, store=group, rank=rank, world_size=2, timeout=wait)
        try:
            value = torch.tensor([VALUES[rank]], device=device)
            dist.all_reduce(value)
            return value.item()
        finally:
            dist.destroy_process_group()

    def copy() -> float:
        sent = torch.ones(1000, device="cuda:0")
        return sent.to("cuda:1").sum().item()

    if not attempt("gloo", lambda: all_reduce("gloo", "gloo", "cpu"), EXPECTED):
        os.environ["GLOO_SOCKET_IFNAME"] = LOOPBACK.get(sys.platform, "lo")
        attempt("gloo-loopback", lambda: all_reduce("gloo-loopback", "gloo", "cpu"), EXPECTED)
    if torch.cuda.device_count() < 2:
        return
    if rank == 0:
        attempt("copy", copy, 1000.0)
    if dist.is_nccl_available():
        os.environ.setdefault("NCCL_DEBUG", "INFO")  # it names the way between the GPUs, see _Watcher
        torch.cuda.set_device(rank)
        attempt("nccl", lambda: all_reduce("nccl", "nccl", f"cuda:{rank}"), EXPECTED)


_RUN = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def _start(rank: int, port: int, scale: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, os.path.abspath(__file__), str(rank), str(port), str(scale)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def taken(port: int) -> bool:
    """Return whether a process listens on `port` of this machine."""
    with socket.socket() as client:
        client.settimeout(0.5)
        return client.connect_ex(("127.0.0.1", port)) == 0


class _Watcher:
    """Reads what the workers print, and reports the combined results after each line.

    A line of a worker is one JSON object: ``{"port": 40213}``, ``{"ready": 1}``, ``{"error": "…"}`` or
    ``{"gloo": {"how": "right", "value": 101.0}}``. Between them stands what NCCL prints.
    """

    def __init__(self, emit: Callable[..., None]) -> None:
        self.emit = emit
        self.port: int | None = None
        self.port_known = threading.Event()  # set also if worker 0 ends without a port
        self.results: dict[str, dict[int, dict[str, Any]]] = {}  # attempt → rank → result
        self.lock = threading.Lock()

    def read(self, worker: subprocess.Popen[str], rank: int) -> None:
        for line in worker.stdout or ():
            try:
                found = dict(json.loads(line))
            except (TypeError, ValueError):  # not from our worker
                way = re.search(r"NCCL INFO Channel.* via (\w+)|NCCL WARN (.*)", line)
                if way:  # "P2P", "SHM", "NET", or a warning
                    self.emit(nccl_says=(way[1] or way[2])[:200])
                continue
            with self.lock:
                for name, value in found.items():
                    if isinstance(value, dict):
                        self.results.setdefault(name, {})[rank] = value
                    elif name == "error":
                        self.emit(error=value)
                self.emit(tries={name: worst(results) for name, results in self.results.items()})
            if "port" in found:
                self.port = found["port"]
                self.port_known.set()
        self.port_known.set()


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report whether the default port is free, the address of the host name, and how each attempt of the job ended."""
    port = os.environ.get("MASTER_PORT", "29500")
    port = int(port) if port.isdigit() and int(port) < 65536 else 29500
    scale = float(os.environ.get("TORCH_DOCTOR_PATIENCE", "1"))
    emit(port=port, port_taken=taken(port), patience=scale)
    watcher = _Watcher(emit)
    first = _start(0, 0, scale)
    reader = threading.Thread(target=watcher.read, args=(first, 0), daemon=True)
    reader.start()
    threading.Thread(target=_resolve, args=(emit,), daemon=True).start()
    watcher.port_known.wait()
    if watcher.port is None:
        emit(statuses=[first.wait()])
        return
    second = _start(1, watcher.port, scale)
    watcher.read(second, 1)
    reader.join()
    time.sleep(0.05)
    emit(statuses=[first.wait(), second.wait()])


def worst(results: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return the worst result of one attempt over all ranks."""
    order = ("failed", "wrong", "slow", "right")
    return min(results.values(), key=lambda result: order.index(result["how"]))


def _resolve(emit: Callable[..., None]) -> None:
    """Report the address of the host name. The look-up may hang, therefore it runs in a thread."""
    try:
        emit(resolves=socket.gethostbyname(socket.gethostname()))
    except OSError as error:
        emit(resolves=f"not found ({error.strerror or error})")


if __name__ == "__main__":
    # Ends this process even if its parent has died.
    faulthandler.dump_traceback_later(15 * float(sys.argv[3]), exit=True)
    try:
        worker(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    except BaseException as error:  # the other process cannot go on either
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}), flush=True)
        raise
