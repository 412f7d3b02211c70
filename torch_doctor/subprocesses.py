"""Start a program in a process group of its own, so that it can be killed with everything that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def start(command: Sequence[str], **options: Any) -> subprocess.Popen:
    """Start `command` in a new process group (on POSIX a new session).

    Args:
        command: The program and its arguments.
        options: Further arguments of :class:`subprocess.Popen`.

    Raises:
        OSError: The program cannot be started.
    """
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    else:
        options["start_new_session"] = True
    return subprocess.Popen(command, **options)


def kill(process: subprocess.Popen, seconds: float = 5.0) -> bool:
    """Kill `process` and what it started, if it comes from :func:`start`; call it also after `process` has ended.

    A process that waits inside the kernel (for a driver in trouble) cannot be killed; it is left behind.

    Args:
        process: The process.
        seconds: How long to wait for its end.

    Returns:
        Whether `process` has ended.
    """
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass  # everything has ended already
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
