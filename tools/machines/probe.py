"""Say what this machine is, as its processes see it: ``python -m tools.machines.probe`` prints JSON.

It runs on the staged machine, so that a stage without effect is noticed. Slow imports are in the functions that need
them: most machines are asked for one fact.
"""

import codecs
import json
import locale
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

ONEDNN = "import torch; torch.zeros(4, 4).to_mkldnn()"


def _torch() -> Any:
    import torch

    return torch


def _system_fonts() -> int:
    import matplotlib
    from matplotlib import font_manager

    shipped = Path(matplotlib.get_data_path())
    return sum(not Path(font.fname).is_relative_to(shipped) for font in font_manager.fontManager.ttflist)


def _caches_elsewhere() -> list[str]:
    """Return the caches that are not in the home."""
    import matplotlib

    folder = matplotlib.get_cachedir()
    return [] if Path(folder).is_relative_to(Path.home()) else [folder]


def _home_can_be_written() -> bool:
    try:
        with tempfile.TemporaryFile(dir=Path.home()):
            return True
    except OSError:
        return False


def _onednn() -> str:
    """Return what oneDNN calls the instruction set that it uses, or nothing."""
    environment = os.environ | {"ONEDNN_VERBOSE": "1"}
    said = subprocess.run([sys.executable, "-c", ONEDNN], env=environment, capture_output=True, text=True)
    found = [line.partition("cpu,isa:")[2] for line in said.stdout.splitlines() if "cpu,isa:" in line]
    return found[0] if found else ""


def _busy() -> bool:
    """Return whether other processes keep at least a processor busy."""

    def seconds() -> dict[int, float]:
        found = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it is over, or somebody else's
                found[process.pid] = sum(process.cpu_times()[:2])
        return found

    begin = seconds()
    time.sleep(1)
    spent = {pid: value - begin.get(pid, value) for pid, value in seconds().items() if pid != os.getpid()}
    return sum(spent.values()) > 0.7


FACTS = {
    "instructions": lambda: _torch().backends.cpu.get_cpu_capability(),
    "oneDNN": _onednn,
    "threads": lambda: _torch().get_num_threads(),
    "cores": lambda: len(os.sched_getaffinity(0)),
    # A process of its own: it is killed where it may not have them.
    "5 GiB can be had": lambda: not subprocess.run([sys.executable, "-c", "b'x' * (5 * 2**30)"]).returncode,
    "files in the home": lambda: sum(not path.name.startswith(".") for path in Path.home().iterdir()),
    "caches elsewhere": _caches_elsewhere,
    "system fonts": _system_fonts,
    "compilers": lambda: [
        name for name in ("gcc", "g++", "cc", "c++", "clang", "clang++") if shutil.which(name)
    ],
    "locale": lambda: locale.setlocale(locale.LC_ALL, "").split(";")[0].split("=")[-1],
    "encoding": lambda: codecs.lookup(locale.getpreferredencoding(False)).name,
    "home can be written": _home_can_be_written,
    "folder is plain": lambda: str(Path.cwd()).isascii() and " " not in str(Path.cwd()),
    "busy processes": _busy,
    "python": lambda: ".".join(platform.python_version_tuple()[:2]),
    "torch": lambda: _torch().__version__.partition("+")[0],
}


if __name__ == "__main__":
    print(json.dumps({name: FACTS[name]() for name in sys.argv[1:] or FACTS}))
