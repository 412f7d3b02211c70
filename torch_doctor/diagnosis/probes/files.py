"""How probes read files. No probe of its own: probes load this file, also in a Python that has no torch_doctor."""

from __future__ import annotations

import os


def read(root: str, path: str, most: int = 100_000) -> str:
    """Return the text of the file `path` in the folder `root`, or ``""``.

    Args:
        root: The folder with the machine's files.
        path: The file; one that begins with ``/`` is taken as it is.
        most: How many bytes are read at most.
    """
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read(most).decode("utf-8", "replace").rstrip("\0\n ")
    except OSError:
        return ""


def mapped() -> list[str]:
    """Return the files that this process has mapped into its memory, such as its libraries (Linux)."""
    lines = read("/", "proc/self/maps", 10_000_000).splitlines()
    return list(dict.fromkeys(line.split(maxsplit=5)[-1] for line in lines if line))
