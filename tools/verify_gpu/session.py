"""One run of the command: its folder, its time, and the processes it starts."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.notebook_file import ROOT
from torch_doctor.subprocesses import kill, start


class Failed(Exception):
    """A step failed; the message is its line in the table."""


class Remark(Exception):
    """A step found what a reader should know, but no fault of the course; the message is its line in the table."""


@dataclass(frozen=True)
class Outcome:
    """The result of one step: ``"ok"``, ``"remark"``, ``"failed"`` or ``"not run"``; its seconds; a line of details."""

    step: str
    status: str
    seconds: float
    message: str

    @property
    def fine(self) -> bool:
        """Whether the step found no fault."""
        return self.status in ("ok", "remark")


@dataclass
class Session:
    """What the steps share."""

    folder: Path  # everything that the archive will hold
    rehearsal: bool  # its figures do not count
    minutes: float  # for the whole run
    notebooks: list[Path]  # the lessons to run
    machine: dict[str, Any] = field(default_factory=dict)  # what the first step found out
    began: float = field(default_factory=time.monotonic)

    @property
    def cuda(self) -> bool:
        """Whether there is a GPU to use."""
        return bool(self.machine.get("gpus"))

    def left(self) -> float:
        """Return the seconds that are left of the whole run."""
        return self.began + 60 * self.minutes - time.monotonic()

    def file(self, name: str) -> Path:
        """Return the path of `name` in the archive's folder, whose folders are made."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep(self, name: str, values: Any) -> None:
        """Store plain data as JSON."""
        self.file(name).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def ask(self, log: str, code: str, seconds: float) -> Any:
        """Run the program `code` and return the plain data that its last line holds as JSON."""
        return json.loads(self.python(log, ["-c", code], seconds).splitlines()[-1])

    def python(
        self,
        log: str,
        arguments: Sequence[object],
        seconds: float,
        statuses: Sequence[int] = (0,),
        **variables: str,
    ) -> str:
        """Run this Python with `arguments` and environment `variables` in a process of its own; return what it printed.

        The archive keeps that as a log. It has so many seconds, or the rest of the whole run.

        Raises:
            Failed: It ended with another status than those that are right, or its time was up.
        """
        seconds = min(seconds, self.left())
        path = self.file(f"logs/{log}.log")
        # The table at the end goes into a GitHub job's summary; one for each lesson's pytest would hide it.
        environment = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
        environment |= {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
        with path.open("w", encoding="utf-8") as output:
            how = {"cwd": ROOT, "env": environment | variables, "stdin": subprocess.DEVNULL}
            command = [sys.executable, *map(str, arguments)]
            process = start(command, stdout=output, stderr=subprocess.STDOUT, **how)
            try:
                status = process.wait(max(seconds, 0))
            except subprocess.TimeoutExpired:
                status = None
            finally:  # also when the whole command is interrupted
                kill(process)
        message = path.read_text(encoding="utf-8", errors="replace")
        if status not in statuses:
            last = (message.strip().splitlines() or ["no output"])[-1][:120]
            killed = f"still ran after {max(seconds, 0):.0f} s and was killed"
            raise Failed(f"{killed if status is None else f'status {status}'}: {last}; logs/{log}.log")
        return message
