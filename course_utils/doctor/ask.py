"""Asking without being caught: every probe runs in a process of its own, with its own time limit.

A driver in trouble can hold a process in the kernel, where not even the strongest signal ends it. So nothing here waits
without a limit: not for an answer, not for a stopped process, not for its output.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "probes"
NODES = ("nvidiactl", "dxg", "kfd")  # in /dev where a driver runs
MARK = "\x1e"  # what a probe reports begins with this; all else on its stdout is somebody's chatter

# Seconds that each probe may take. Together no question takes longer than TOTAL: probes run side by side.
LIMITS = {"interpreter": 5.0, "bus": 6.0, "driver": 6.0, "unmasked": 6.0, "nvml": 6.0, "smi": 6.0, "pytorch": 7.5,
          "usable": 8.5, "speed": 8.0, "job": 8.5}  # fmt: skip
TOTAL = 9.0
AFTER_KILL = 0.3  # how long a stopped process may take to disappear

# `-c` puts the current folder in front, as a notebook does; running the file itself would put its own folder there.
# The timer ends a probe whose parent has died, also where Python code no longer runs.
_BOOT = f"""
import faulthandler, json, os, runpy, sys
path, root, seconds = sys.argv[1:4]
faulthandler.dump_traceback_later(float(seconds), exit=True)
def emit(**found):
    print({MARK!r} + json.dumps(found, default=str), flush=True)
runpy.run_path(path)["probe"](root, emit)
sys.stdout.flush()
"""


class Asked:
    """A question under way: a process, and what it has said so far."""

    def __init__(self, command: list[str], environment: Mapping[str, str], seconds: float) -> None:
        self.seconds, self.start = seconds, time.monotonic()
        self.out: list[str] = []
        self.err: list[str] = []
        self.ended = ""
        self.took = 0.0
        self.process: subprocess.Popen[str] | None = None
        self.readers: list[threading.Thread] = []
        extra: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
            if sys.platform == "win32"
            else {"start_new_session": True}  # so that what the command starts is stopped with it
        )
        try:
            self.process = subprocess.Popen(
                command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", **extra,
            )  # fmt: skip
        except OSError as error:
            self.ended = "absent" if isinstance(error, FileNotFoundError) else "failed"
            self.err.append(str(error))
            return
        for pipe, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            reader = threading.Thread(target=_collect, args=(pipe, lines), daemon=True)
            reader.start()
            self.readers.append(reader)

    def poll(self) -> bool:
        """Return whether this question is over; stop it if its time is."""
        if self.ended or self.process is None:
            return True
        if self.process.poll() is not None:
            for reader in self.readers:  # a grandchild may hold the pipe open
                reader.join(0.2)
            self.ended = "answered" if self.process.returncode == 0 else "failed"
            self._stopwatch()
        elif time.monotonic() - self.start > self.seconds:
            self.stop()
        return bool(self.ended)

    def stop(self) -> None:
        """End the process and what it started; give up where even that is impossible."""
        if self.ended or self.process is None:
            return
        self._stopwatch()
        try:
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        end = time.monotonic() + AFTER_KILL
        while self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        self.ended = "slow" if self.process.poll() is not None else "stuck"

    def _stopwatch(self) -> None:
        self.took = round(time.monotonic() - self.start, 2)

    def found(self) -> dict[str, Any]:
        """Return what a probe has reported, how it ended and what that took."""
        found: dict[str, Any] = {}
        for line in list(self.out):
            _, mark, record = line.partition(MARK)
            if mark:
                try:
                    found |= json.loads(record)
                except ValueError:
                    continue  # cut off in the middle, because its time was over
        if self.ended == "failed":
            last = [line.strip() for line in self.err if line.strip()][-1:]
            status = self.process.returncode if self.process else None
            found.setdefault("exit", f"status {status}: {''.join(last)[:300]}")
        return found | {"ended": self.ended, "seconds": self.took}


def _collect(pipe: Any, lines: list[str]) -> None:
    try:
        for line in pipe:
            if len(lines) < 2000:
                lines.append(line)
    except (OSError, ValueError):
        pass  # the pipe was closed under us


def start(
    name: str, *, root: str, environment: Mapping[str, str], seconds: float, arguments: Iterable[str] = ()
) -> Asked:
    """Start the probe in ``probes/<name>.py`` in a fresh process that writes no files."""
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "CUDA_CACHE_DISABLE": "1", "PYTHONIOENCODING": "utf-8",
             "TORCH_CPP_LOG_LEVEL": "FATAL"}  # fmt: skip
    path = str(FOLDER / f"{name}.py")
    command = [sys.executable, "-c", _BOOT, path, root, str(seconds + 1), *arguments]
    return Asked(command, {**environment, **quiet}, seconds)


def smi(environment: Mapping[str, str], seconds: float) -> Asked:
    """Start ``nvidia-smi -L``, which lists GPUs and MIG parts in every release."""
    path = shutil.which("nvidia-smi", path=environment.get("PATH"))
    return Asked([path or "nvidia-smi", "-L"], environment, seconds)


def smi_found(asked: Asked) -> dict[str, Any]:
    """Return what ``nvidia-smi -L`` said, without the cards' serial names."""
    text = "".join([*asked.out, *asked.err])
    lines = [line.split(" (UUID")[0].rstrip() for line in text.splitlines()]
    code = asked.process.returncode if asked.process else None
    return {
        "ended": "answered" if asked.ended == "failed" and code is not None else asked.ended,
        "seconds": asked.took,
        "code": code if asked.ended in ("answered", "failed") else None,
        "gpus": sum(line.startswith("GPU ") for line in lines),
        "text": "\n".join(lines)[:2000],
    }


