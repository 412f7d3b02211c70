"""The other Pythons of this machine, on which the package and its probes are tried."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

MINORS = range(8, 15)  # the probes run from Python 3.8 on, the package from 3.9 on


@cache
def python(minor: int) -> str | None:
    """Return the file of Python 3.`minor` on this machine, or None."""
    installed = Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")
    for one in (shutil.which(f"python3.{minor}"), *map(str, installed)):
        if one is None:
            continue
        code = "import sys; print(sys.version_info[1], sys.executable)"
        done = subprocess.run(
            [one, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        told, _, file = done.stdout.strip().partition(" ")
        if done.returncode == 0 and told == str(minor):
            return file
    return None
