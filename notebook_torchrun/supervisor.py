"""Run torchrun for the notebook and leave nothing behind: no process, no port, no file.

The supervisor is a process in a session of its own, because the notebook's kernel may be interrupted, restarted or
killed at any moment. Its stdin is a pipe from the kernel. However the kernel ends, the operating system closes the
pipe; then all that was started is killed, and the run's folder is removed. Usage: supervisor.py NODES COMMAND ...
"""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

FOLDER, LIMIT = "COURSE_RUN_FOLDER", "COURSE_RUN_LIMIT"  # environment variables; the first identifies the run
OUTCOMES = ("well", "failed", "limit")  # an empty file of this name in the folder says that the job is over
START_SECONDS = 60.0  # until the first rank begins; torchrun takes a few, and many on a busy machine
STACKS_SECONDS = 1.2  # after the limit: time in which the ranks write their stacks
GRACE_SECONDS = 3.0  # after one machine has failed: torchrun on the others would wait for it for five minutes


def settings(folder: Path, limit: float, nodes: int, max_restarts: int) -> dict[str, str]:
    """Return the variables of the ranks: one thread each, the loopback network, no messages of C++ code."""
    chosen = {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "5"}
    chosen |= {FOLDER: str(folder), LIMIT: str(limit)}
    chosen |= dict.fromkeys(
        ("TMPDIR", "TEMP", "TMP"), str(folder / "tmp")
    )  # what the ranks leave there is removed
    # A worker can import what the notebook can import: this package, and the notebooks' folder `shared`.
    chosen["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    # gloo would look up this machine's name, which name servers may not know, or know for another machine. And what
    # both open must not be reachable from other machines.
    for name in {"lo", "lo0"} & {name for _, name in socket.if_nameindex()}:
        chosen |= dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), name)
    if sys.platform == "win32":
        # PyTorch has no libuv there. Ranks know that, torchrun does not (torch.distributed.elastic.utils.distributed).
        chosen["USE_LIBUV"] = "0"
        if max_restarts:  # `agent` cannot give each start a store of its own
            chosen["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    # Rehearsed machines would all take the same GPUs.
    return chosen | ({"CUDA_VISIBLE_DEVICES": ""} if nodes > 1 else {})


def start(nodes: int, options: list[str], worker: list[str], environment: dict[str, str]) -> subprocess.Popen:
    """Start a torchrun for each node under a supervisor, which ends as soon as its stdin is closed."""
    if nodes > 1:  # they meet through a file in the run's folder: no port that somebody else could take
        meeting = f"--rdzv-endpoint={environment[FOLDER]}/meeting"
        options = ["--rdzv-backend=c10d", "--rdzv-conf=store_type=file", meeting, *options]
    python = [sys.executable, "-P"]  # files in the working directory must not be imported instead of modules
    torchrun = [*python, Path(__file__).with_name("agent.py"), "--local-addr=127.0.0.1", *options]
    return subprocess.Popen(
        [*python, __file__, str(nodes), *torchrun, Path(__file__).with_name("rank.py"), *worker],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        start_new_session=True,  # an interrupt of the kernel must not reach it
    )


def stop(supervisor: subprocess.Popen, folder: Path) -> None:
    """Stop the supervisor, and do its work if it was killed."""
    with suppress(OSError):  # first: then all is cleaned up even if the rest is interrupted once more
        supervisor.stdin.write(b"\n")  # arrives even if a fork of this process keeps the pipe open
        supervisor.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        supervisor.wait(15)
    kill_all(folder)
    supervisor.wait()
    shutil.rmtree(folder, ignore_errors=True)


def kill_all(folder: Path, *, children: bool = False) -> None:
    """Kill every other process of a run: those with its `folder` in the environment, and all `children` of this one."""
    for _ in range(20):
        left = set(psutil.Process().children(recursive=True)) if children else set()
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):  # it has ended, or belongs to somebody else
                if process.environ().get(FOLDER) == str(folder) and process.pid != os.getpid():
                    left.add(process)
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        if not left:
            return
        psutil.wait_procs(left, timeout=0.25)


def watch(agents: list[subprocess.Popen], gone: Callable[[float], bool], folder: Path, limit: float) -> str:
    """Wait until the job is over or must be stopped; return one of OUTCOMES."""
    failed, deadline = float("inf"), time.time() + START_SECONDS + limit
    while not gone(0.05):
        statuses = [agent.poll() for agent in agents]
        failed = min(failed, time.time()) if any(statuses) else failed
        if None not in statuses or time.time() > failed + GRACE_SECONDS:
            return "failed" if any(statuses) else "well"
        with suppress(FileNotFoundError):
            deadline = (folder / "began").stat().st_mtime + limit + STACKS_SECONDS
        if time.time() > deadline:
            return "limit"
    return "failed"


def main() -> None:
    """Run the job of the command line until it is over, or until the kernel lets go of the pipe."""
    folder, kernel, end = Path(os.environ[FOLDER]), os.getppid(), threading.Event()
    threading.Thread(target=lambda: (os.read(0, 1), end.set()), daemon=True).start()

    def gone(seconds: float) -> bool:
        # The second: a process that the kernel forked meanwhile may hold the other end of the pipe.
        return end.wait(seconds) or os.getppid() != kernel

    if sys.platform == "linux":  # a process that loses its parent becomes a child of this one
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    folder.mkdir(0o700)
    (folder / "tmp").mkdir()
    agents = []
    for number in range(int(sys.argv[1])):
        with open(folder / f"torchrun{number}.log", "wb") as log:
            # The ranks hold the end of this pipe too, in case this process is killed.
            agents.append(subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=log, stderr=log))
    why = watch(agents, gone, folder, float(os.environ[LIMIT]))
    for agent in agents:  # first, so that nothing is started again
        agent.kill()
    kill_all(folder, children=True)
    (folder / why).touch()
    while not gone(0.5):  # the notebook reads what it needs
        pass
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
