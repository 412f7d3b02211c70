"""Read what the ranks write while they run; `rank` says what is in their logs."""

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from notebook_torchrun.result import Run

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
