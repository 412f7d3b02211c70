"""Run code in a fresh Python process with a timeout."""

import os
import subprocess
import sys


def run_fresh(code: str, *, seconds: float = 120, **environment: str) -> str:
    """Return what `code` prints when it runs in a fresh Python process.

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
            encoding="utf-8",
            errors="replace",  # what a compiler prints may be in the system's encoding
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            f"the fresh process was still running after {seconds:g} seconds and was stopped."
        ) from None
    if done.returncode != 0:
        raise RuntimeError(f"the fresh process ended with status {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()
