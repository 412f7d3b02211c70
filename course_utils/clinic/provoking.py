"""Errors on purpose: the program of an entry runs in a process of its own, with a time limit, and ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from course_utils.clinic.catalogue import Entry, entries
from course_utils.processes import end

LIMIT_SECONDS = 60.0
_QUIET = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONIOENCODING": "utf-8",
    "OMP_NUM_THREADS": "1",
    "TORCH_CPP_LOG_LEVEL": "WARNING",
}
# What a launcher or a teacher may have set would change what happens.
_REMOVED = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCH_DISTRIBUTED_DEBUG", "PYTEST_CURRENT_TEST",
    "PYTORCH_ALLOC_CONF", "PYTHONWARNINGS",
)  # fmt: skip


def program(entry: Entry, *, cuda: bool = False) -> str | None:
    """Return the program that provokes `entry`, or None where nothing here can provoke it.

    Args:
        entry: The entry.
        cuda: Whether there is a GPU; some entries need one, and some show better with one.
    """
    if cuda and entry.provoke_cuda:
        return entry.provoke_cuda
    if entry.where in ("special", "two_gpus") or (entry.where == "cuda" and not cuda):
        return None
    if entry.where == "cpu_build" and cuda:
        return None
    return entry.provoke or entry.provoke_alone


def run(code: str, *, seconds: float = LIMIT_SECONDS) -> str:
    """Run the program `code` in a fresh process and return all that it printed, what it wrote to stderr last.

    Args:
        code: The program. It is stored as a file, because processes that it starts import it again.
        seconds: Time limit; whatever still runs then is ended.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _REMOVED} | _QUIET
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment |= dict.fromkeys(
            ("TMPDIR", "TEMP", "TMP"), folder
        )  # what a program forgets there goes, too
        file = Path(folder) / "provoked.py"
        file.write_text(code, encoding="utf-8")
        out, err = Path(folder) / "out.txt", Path(folder) / "err.txt"
        # Files, not pipes: a grandchild that holds a pipe open would be waited for.
        with out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, str(file)],
                cwd=folder,
                env=environment,
                stdout=stdout,
                stderr=stderr,
                text=True,
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
            finally:  # also when the learner interrupts the cell
                end(process)
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in (out, err))


def provoke(name: str, *, seconds: float = LIMIT_SECONDS) -> str | None:
    """Provoke the entry `name` for real and return what was printed, or None where this machine cannot.

    Args:
        name: The entry's name in the catalogue.
        seconds: Time limit.

    Raises:
        ValueError: There is no such entry.
    """
    if name not in entries():
        raise ValueError(f"provoke({name!r}): there is no such entry; see course_utils.clinic.catalogue.")
    import torch

    code = program(entries()[name], cuda=torch.cuda.is_available())
    return None if code is None else run(code, seconds=seconds)
