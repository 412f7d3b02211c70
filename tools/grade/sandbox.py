"""Run something in a process of its own with limits, and stop it whatever it does.

Each run is a copy (``fork``) of this process, which has PyTorch and the course in memory already: it costs some
milliseconds instead of seconds. So this process must be single-threaded and must not have touched a GPU.
"""

import json
import os
import resource
import secrets
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tools.grade import namespaces


@dataclass(frozen=True)
class Limits:
    """What a run may use: bytes of memory, of files and of printed text, processes and threads, files."""

    memory: int = 4 * 2**30
    disk: int = 256 * 2**20
    printed: int = 10 * 2**20
    processes: int = 256
    files: int = 4096


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    ended: str  # "returned", "time", "output", "memory" or "died"
    value: Any  # what the function returned, if it did
    tail: str  # the end of what was printed
    seconds: float


def obstacle(*, protected: bool) -> str:
    """Return what prevents (protected) runs on this machine, "" if nothing does."""
    found = run(_look, 60, Limits(), protected=protected)
    return found.value if found.ended == "returned" else found.tail.strip().rpartition("\n")[2] or found.ended


def _look() -> str:
    """Return what is missing inside: the course and PyTorch must be readable."""
    import torch

    for file in (Path(__file__), Path(torch.__file__)):
        if not os.access(file, os.R_OK):
            return f"{file} cannot be read by user {os.getuid()}"
    return ""


def run(function: Callable[[], Any], seconds: float, limits: Limits, *, protected: bool) -> Outcome:
    """Call a function in a process of its own, in an empty folder.

    Args:
        function: Returns something that JSON can express.
        seconds: After which the process is killed, and all that it has started.
        limits: Of what it may use.
        protected: Whether to shut it off from files, processes and network.
    """
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
        if not protected:
            namespaces.adopt_orphans()
        (result, give), (printed, output) = os.pipe(), os.pipe()
        token = secrets.token_hex(16)
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if not process:
            os.setsid()
            for number in (1, 2):
                os.dup2(output, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.closerange(3, give)  # nothing that this process has open is reachable inside
            os.closerange(give + 1, 65536)
            _end(lambda: _inside(function, Path(folder), limits, protected, give, token))
        os.close(give)
        os.close(output)
        outcome = None
        try:
            outcome = _watched(process, result, printed, seconds, limits, token)
            return outcome
        finally:
            _end_of(process, patience=1.0 if outcome and outcome.ended == "returned" else 0.0)
            if not protected:
                _end_of_orphans()
            os.close(result)
            os.close(printed)


# --- inside -------------------------------------------------------------------------------------------


def _end(action: Callable[[], Any]) -> None:
    """Do something as the last thing in this process."""
    status = 1
    try:
        action()
        status = 0
    except BaseException as error:
        with suppress(BaseException):
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
    finally:
        os._exit(status)


def _inside(
    function: Callable[[], Any], folder: Path, limits: Limits, protected: bool, give: int, token: str
) -> None:
    """Be the process outside of the namespaces; it starts `first`, which starts `innermost`, which writes to `give`."""

    def first() -> None:
        """Be the first process inside: prepare everything, start the one that counts, take in what is left of others."""
        if protected:
            namespaces.enter(folder, limits.disk, limits.files)
        else:
            os.chown(folder, *namespaces.user())
            os.chdir(folder)
            namespaces.give_up(*namespaces.user())  # never root: it could end every process of the machine
        os.environ |= dict.fromkeys(("HOME", "TMPDIR", "COURSE_DATA_DIR", "XDG_CACHE_HOME"), os.getcwd())
        tempfile.tempdir = None
        if not (working := os.fork()):
            _end(innermost)
        os.close(give)
        while os.wait()[0] != working:
            pass

    def innermost() -> None:
        """Be the process that calls the function and sends what it returns."""
        most = {resource.RLIMIT_DATA: limits.memory, resource.RLIMIT_FSIZE: limits.disk}
        most |= {resource.RLIMIT_NOFILE: 1024, resource.RLIMIT_CORE: 0}
        if protected or os.getuid() == namespaces.NOBODY:  # else it would count all of the user's processes
            most[resource.RLIMIT_NPROC] = limits.processes
        for name, number in most.items():
            resource.setrlimit(name, (number, number))
        sys.stdin = open(os.devnull)  # noqa: SIM115  (for the rest of the process)
        value = function()
        sys.stdout.flush()
        os.write(give, f"{token}{json.dumps(value)}\n".encode())

    if protected:
        namespaces.separate()
    if not (inside := os.fork()):
        _end(first)
    os.close(give)
    os.waitpid(inside, 0)


# --- outside ------------------------------------------------------------------------------------------


def _watched(process: int, result: int, printed: int, seconds: float, limits: Limits, token: str) -> Outcome:
    """Read what a process sends and prints until it ends or exceeds a limit."""
    began, count, tail, sent, measure_next = time.monotonic(), 0, b"", b"", time.monotonic() + 0.3

    def outcome(ended: str, value: Any = None) -> Outcome:
        return Outcome(ended, value, tail.decode("utf-8", "replace"), time.monotonic() - began)

    sources = {result, printed}
    while True:
        for source in select.select(list(sources), [], [], 0.1)[0]:
            if not (data := os.read(source, 65536)):
                sources.discard(source)
            elif source == result:
                sent += data
            else:
                count, tail = count + len(data), (tail + data)[-1000:]
        if sent.startswith(token.encode()) and sent.endswith(b"\n"):
            with suppress(ValueError):
                return outcome("returned", json.loads(sent[len(token) :]))
        if result not in sources or len(sent) > 2**20:
            return outcome("died")
        if count > limits.printed:
            return outcome("output")
        if (now := time.monotonic()) - began > seconds:
            return outcome("time")
        if now > measure_next:
            if _memory(process) > limits.memory:
                return outcome("memory")
            # With many processes it takes long, and must not slow down what it watches.
            measure_next = time.monotonic() + max(0.5, 5 * (time.monotonic() - now))


def _memory(process: int) -> int:
    """Return the bytes that a process and all that it has started use; what several share counts once."""
    total = 0
    with suppress(psutil.Error):
        for child in psutil.Process(process).children(recursive=True):
            with suppress(psutil.Error, OSError):
                total += getattr(child.memory_full_info(), "pss", 0)
    return total


def _end_of(process: int, patience: float) -> None:
    """Wait for a process to end; then kill what it has started. In namespaces, the system kills all that is inside.

    The process itself comes last, because it takes its children's exit status; nobody else may do so.
    """
    until = time.monotonic() + patience
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            left = []
            with suppress(psutil.Error):
                left = psutil.Process(process).children(recursive=True)
            for number in [child.pid for child in left] or [process]:
                with suppress(OSError):
                    os.kill(number, signal.SIGKILL)
        time.sleep(0.005)


def _end_of_orphans() -> None:
    """Kill what an answer has left behind where there are no namespaces: all other descendants of this process."""
    while left := psutil.Process().children(recursive=True):
        for child in left:
            with suppress(psutil.Error):
                child.kill()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)
