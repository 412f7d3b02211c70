"""Run every probe in a subprocess with a timeout.

A process that waits inside the kernel for a driver in trouble cannot be killed. Therefore nothing here waits without a
limit: not for an answer, not for the end of a killed process, not for its output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torch_doctor import subprocesses

FOLDER = Path(__file__).parent / "probes"
DRIVER_NODES = ("nvidiactl", "dxg", "kfd")  # in /dev if a GPU driver is loaded
RECORD = "\x1e"  # what a probe reports begins with this; other stdout lines are ignored
MAX_LINES = 2000
PATIENCE_VARIABLE = "TORCH_DOCTOR_PATIENCE"  # tells the probe `job` the factor on time limits
# A probe writes no files, and says nothing but what it finds.
QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "CUDA_CACHE_DISABLE": "1", "PYTHONIOENCODING": "utf-8",
         "TORCH_CPP_LOG_LEVEL": "FATAL"}  # fmt: skip

# Time limit of each probe in seconds. Probes run side by side, and all together end within TOTAL.
LIMITS = {"interpreter": 5.0, "bus": 6.0, "driver": 6.0, "unmasked": 6.0, "nvml": 6.0, "smi": 6.0, "pytorch": 7.5,
          "usable": 8.5, "speed": 11.0, "job": 8.5}  # fmt: skip
TOTAL = 9.0
# The measurement begins when the others have ended: on a busy machine the third import of torch, and CUDA, take 5 s.
MEASURED = TOTAL + LIMITS["speed"]
AFTER_KILL = 0.3  # seconds to wait for the end of a killed process

# The `-c` puts the current folder first in sys.path, as in a notebook (to find a torch.py there).
# The timer ends a probe whose parent has died, even while no Python code runs.
_BOOT = f"""
import faulthandler, json, os, runpy, sys
path, root, seconds = sys.argv[1:4]
faulthandler.dump_traceback_later(float(seconds), exit=True)
def emit(**found):
    print({RECORD!r} + json.dumps(found, default=str), flush=True)
