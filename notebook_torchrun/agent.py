"""Run torchrun for the notebook and leave nothing behind: no process, no port, no file.

To import PyTorch takes two seconds of a processor. On Linux, where a fork copies a process in milliseconds, `Template`
forks the ranks; this process itself is forked by `fork_server` where its launch allows that. They are processes as
torchrun starts them, but that modules are loaded already, and that Python's hashes of texts are the same in all ranks.

The notebook's kernel may be interrupted, restarted or killed at any moment, so torchrun runs in a session of its own,
in this process. As soon as the kernel is gone, or has removed the file `WANTED` from the run's folder, all that was
started is killed, and the folder is removed.
"""

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from notebook_torchrun import rank

# Environment variables; the first identifies the run.
FOLDER, LIMIT, KERNEL = "COURSE_RUN_FOLDER", "COURSE_RUN_LIMIT", "COURSE_RUN_KERNEL"
# Files in the folder. The first is there as long as the kernel wants the run. The other says why the job is over, and
# the exit status of each rank that failed.
WANTED, OUTCOME = "wanted", "outcome.json"
START_SECONDS = 60.0  # until the first rank begins; torchrun takes a few, and many on a busy machine
STACKS_SECONDS = 1.2  # after the limit: time in which the ranks write their stacks


# --- in the kernel ------------------------------------------------------------------------------------


def settings(folder: Path, limit: float) -> dict[str, str]:
    """Return the variables of the ranks: one thread each, the loopback network, no messages of C++ code."""
    chosen = {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    chosen |= {FOLDER: str(folder), LIMIT: str(limit), KERNEL: str(os.getpid())}
    # What the ranks leave there is removed.
    chosen |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp"))
    # A worker can import what the notebook can import: this package, and the notebooks' folder `shared`.
    chosen["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    # gloo would look up this machine's name, which name servers may not know, or know for another machine. And what
    # both open must not be reachable from other machines.
    for name in {"lo", "lo0"} & {name for _, name in socket.if_nameindex()}:
        chosen |= dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), name)
    if sys.platform == "win32":  # PyTorch has no libuv there: ranks know that, torchrun does not
        chosen["USE_LIBUV"] = "0"
    return chosen


def make_folder(folder: Path) -> None:
    """Make the folder of a run, which is wanted."""
    folder.mkdir(0o700)
    (folder / "tmp").mkdir()
    (folder / WANTED).touch()


def outcome_in(folder: Path) -> tuple[str, dict[int, int]]:
    """Return why a job is over, and the exit status of each rank that failed."""
    try:
        why, statuses = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
    except FileNotFoundError:  # the agent was killed
        return "failed", {}
    return why, dict(statuses)


