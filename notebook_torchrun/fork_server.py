"""Fork torchrun from a process that has imported PyTorch, so that only the first launch of a kernel waits for that.

On Linux, the first launch starts this file as a program. It stays as long as the kernel, but no longer than
`IDLE_SECONDS` after the last run, forks an agent (`agent.py`) for each one, and has no other thread.
"""

import ctypes
import gc
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

from notebook_torchrun import agent

IDLE_SECONDS = 180.0  # it holds some 200 MB
# Variables that nothing reads while PyTorch is imported, and one that a rank reads again. If another one differs, the
# launch has a process of its own.
_LATE = {"CUDA_VISIBLE_DEVICES", "TORCH_DISTRIBUTED_DEBUG", "PYTEST_CURRENT_TEST"}
_LATE |= {"TMPDIR", "TEMP", "TMP", "PWD", "OLDPWD"}


class Forked:
    """An agent that is no child of the kernel; has what the launcher uses of a ``subprocess.Popen``.

    Args:
        pid: The agent.
        folder: The folder of its run.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self._folder, self._process = folder, None
        with suppress(psutil.NoSuchProcess):
            self._process = psutil.Process(pid)

    def poll(self) -> int | None:
        """Return None while it runs, 0 after it has done its work, and 1 if it was killed before."""
        with suppress(psutil.NoSuchProcess):
            alive = self._process and self._process.is_running()
            if alive and self._process.status() != psutil.STATUS_ZOMBIE:
                return None
        return int(self._folder.exists() and not (self._folder / agent.OUTCOME).exists())

    def wait(self, timeout: float = float("inf")) -> None:
        """Wait until it has ended.

        Args:
            timeout: For at most so many seconds.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("torchrun", timeout)
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill it."""
        with suppress(psutil.NoSuchProcess):
            if self._process:
                self._process.kill()


# --- in the kernel ------------------------------------------------------------------------------------


class Server:
    """The process that forks, as the kernel sees it.

    Args:
        variables: Its environment.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        self.read_at_import = _read_at_import(variables)
        self._kernel, (self._asking, asked) = os.getpid(), socket.socketpair()
        # No run's folder, but as long: each agent puts its own in its place.
        neutral = {agent.FOLDER: "-" * len(os.fsencode(variables[agent.FOLDER]))}
        with asked:
            self._process = subprocess.Popen(
                # The last argument is room for the command line of an agent, see `show_command`.
                [sys.executable, "-P", __file__, str(asked.fileno()), str(IDLE_SECONDS), "-" * 2000],
                env=variables | neutral,
                pass_fds=[asked.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of the kernel must not reach it
            )

    def fits(self, variables: dict[str, str]) -> bool:
        """Return whether it can fork an agent with this environment."""
        alike = self.read_at_import == _read_at_import(variables)
        return alike and self._kernel == os.getpid() and self._process.poll() is None

    def fork(self, arguments: list[str], variables: dict[str, str]) -> int | None:
        """Fork an agent, and return its number as a process, or None if the server has ended."""
        with suppress(ConnectionError):
            self._asking.sendall(json.dumps([arguments, os.getcwd(), variables]).encode() + b"\n")
            if number := self._asking.recv(4):
                return int.from_bytes(number, "big")
        return None

    def close(self) -> None:
        """Let it end: at once, or after the runs that it has forked."""
        self._asking.close()
        if self._kernel == os.getpid():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2)


_one_at_a_time = threading.Lock()
_server: Server | None = None


def close() -> None:
    """Let the process end that waits for the next launch, if there is one."""
    global _server
    server, _server = _server, None  # first: an interrupt may end the waiting
    if server:
        server.close()


def start(arguments: list[str], settings: dict[str, str], own: dict[str, str]) -> subprocess.Popen | Forked:
    """Start torchrun with its options, a worker and its arguments.

    Args:
        arguments: Of torchrun.
        settings: The variables that each launch sets; the run's folder is among them.
        own: The variables of this launch.
    """
    variables = os.environ | settings | own
    if sys.platform == "linux" and _read_at_import(variables) == _read_at_import(os.environ | settings):
        with _one_at_a_time:
            if pid := _fork(arguments, variables):
                return Forked(pid, Path(settings[agent.FOLDER]))
    return agent.start(arguments, variables)


def _fork(arguments: list[str], variables: dict[str, str]) -> int | None:
    global _server
    pid = None
    try:
        if not (_server and _server.fits(variables)):
            close()
            _server = Server(variables)
        pid = _server.fork(arguments, variables)
    finally:
        if pid is None:  # also if the kernel was interrupted: the answer must not reach the next launch
            close()
    return pid


def _read_at_import(variables: dict[str, str]) -> dict[str, str]:
    """Return what PyTorch may read of an environment while it is imported, and the length of a folder's name."""
    read = {name: text for name, text in variables.items() if name not in _LATE and name[:7] != "COURSE_"}
    return read | {"": str(len(os.fsencode(variables[agent.FOLDER])))}


# --- in the server ------------------------------------------------------------------------------------


def show_command(words: list[str]) -> None:
    """Let other programs (``ps``, ``py-spy``) see these words as this process's command line, as far as there is room."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    begin, end = map(int, fields[45:47])  # where the kernel reads it
    if end - begin == len(Path("/proc/self/cmdline").read_bytes()):  # else this system tells another place
        line = b"\0".join(map(os.fsencode, words))[: end - begin - 1]
        ctypes.memmove(begin, line.ljust(end - begin, b"\0"), end - begin)


def some_run() -> bool:
    """Return whether an agent still runs, and take the exit status of those that have ended."""
    with suppress(ChildProcessError):  # there is none
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def main() -> None:
    """Fork an agent for each line that the kernel writes, until it is gone or has written none for a while."""
    kernel, asked = os.getppid(), socket.socket(fileno=int(sys.argv[1]))
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    shown = getenv(agent.FOLDER.encode())
    lines, last, asking = asked.makefile(), time.monotonic(), True
    while True:
        if busy := some_run():
            last = time.monotonic()
        if not select.select([asked] if asking else [], [], [], 0.5)[0]:
            over = not asking or time.monotonic() > last + float(sys.argv[2])
            if os.getppid() != kernel or not busy and over:
                return
            continue
        if not (line := lines.readline()):
            if not busy:
                return
            asking = False
            continue
        arguments, place, variables = json.loads(line)
        with suppress(ImportError):  # in tests, a small program stands in for PyTorch
            agent.import_for(arguments)
        gc.freeze()  # or the collector of each copy of this process makes a copy of all objects, too
        if pid := os.fork():
            with suppress(ConnectionError):  # the kernel was interrupted
                asked.sendall(pid.to_bytes(4, "big"))
            last = time.monotonic()
            continue
        os.setsid()
        os.close(asked.detach())
        # What other processes see of its environment, by which `kill_all` finds it and its children.
        folder = os.fsencode(variables[agent.FOLDER])
        ctypes.memmove(shown, folder, len(folder))
        agent.replace_environment(variables)
        tempfile.tempdir = None
        os.chdir(place)
        sys.argv[1:] = arguments
        show_command([sys.executable, "-P", agent.__file__, *arguments])
        agent.main()


if __name__ == "__main__":
    main()