def examine(
    question: str = "cuda",
    *,
    root: str = "/",
    environment: Mapping[str, str] | None = None,
    caller: Mapping[str, Any] | None = None,
    patience: float = 1.0,
) -> dict[str, dict[str, Any]]:
    """Ask all probes that `question` needs, side by side, and return what they found.

    Args:
        question: ``"cuda"``, ``"slow"`` or ``"hang"``.
        root: Where the machine's files are; the tests put made-up machines there.
        environment: The variables that the probes see; this process's own, if None.
        caller: What the asking notebook knows about itself, see :func:`course_utils.doctor.caller.state`.
        patience: Factor on all time limits (with 1, everything ends within ten seconds).
    """
    seen = dict(os.environ if environment is None else environment)
    began = time.monotonic()

    def limit(name: str) -> float:
        left = TOTAL * patience - (time.monotonic() - began)
        return max(min(LIMITS[name] * patience, left), 0.0)

    def begin(name: str, file: str | None = None, variables: Mapping[str, str] = seen) -> Asked:
        variables = {**variables, "COURSE_DOCTOR_PATIENCE": str(patience)}
        return start(file or name, root=root, environment=variables, seconds=limit(name))

    # Where torch comes from decides most; it is also the slowest. The rest runs beside it.
    under_way = {name: begin(name) for name in ("pytorch", "interpreter", "bus", "driver", "nvml")}
    under_way["smi"] = smi(seen, limit("smi"))
    if "CUDA_VISIBLE_DEVICES" in seen:
        shown = {name: value for name, value in seen.items() if name != "CUDA_VISIBLE_DEVICES"}
        under_way["unmasked"] = begin("unmasked", "driver", shown)
    if sys.platform == "win32" or any(os.path.exists(os.path.join(root, "dev", node)) for node in NODES):
        under_way["usable"] = begin(
            "usable"
        )  # there may be a GPU: waking it takes time, so it starts at once
    if question == "hang":
        under_way["job"] = begin("job")
    try:
        while not all([asked.poll() for asked in under_way.values()]):
            _follow_up(under_way, question, begin)
            time.sleep(0.02)
        _follow_up(under_way, question, begin)
        while not all([asked.poll() for asked in under_way.values()]):
            time.sleep(0.02)
    finally:
        for asked in under_way.values():
            asked.stop()
    found = {name: smi_found(asked) if name == "smi" else asked.found() for name, asked in under_way.items()}
    return {"caller": dict(caller or {}), **found}


def _follow_up(under_way: dict[str, Asked], question: str, begin: Any) -> None:
    """Start the probes that need torch's answer first: the small job, and the measurement."""
    torch = under_way["pytorch"]
    if torch.ended != "answered":
        return
    found = torch.found()
    if "usable" not in under_way and found.get("count"):
        under_way["usable"] = begin("usable")
    # After the small job: two at a time would slow each other, and some GPUs accept one process only.
    free = "usable" not in under_way or under_way["usable"].ended
    if question == "slow" and "speed" not in under_way and found.get("imported") and free:
        under_way["speed"] = begin("speed")
