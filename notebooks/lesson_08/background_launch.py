"""A script under torchrun that does not hold the kernel, so that a view can go on and a button can be pressed.

What `launch` does, in steps. When the kernel ends, however it ends, all that was started ends.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
import uuid
from pathlib import Path

from notebook_torchrun import agent
from notebook_torchrun.log_reader import LogReader
from notebook_torchrun.rank import __file__ as rank_file
from notebook_torchrun.result import Run
from notebook_torchrun.root_cause import find_failures


class BackgroundLaunch:
    """A job of torchrun; use it as a context manager: at its end nothing of it is left.

    Args:
        script: A Python file.
        arguments: Its arguments.
        processes: How many ranks.
        limit: Seconds after which ranks that still run count as hanging.

    Raises:
        FileNotFoundError: There is no such script.
    """

    def __init__(self, script: str, arguments: tuple[object, ...], processes: int, limit: float) -> None:
        self.script = Path(script).resolve()
        if not self.script.is_file():
            raise FileNotFoundError(f"there is no script {script} · 找不到 {script}")
        options = ["--standalone", f"--nproc-per-node={processes}"]
        words = [str(word) for word in arguments]
        self.run = Run(shlex.join(["torchrun", *options, str(script), *words]), processes, limit)
        # As short as can be: the sockets in it have paths of 104 bytes at most on macOS.
        self.folder = Path(tempfile.gettempdir(), f"launch-{uuid.uuid4().hex[:8]}")
        self._logs, self._began = LogReader(self.folder, self.run), time.monotonic()
        self._command = [*options, rank_file, str(self.script), *words]

    def __enter__(self) -> BackgroundLaunch:
        self._process = agent.start(self._command, agent.settings(self.folder, self.run.limit))
        return self

    def __exit__(self, *_: object) -> None:
        agent.stop(self._process, self.folder)

    def running(self) -> bool:
        """Return whether the job goes on; what its ranks have printed, and at its end what failed, is then in `run`."""
        over = self._process.poll() is not None
        self._logs.read(last=over)
        self.run.seconds = time.monotonic() - self._began
        if over:
            why, statuses = json.loads((self.folder / agent.OUTCOME).read_text(encoding="utf-8"))
            if why != "well":
                found = self._logs.facts, why, dict(statuses), self.script
                self.run.failures = find_failures(self.folder, self.run, *found)
        return not over

    def printed(self, start: str) -> str | None:
        """Return what follows `start` in the last line that a rank began with it, or None."""
        found = [text for _, text in self.run.lines if text.startswith(start)]
        return found[-1].removeprefix(start).strip() if found else None