runpy.run_path(path)["probe"](root, emit)
sys.stdout.flush()
"""


class Running:
    """A running probe, and what it has printed so far.

    Attributes:
        ended: ``""`` while it runs, then how it ended (see :meth:`torch_doctor.diagnosis.evidence.Evidence.ended`).
        seconds: How long it ran.
        out: The lines of its stdout.
        err: The lines of its stderr.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str], limit: float) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.ended = ""
        self.seconds = 0.0
        self.process: subprocess.Popen[str] | None = None
        self._limit, self._start = limit, time.monotonic()
        self._readers: list[threading.Thread] = []
        try:
            self.process = subprocesses.start(
                command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except OSError as error:
            self.ended = "absent" if isinstance(error, FileNotFoundError) else "failed"
            self.err.append(str(error))
            return
        for pipe, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            reader = threading.Thread(target=_read, args=(pipe, lines), daemon=True)
            reader.start()
            self._readers.append(reader)

    def poll(self) -> bool:
        """Return whether the probe has ended; kill it if it has reached its time limit."""
        if self.ended or self.process is None:
            return True
        if self.process.poll() is not None:
            for reader in self._readers:  # a grandchild may hold the pipe open
                reader.join(0.2)
            self.ended = "answered" if self.process.returncode == 0 else "failed"
            self._stop_clock()
        elif time.monotonic() - self._start > self._limit:
            self.stop()
        return bool(self.ended)

    def stop(self) -> None:
        """Kill the probe and everything that it started; leave it behind if it cannot be killed."""
        if not self.ended and self.process is not None:
            self._stop_clock()
            self.ended = "slow" if subprocesses.kill(self.process, AFTER_KILL) else "stuck"

    def _stop_clock(self) -> None:
        self.seconds = round(time.monotonic() - self._start, 2)

    def found(self) -> dict[str, Any]:
        """Return everything that the probe reported, how it ended, and how long it ran."""
        found: dict[str, Any] = {}
        for line in list(self.out):
            _, mark, record = line.partition(RECORD)
            if mark:
                try:
                    found |= json.loads(record)
                except ValueError:
                    continue  # the probe was killed while it wrote this line
        if self.ended == "failed":
            last = [line.strip() for line in self.err if line.strip()][-1:]
            status = self.process.returncode if self.process else None
            crashed = status is not None and status < 0
            ending = f"Python crashed (signal {-status})" if crashed else f"status {status}"
            found.setdefault("exit", ": ".join([ending, *(line[:300] for line in last)]))
        return found | {"ended": self.ended, "seconds": self.seconds}


def _read(pipe: Iterator[str], lines: list[str]) -> None:
    try:
        for line in pipe:
            if len(lines) < MAX_LINES:
                lines.append(line)
    except (OSError, ValueError):
        pass  # the pipe was closed


def start_smi(environment: Mapping[str, str], limit: float) -> Running:
    """Start ``nvidia-smi -L``, which lists GPUs and MIG partitions in every release."""
    path = shutil.which("nvidia-smi", path=environment.get("PATH"))
    return Running([path or "nvidia-smi", "-L"], environment, limit)


def smi_found(running: Running) -> dict[str, Any]:
    """Return what ``nvidia-smi -L`` printed, without the UUIDs of the cards."""
    lines = [line.split(" (UUID")[0].rstrip() for line in "".join([*running.out, *running.err]).splitlines()]
    code = running.process.returncode if running.process else None
    return {
        # A status other than 0 is an answer too: 9 (no driver), 18 (driver/library mismatch).
        "ended": "answered" if running.ended == "failed" and code is not None else running.ended,
        "seconds": running.seconds,
        "code": code if running.ended in ("answered", "failed") else None,
        "gpus": sum(line.startswith("GPU ") for line in lines),
        "text": "\n".join(lines)[:2000],
    }


def run_probes(
    question: str = "cuda",
    *,
    root: str = "/",
    environment: Mapping[str, str] | None = None,
    caller: Mapping[str, Any] | None = None,
    patience: float = 1.0,
    python: str = sys.executable,
) -> dict[str, dict[str, Any]]:
    """Run all probes that `question` needs side by side, and return what they found.

    Args:
        question: ``"cuda"``, ``"slow"`` or ``"hang"``.
        root: The folder with the machine's files; the tests put made-up machines there.
        environment: The environment variables of the probes; default: those of this process.
        caller: The state of the calling process, see :func:`torch_doctor.diagnosis.this_process.state`.
        patience: Factor on all time limits (with 1, everything ends within ten seconds; `slow` within 21).
        python: The Python that runs the probes, and so is examined.

    Returns:
        Probe → what it found: ``{"driver": {"ended": "answered", "seconds": 0.2, "cuInit": 100, …}, …}``.
    """
    variables = dict(os.environ if environment is None else environment)
    began = time.monotonic()

    def limit(name: str) -> float:
        left = (MEASURED if question == "slow" else TOTAL) * patience - (time.monotonic() - began)
        return max(min(LIMITS[name] * patience, left), 0.0)

    def begin(name: str, file: str | None = None, variables: Mapping[str, str] = variables) -> Running:
        path, seconds = FOLDER / f"{file or name}.py", limit(name)
        command = [python, "-c", _BOOT, str(path), root, str(seconds + 1)]
        return Running(command, {**variables, **QUIET, PATIENCE_VARIABLE: str(patience)}, seconds)

    # First the slowest one, whose result decides most.
    running = {name: begin(name) for name in ("pytorch", "interpreter", "bus", "driver", "nvml")}
    running["smi"] = start_smi(variables, limit("smi"))
    if "CUDA_VISIBLE_DEVICES" in variables:
        unmasked = {name: value for name, value in variables.items() if name != "CUDA_VISIBLE_DEVICES"}
        running["unmasked"] = begin("unmasked", "driver", unmasked)
    nodes = [os.path.join(root, "dev", node) for node in DRIVER_NODES]
    if sys.platform == "win32" or any(map(os.path.exists, nodes)):
        running["usable"] = begin("usable")  # there may be a GPU; initializing it takes time
    if question == "hang":
        running["job"] = begin("job")
    try:
        while True:
            ended = all([probe.poll() for probe in running.values()])
            if not _start_followers(running, question, begin) and ended:
                break
            time.sleep(0.02)
    finally:
        for probe in running.values():
            probe.stop()
    found = {name: smi_found(probe) if name == "smi" else probe.found() for name, probe in running.items()}
    return {"caller": dict(caller or {}), **found}


def _start_followers(running: dict[str, Running], question: str, begin: Callable[[str], Running]) -> bool:
    """Start the probes that depend on torch (the small job on each GPU, the measurement), and return whether one began."""
    torch, before = running["pytorch"], len(running)
    if torch.ended != "answered":
        return False
    found = torch.found()
    if "usable" not in running and found.get("count"):
        running["usable"] = begin("usable")
    # The measurement comes last: others would slow it down, and some GPUs accept only one process.
    free = "usable" not in running or running["usable"].ended
    if question == "slow" and "speed" not in running and found.get("imported") and free:
        running["speed"] = begin("speed")
    return len(running) > before
