"""Keep the processor busy with other processes, as on a machine that is in use."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

# It ends with the process that started it, however that ends: then its standard input is closed.
BUSY = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
if sys.argv[1] == "copy":
    source, target = bytearray(2**25), bytearray(2**25)
    while True:
        target[:] = source
while True:
    pass
"""


@contextlib.contextmanager
def busy(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep `count` processes busy: they compute and take memory bandwidth in turns."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(count):
            command = [sys.executable, "-c", BUSY, "copy" if number % 2 else "spin"]
            running.append(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))
        yield running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()
