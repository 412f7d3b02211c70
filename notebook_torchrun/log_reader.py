"""Read what the ranks write while they run; `rank` says what is in their logs."""

import json
import re
import time
from pathlib import Path
from typing import Any

from notebook_torchrun.result import Run

_LINES = re.compile(rb'\n|(?=\x1e{"time": )')  # C++ code may print half a line before a record
_NOISE = re.compile(rb"\[Gloo\] Rank |(\[rank\d+\]:)?\[W|\s*$")  # of PyTorch's C++ code; differs by release


class LogReader:
    """Adds what is new in the logs of a run's folder to the run."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder, self.run = folder, run
        # All records of a rank in one, by start of the job and rank: {(0, 1): {"time": 81236543, "done": True}}
        self.facts: dict[tuple[int, int], dict[str, Any]] = {}
        self.position: dict[Path, int] = {}
        self.held: list[tuple[int, int, int, dict[str, Any]]] = []  # time, start, rank, record

    def read(self, *, last: bool = False) -> None:
        """Add the records since the last call in order of time; at the `last` call also an incomplete line."""
        now, found = time.monotonic_ns(), self.held
        for path in sorted(self.folder.glob("*-*.log")):
            start, rank = map(int, path.stem.split("-"))
            when = self.facts.get((start, rank), {}).get(
                "time", now
            )  # printed lines follow the record before them
            with path.open("rb") as file:
                file.seek(self.position.get(path, 0))
                data = file.read()
            data = data if last else data[: data.rfind(b"\n") + 1]
            self.position[path] = self.position.get(path, 0) + len(data)
            for line in _LINES.split(data):
                if line.startswith(b"\x1e"):
                    record = json.loads(line[1:])
                    when = record["time"]
                    found.append((when, start, rank, record))
                elif not _NOISE.match(line):
                    found.append((when, start, rank, {"line": line.decode("utf-8", "replace").rstrip("\r")}))
        found.sort(key=lambda item: item[0])
        # What was written during this call waits for the next one: an answer must not come before its question because
        # the file with the question was read earlier.
        ready = [item for item in found if last or item[0] <= now]
        self.held = found[len(ready) :]
        run = self.run
        for _, start, rank, record in ready:
            self.facts.setdefault((start, rank), {}).update(record)
            run.restarts, run.backend = max(run.restarts, start), record.get("backend") or run.backend
            if "line" in record:
                run.lines.append((rank, record["line"]))
                run.starts.append(start)
            if "report" in record:
                run.results[rank] = (run.results[rank] or {}) | record["report"]
