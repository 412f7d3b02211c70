"""Users of this machine for a rehearsal: made, watched, and removed with all that they leave."""

from __future__ import annotations

import contextlib
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

GROUP = "course-rehearsal"


@contextlib.contextmanager
def users(number: int, homes: Path) -> Iterator[dict[str, str]]:
    """Make users of the system, and give their passwords by name; all is removed at the end."""
    subprocess.run(["groupadd", "--force", GROUP], check=True)
    made: dict[str, str] = {}
    try:
        for count in range(1, number + 1):
            name, password = f"{GROUP}-{count}", secrets.token_urlsafe(12)
            home = ["--create-home", "--home-dir", str(homes / name), "-K", "HOME_MODE=0700"]
            subprocess.run(["useradd", *home, "--groups", GROUP, "--shell", "/bin/bash", name], check=True)
            made[name] = password
            subprocess.run(["chpasswd"], input=f"{name}:{password}", text=True, check=True)
        yield made
    finally:
        for name in made:
            for process in processes(name):
                with contextlib.suppress(psutil.Error):
                    process.kill()
            for path in files_outside(name):
                shutil.rmtree(path, ignore_errors=True)
            subprocess.run(["userdel", "--remove", name], capture_output=True)
        subprocess.run(["groupdel", GROUP], capture_output=True)


def processes(name: str) -> list[psutil.Process]:
    """Return the processes of a user."""
    uid, found = pwd.getpwnam(name).pw_uid, []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.uids().real == uid:
                found.append(process)
    return found


def memory(name: str) -> float:
    """Return the memory of a user's processes in bytes; what several share counts in parts."""
    total = 0.0
    for process in processes(name):
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


def open_ports(name: str) -> set[str]:
    """Return the addresses that a user's processes listen on, if others may reach them from outside."""
    found = set()
    for process in processes(name):
        with contextlib.suppress(psutil.Error):
            for line in process.net_connections("inet"):
                if line.status == psutil.CONN_LISTEN and line.laddr.ip not in ("127.0.0.1", "::1"):
                    found.add(f"{line.laddr.ip} {' '.join(process.cmdline())[:80]}")
    return found


def files_outside(name: str) -> list[Path]:
    """Return what a user has left in the folders that all share."""
    uid, found = pwd.getpwnam(name).pw_uid, []
    for place in (Path(tempfile.gettempdir()), Path("/dev/shm")):
        for path in place.iterdir() if place.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):  # another program has just removed its own
                if path.lstat().st_uid == uid:
                    found.append(path)
    return found
