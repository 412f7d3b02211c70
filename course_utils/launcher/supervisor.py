"""Starts torchrun for the notebook, and leaves nothing behind: no process, no port, no file.

A process of its own, in a session of its own, because the notebook's kernel may be interrupted, restarted or killed
at any moment. It holds one end of a pipe to the kernel. However the kernel ends, the operating system closes the other
end, and then everything that was started here is ended and the run's folder removed. torchrun and the ranks hold the
end of a second pipe in the same way, in case that this process is killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress

import psutil

MARKER = "COURSE_RUN_ID"  # environment variable by which the processes of a run are known
# How the folders of runs begin. What the ranks open below it must not exceed the 104 bytes of a socket's path on macOS,
# whose temporary folder alone takes 49, and a DataLoader's "/torch-shm-dir-XXXXXX/manager.sock" 34.
FOLDERS = "launch-"
START_SECONDS = 60.0  # until the first rank begins; torchrun takes a few, and many on a busy machine
STACKS_SECONDS = 1.2  # after the limit: time in which the ranks write down where they are
GRACE_SECONDS = 3.0  # after one machine has failed: time for the others to notice


def end_all(run_id: str, *, descendants: bool = False) -> None:
    """End every process of a run.

    Args:
        run_id: Which one; its processes carry it in their environment.
        descendants: Whether all that this process started belongs to the run as well, also without that mark.
    """
    for _ in range(20):
        left = set(psutil.Process().children(recursive=True)) if descendants else set()
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):  # it has ended, or is somebody else's
                if process.environ().get(MARKER) == run_id:
                    left.add(process)
        if not left:
            return
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=0.25)


class Kernel:
    """The kernel that started this process, and whether it still wants it."""

    def __init__(self) -> None:
        self.parent, self.gone = os.getppid(), threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        os.read(0, 1)  # a byte, or the end of the pipe
        self.gone.set()

    def leaves(self, seconds: float) -> bool:
        """Wait for `seconds`, and return whether the kernel has let go of this process, or died."""
        # The second: what it forked meanwhile may hold the other end of the pipe.
        return self.gone.wait(seconds) or os.getppid() != self.parent


def watch(agents: list[subprocess.Popen], kernel: Kernel, folder: str, limit: float) -> str:
    """Wait until the agents have ended or have to be ended, and return why."""
    failed, deadline = None, time.time() + START_SECONDS + limit
    while not kernel.leaves(0.05):
        statuses = [agent.poll() for agent in agents]
        if None not in statuses:
            return "ended"
        if any(statuses):
            failed = failed or time.time()
            if time.time() > failed + GRACE_SECONDS:
                return "ended"
        with suppress(FileNotFoundError):
            deadline = os.stat(os.path.join(folder, "began")).st_mtime + limit + STACKS_SECONDS
        if time.time() > deadline:
            return "limit"
    return "stopped"


def main() -> None:
    """Run the plan that comes through stdin, until all is over or the kernel has let go of the pipe."""
    line = sys.stdin.buffer.readline()
    if not line:
        return  # the kernel is gone already
    plan = json.loads(line)
    kernel = Kernel()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: kernel.gone.set())
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # what loses its parent becomes a child of this process
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER

    with tempfile.TemporaryDirectory(prefix=FOLDERS, ignore_cleanup_errors=True) as folder:
        temporary = os.path.join(folder, "tmp")  # what the ranks forget there goes as well
        os.mkdir(temporary)
        environment = os.environ | plan["environment"] | {MARKER: plan["run_id"], "COURSE_RUN_FOLDER": folder}
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), temporary)
        # As --rdzv-endpoint would say it; where several agents meet.
        environment["PET_RDZV_ENDPOINT"] = os.path.join(folder, "meeting")
        agents: list[subprocess.Popen] = []
        why = "stopped"
        try:
            for number in range(plan["agents"]):
                with open(os.path.join(folder, f"agent{number}.log"), "wb") as log:
                    pipes = {"stdin": subprocess.PIPE, "stdout": log, "stderr": log}
                    agents.append(subprocess.Popen(plan["command"], env=environment, **pipes))
            print(folder, flush=True)
            why = watch(agents, kernel, folder, plan["limit"])
        finally:
            statuses = [agent.poll() for agent in agents]
            for agent in agents:  # first, so that nothing is started again
                agent.kill()
                agent.stdin.close()
                agent.wait()
            end_all(plan["run_id"], descendants=True)
        with open(os.path.join(folder, "ended.part"), "w") as file:
            json.dump({"why": why, "statuses": statuses}, file)
        os.replace(file.name, os.path.join(folder, "ended.json"))
        while not kernel.leaves(0.5):  # the notebook reads what it needs
            pass


if __name__ == "__main__":
    main()