def start(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen:
    """Start torchrun with its options, a worker and its arguments.

    Args:
        arguments: Of torchrun.
        environment: All variables; the run's folder, which exists, is among them.
    """
    return subprocess.Popen(
        # -P: files in the working directory must not be imported instead of modules.
        [sys.executable, "-P", __file__, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # an interrupt of the kernel must not reach it
    )


def stop(agent: subprocess.Popen | None, folder: Path) -> None:
    """Stop the agent, and do its work if it was killed."""
    (folder / WANTED).unlink(missing_ok=True)  # first: then all is cleaned up even if the rest is interrupted
    if agent:
        with suppress(subprocess.TimeoutExpired):
            agent.wait(15)
        if agent.poll() != 0:
            agent.kill()
            kill_all(folder)
            agent.wait()
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


# --- in the agent -------------------------------------------------------------------------------------


def watch(folder: Path, parent: int, outcome: list[Any], stopping: threading.Event) -> None:
    """Wait until the job is over (it has an `outcome`) or has to end, kill what is left, and end this process."""

    def wanted() -> bool:
        kernel = int(os.environ[KERNEL])  # on Windows, often the parent of the parent
        return (folder / WANTED).exists() and os.getppid() == parent and psutil.pid_exists(kernel)

    limit = float(os.environ[LIMIT])
    deadline = time.time() + START_SECONDS + limit
    while not outcome and wanted():
        time.sleep(0.05)
        with suppress(FileNotFoundError):
            deadline = (folder / "began").stat().st_mtime + limit + STACKS_SECONDS
        if time.time() > deadline:
            outcome = ["limit", []]
    stopping.set()
    kill_all(folder, children=True)
    if not wanted():
        shutil.rmtree(folder, ignore_errors=True)
    elif outcome:  # the notebook reads what it needs, and removes the folder
        (folder / OUTCOME).write_text(json.dumps(outcome), encoding="utf-8")
    os._exit(0)


def import_for(arguments: list[str]) -> None:
    """Import what a launch with these arguments of torchrun needs, before the processes that need it are forked.

    What DistributedDataParallel and optimizers import when the first is made is among it if the worker names them.
    """
    import torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler  # noqa: F401
    import torch.distributed.elastic.rendezvous.dynamic_rendezvous  # noqa: F401
    import torch.distributed.run  # noqa: F401

    worker = [word for word in arguments if word[:2] != "--"][1]
    if re.search(rb"Distributed|optim|fully_shard", Path(worker).read_bytes()):
        import torch._dynamo  # noqa: F401


def replace_environment(variables: dict[str, str]) -> None:
    """Let this process have these variables and no others."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ |= variables


class Template:
    """A child of this process without other threads, which has imported PyTorch and forks a rank when asked for one.

    Args:
        writing: What the ranks must not hold: this process's end of the pipe that tells them when it has ended.
    """

    def __init__(self, writing: int) -> None:
        self._asking, asked = socket.socketpair()
        self._one_at_a_time = threading.Lock()
        agent = os.getpid()
        if os.fork():
            asked.close()
            return
        os.close(writing)
        self._asking.close()
        for line in asked.makefile():
            if middle := os.fork():  # it ends at once, and its child becomes one of the agent, a "subreaper"
                os.waitpid(middle, 0)
            elif os.fork():
                os._exit(0)
            else:
                orphaned = time.monotonic() + 10
                while os.getppid() != agent:
                    time.sleep(0.001)
                    if time.monotonic() > orphaned:  # the agent was killed
                        os._exit(1)
                self._become_rank(asked, *json.loads(line))
        os._exit(0)

    def _become_rank(self, asked: socket.socket, words: list[str], environment: dict[str, str]) -> None:
        os.setsid()
        asked.sendall(os.getpid().to_bytes(4, "big"))
        os.close(asked.detach())  # closed, though its file still refers to it
        replace_environment(environment)
        torch = sys.modules["torch"]
        torch.distributed.set_debug_level_from_env()  # else it is that of the process which has imported PyTorch
        torch.default_generator.seed()  # as in each new process; Python's own has been seeded anew
        if numpy_random := sys.modules.get("numpy.random"):
            numpy_random.seed()
        if "PYTHONSAFEPATH" not in environment:
            sys.path.insert(0, "")
        sys.argv = words[2:]  # after Python and its -u
        rank.main()

    def fork(self, words: list[str], environment: dict[str, str]) -> int:
        """Fork a rank with the command line `words`, and return its number as a process."""
        with self._one_at_a_time:
            self._asking.sendall(json.dumps([words, environment]).encode() + b"\n")
            if not (number := self._asking.recv(4)):
                raise ChildProcessError("the process that forks ranks has ended")
            return int.from_bytes(number, "big")


def use_template(writing: int) -> None:
    """Let torchrun take its ranks from a template, which must not hold the end `writing` of a pipe."""
    import_for(sys.argv[1:])
    from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import (
        SubprocessHandler,
    )

    template = Template(writing)

    class Rank(subprocess.Popen):
        """A process that this one has not started, but that is its child."""

        def _execute_child(self, words: list[str], *given: Any) -> None:
            self.pid, self._child_created = template.fork(words, given[5]), True

    SubprocessHandler._popen = lambda _, words, environment: Rank(words, env=environment)


def use_loopback(stopping: threading.Event) -> None:
    """Let every store listen on 127.0.0.1 only, and each start of the ranks have a store of its own.

    PyTorch's ``TCPStore`` listens on all interfaces, and whoever reaches it may write to it: it asks for no password,
    and torchrun unpickles what it reads there.
    """
    from torch.distributed import TCPStore
    from torch.distributed.elastic.rendezvous import c10d_rendezvous_backend
    from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler as Handler

    join = Handler.next_rendezvous

    def with_new_store(self: Handler) -> Any:
        while stopping.is_set():  # the ranks were killed, and must not be started again
            time.sleep(1)
        # After a restart, the ranks would find each other through a store that still holds the addresses of the
        # stopped ones: https://github.com/pytorch/pytorch/issues/135712
        self._bootstrap_store_info = self._shared_tcp_store_server = None
        return join(self)

    def new_store(*_: Any, **__: Any) -> TCPStore:
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        port = listener.getsockname()[1]
        # Only the older one of PyTorch's two servers takes a socket that already listens.
        return TCPStore(
            "127.0.0.1", port, is_master=True, master_listen_fd=listener.detach(), use_libuv=False
        )

    Handler.next_rendezvous = with_new_store
    if sys.platform != "win32":  # it knows no such sockets
        Handler._create_tcp_store_server = c10d_rendezvous_backend.TCPStore = new_store


def main() -> None:
    """Run the job of the command line until it is over, or until it has to end."""
    outcome: list[Any] = []
    stopping, folder = threading.Event(), Path(os.environ[FOLDER])
    with open(folder / "torchrun.log", "ab") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)
    # The ranks hold this end of a pipe; they end with the other one, in case this process is killed.
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    if sys.platform == "linux":  # a process that loses its parent becomes a child of this one
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        with suppress(ImportError):  # in tests, a small program stands in for PyTorch
            use_template(writing)
    threading.Thread(target=watch, args=(folder, os.getppid(), outcome, stopping), daemon=True).start()
    try:
        with suppress(ImportError):  # in tests, a small program stands in for PyTorch
            use_loopback(stopping)
        from torch.distributed.run import main as torchrun

        torchrun(["--local-addr=127.0.0.1", *sys.argv[1:]])
        outcome += ["well", []]
    except BaseException as error:
        failures = getattr(error, "failures", {})  # of ChildFailedError, by rank
        if not failures:
            traceback.print_exc()
        outcome += ["failed", [(rank, failure.exitcode) for rank, failure in failures.items()]]
    time.sleep(1e6)  # the other thread ends this process


if __name__ == "__main__":
    main()
