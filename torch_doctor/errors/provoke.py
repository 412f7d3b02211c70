"""Provoke an error: run the program of an entry in a subprocess with a timeout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from torch_doctor.errors.catalogue import Entry, entries
from torch_doctor.subprocesses import kill, start

LIMIT_SECONDS = 60.0
ADDED_VARIABLES = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONIOENCODING": "utf-8",
    "OMP_NUM_THREADS": "1",
    "TORCH_CPP_LOG_LEVEL": "WARNING",
}
# Variables of a launcher or of the user that would change what happens.
REMOVED_VARIABLES = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCH_DISTRIBUTED_DEBUG", "PYTEST_CURRENT_TEST",
    "PYTORCH_ALLOC_CONF", "PYTHONWARNINGS",
)  # fmt: skip


def program(entry: Entry, *, cuda: bool = False) -> str | None:
    """Return the program that provokes `entry`, or None if this machine cannot provoke it.

    Args:
        entry: The entry.
        cuda: Whether there is a GPU; some entries need one, and some show better with one.
    """
    if cuda and entry.provoke_cuda:
        return entry.provoke_cuda
    if entry.requires in ("special", "two_gpus") or (entry.requires == "cuda" and not cuda):
        return None
    return None if entry.requires == "cpu_build" and cuda else entry.provoke or entry.provoke_alone


def run(code: str, *, seconds: float = LIMIT_SECONDS) -> str:
    """Run the program `code` in a subprocess and return everything that it printed, stderr last.

    Args:
        code: The program. It is stored as a file, because processes that it spawns import it.
        seconds: Time limit; then the process and everything that it started is killed.
    """
    folder = tempfile.mkdtemp()  # temporary files that the program leaves behind are deleted with it
    try:
        variables = {key: value for key, value in os.environ.items() if key not in REMOVED_VARIABLES}
        variables |= ADDED_VARIABLES | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
        file = Path(folder) / "provoked.py"
        file.write_text(code, encoding="utf-8")
        out, err = Path(folder) / "out.txt", Path(folder) / "err.txt"
        # Files instead of pipes: reading a pipe would wait for a grandchild that holds it open.
        with out.open("w") as stdout, err.open("w") as stderr:
            process = start(
                [sys.executable, str(file)], cwd=folder, env=variables, stdout=stdout, stderr=stderr
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
            finally:  # also if the user interrupts the cell
                kill(process)
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in (out, err))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def provoke(name: str, *, seconds: float = LIMIT_SECONDS) -> str | None:
    """Provoke the entry `name` and return what was printed, or None if this machine cannot provoke it.

    Args:
        name: The entry's name in the catalogue.
        seconds: Time limit.

    Raises:
        ValueError: There is no such entry.
    """
    if name not in entries():
        raise ValueError(f"provoke({name!r}): there is no such entry; see torch_doctor.errors.catalogue.")
    import torch

    code = program(entries()[name], cuda=torch.cuda.is_available())
    return None if code is None else run(code, seconds=seconds)
