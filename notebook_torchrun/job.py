"""A script under torchrun that does not hold the kernel: `launch` waits for it, and a live view goes on meanwhile."""

import json
import shlex
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notebook_torchrun import agent
from notebook_torchrun.log_reader import LogReader
from notebook_torchrun.result import Run
from notebook_torchrun.root_cause import find_failures


class Job:
    """Starts torchrun; call :meth:`stop` in a ``finally``, then nothing of it is left.

    Args:
        script: A Python file: relative to the working directory or to its folder ``notebooks``, or a whole path.
        arguments: Its arguments.
        processes: How many ranks.
        limit: Seconds after which ranks that still run count as hanging.
        max_restarts: How often torchrun restarts all ranks after a failure.
        environment: Variables to set for the ranks.

    Attributes:
        run: What its ranks have printed so far, and at its end what failed.

    Raises:
        FileNotFoundError: There is no such script.
        TypeError: The script is a function or another object; torchrun needs a file.
        ValueError: The script is no Python file.
    """

    def __init__(
        self,
        script: str | Path,
        arguments: Sequence[object],
        processes: int,
        limit: float,
        max_restarts: int = 0,
        environment: Mapping[str, object] | None = None,
    ) -> None:
        self.script = find(script)
        options = ["--standalone", f"--nproc-per-node={processes}"]
        options += [f"--max-restarts={max_restarts}"] * bool(max_restarts)
        words = [str(word) for word in arguments]
        typed = "/".join(self.script.parts[-2:]) if Path(script).is_absolute() else Path(script).as_posix()
        self.run = Run(shlex.join(["torchrun", *options, typed, *words]), processes, limit)
        # What the ranks open below this folder must not exceed the 104 bytes of a socket's path on macOS, whose
        # temporary folder alone takes 49, and a DataLoader's "/torch-shm-dir-XXXXXX/manager.sock" 34.
        self.folder = Path(tempfile.gettempdir(), f"launch-{uuid.uuid4().hex[:8]}")
        self._logs, self._began = LogReader(self.folder, self.run), time.monotonic()
        self._process: Any = None
        self._command = [*options, str(Path(agent.__file__).with_name("rank.py")), str(self.script), *words]
        self._variables = {name: str(value) for name, value in (environment or {}).items()}

    def start(self) -> None:
        """Start it."""
        self._process = agent.start(
            self._command, agent.settings(self.folder, self.run.limit) | self._variables
        )

    def stop(self) -> None:
        """Stop it, if it still runs."""
        agent.stop(self._process, self.folder)
        self.run.seconds = time.monotonic() - self._began

    def running(self) -> bool:
        """Return whether the job goes on."""
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


def find(script: str | Path) -> Path:
    """Return the whole path of `script`, or raise with words that say what to give."""
    if not isinstance(script, (str, Path)):
        raise TypeError(
            f"launch() takes the path of a file, not {type(script).__name__}: fresh processes cannot see what the notebook holds · 請給檔案路徑：新的行程看不到筆記本裡的物件"
        )
    # Some editors start kernels in the repository's root.
    files = [path for path in (Path(script), Path("notebooks", script)) if path.is_file()]
    if not files:
        raise FileNotFoundError(
            f"launch(): there is no file {script}; give a path such as 'mine/hello.py' · 找不到 {script}，請給檔案路徑，例如 'mine/hello.py'"
        )
    name = files[0].name
    if files[0].suffix != ".py":
        raise ValueError(f"launch(): {name} is no Python file (.py) · {name} 不是 Python 檔（.py）")
    return files[0].resolve()
