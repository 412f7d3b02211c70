"""A script under torchrun that does not hold the kernel: `launch` waits for it, and a live view goes on meanwhile.

What the ranks write is read while they run; `rank` says what is in their logs.
"""

import json
import os
import re
import shlex
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notebook_torchrun import agent, fork_server
from notebook_torchrun.result import Run
from notebook_torchrun.root_cause import find_failures

MOST_LINES, MOST_CHARACTERS = 10_000, 4_000  # of a rank, of a line
MOST_BYTES = 2**26  # at once; an endless loop that prints must not fill the disk
_RECORD = b'\x1e{"time": '  # C++ code may print half a line before it
# Of PyTorch's C++ code; differs by release.
_NOISE = re.compile(rb"\[Gloo\] Rank |(\[rank\d+\]:)?\[W(\d{4} | \w+\.\w+)")


class LogReader:
    """Adds what is new in the logs of a run's folder to the run."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder, self.run = folder, run
        # All records of a rank in one, by start of the job and rank: {(0, 1): {"time": 81236543, "done": True}}
        self.facts: dict[tuple[int, int], dict[str, Any]] = {}
        self.position: Counter[Path] = Counter()
        self.count: Counter[Path] = Counter()  # of printed lines

    def read(self, *, last: bool = False) -> None:
        """Add what was written since the last call; at the `last` call also an incomplete line."""
        for path in sorted(self.folder.glob("*-*.log")):
            with path.open("rb") as file:
                file.seek(self.position[path])
                data = file.read(MOST_BYTES)
            data = data if last else data[: data.rfind(b"\n") + 1]
            self.position[path] += len(data)
            if self.position[path] >= MOST_BYTES:
                os.truncate(path, 0)
                self.position[path] = 0
            start, rank = map(int, path.stem.split("-"))
            for line in data.removesuffix(b"\n").split(b"\n") if data else ():
                printed, mark, record = line.partition(_RECORD)
                if mark:
                    self._note(start, rank, json.loads(_RECORD[1:] + record))
                if (printed or not mark) and not _NOISE.match(printed):
                    self.count[path] += 1
                    text = printed.rstrip(b"\r").rpartition(b"\r")[2]  # of a progress bar, the last
                    if self.count[path] <= MOST_LINES:
                        shown = text.decode("utf-8", "replace")[:MOST_CHARACTERS]
                        self.run.lines.append((rank, shown if self.count[path] < MOST_LINES else "…"))
                        self.run.starts.append(start)

    def _note(self, start: int, rank: int, record: dict[str, Any]) -> None:
        run = self.run
        self.facts.setdefault((start, rank), {}).update(record)
        run.restarts, run.backend = max(run.restarts, start), record.get("backend") or run.backend
        if "report" in record:
            run.results[rank] = (run.results[rank] or {}) | record["report"]


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
        agent.make_folder(self.folder)
        settings = agent.settings(self.folder, self.run.limit)
        self._process = fork_server.start(self._command, settings, self._variables)

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
            why, statuses = agent.outcome_in(self.folder)
            if why != "well":
                found = self._logs.facts, why, statuses, self.script
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
