"""Processes of their own: for what can be asked only once, or only before CUDA starts, or must end in time."""

from __future__ import annotations

import os
import subprocess
import sys


def end(process: subprocess.Popen) -> None:
    """End `process` and everything that it started, and wait until they are gone."""
    import psutil

    try:
        family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    except psutil.NoSuchProcess:
        family = []
    for member in family:
        try:
            member.kill()
        except psutil.Error:
            pass
    psutil.wait_procs(family, timeout=5)
    process.wait()


def run_fresh(code: str, *, seconds: float = 120, **environment: str) -> str:
    """Run `code` in a fresh Python process and return what it prints.

    Args:
        code: The program.
        seconds: Time limit.
        environment: Variables to set for it, such as ``CUDA_VISIBLE_DEVICES="0"``.

    Raises:
        RuntimeError: The program fails (the text holds what it wrote to stderr) or takes too long.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            f"the fresh process was still running after {seconds:g} seconds and was stopped."
        ) from None
    if done.returncode != 0:
        raise RuntimeError(f"the fresh process ended with status {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()
