"""Wheels of the packages that can be installed without the course."""

import subprocess
import sys
from pathlib import Path


def wheel_of(sources: Path, folder: Path) -> Path:
    """Build the wheel of the package in `sources` into `folder`, without installing anything."""
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, f"--wheel-dir={folder}", str(sources)]
    subprocess.run(command, check=True, timeout=400)
    (wheel,) = folder.glob("*.whl")
    return wheel
