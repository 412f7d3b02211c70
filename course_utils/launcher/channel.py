"""How a rank talks to the notebook: JSON records, one per line, appended to a file of its own in the run's folder.

A file keeps what a rank said before it was killed, never blocks it, and works on every operating system. Each record
carries the time of a clock that all processes of a machine share, so that the reader can put them in order.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = "COURSE_RUN_FOLDER"  # environment variable: where the files of this run are
LIMIT = "COURSE_RUN_LIMIT"  # the same: seconds that the ranks may take, from when the first has begun
START = "COURSE_RUN_START"  # the same: how often this rank had been started before
# What PyTorch's C++ code says without being asked differs between releases.
_NOISE = re.compile(r"\[Gloo\] Rank |(\[rank\d+\]:)?\[W")


def begin() -> float:
    """Give this process files of its own, and return how many seconds are left."""
    # TORCHELASTIC_RESTART_COUNT would not do: each machine counts for itself.
    rank, folder = os.environ["RANK"], Path(os.environ[FOLDER])
    os.environ[START] = str(len(list(folder.glob(f"*-{rank}.records"))))
    emit(began=os.getpid())
    first = folder / "began"
    with suppress(FileExistsError):
        first.touch(exist_ok=False)
    return first.stat().st_mtime + float(os.environ[LIMIT]) - time.time()


def file(ending: str) -> str:
    """Return the path of this rank's file with that `ending`."""
    return os.path.join(os.environ[FOLDER], f"{os.environ[START]}-{os.environ['RANK']}.{ending}")


def emit(**record: Any) -> None:
    """Append `record` to this rank's file. Opened each time: threads and forked children may write as well."""
    line = json.dumps({"time": time.monotonic_ns()} | record) + "\n"
    with suppress(FileNotFoundError):  # the run is over, and this process is about to be ended
        handle = os.open(file("records"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode("ascii"))
        finally:
            os.close(handle)


def report(**values: Any) -> None:
    """Hand values of this rank back to the notebook, where they are ``run.results[rank]``; without one, print them.

    Args:
        values: Numbers, strings, lists and dictionaries (what JSON can hold). A later report adds to an earlier one.

    Raises:
        TypeError: A value is nothing that JSON can hold, such as a tensor.
    """
    for name, value in values.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"report({name}=…): {type(value).__name__} cannot be handed back; give numbers, strings, lists or "
                "dictionaries, for a tensor tensor.tolist() · 無法傳回這種型別的值，請改用數字、字串、list 或 dict；"
                "張量可以用 tensor.tolist()"
            ) from None
    if START in os.environ:
        emit(report=values, backend=backend())
    else:
        line = json.dumps({"rank": int(os.environ.get("RANK", "0"))} | values)
        sys.stdout.write(line + "\n")  # in one piece, unlike print: other ranks write as well
        sys.stdout.flush()


def backend() -> str | None:
    """Return the backend of this process's group, or None where there is none."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_backend()


@dataclass(frozen=True)
class Record:
    """What a rank said: in which start of the job (0, then 1 after a restart …), who, when, and what."""

    time: int
    start: int
    rank: int
    what: dict[str, Any]


class Reader:
    """Reads the files of all ranks as they grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read: dict[Path, int] = {}
        self.held: list[Record] = []

    def new(self, *, last: bool = False) -> list[Record]:
        """Return what was said since the last call, in order.

        What is said while the files are being read waits for the next call (or is the `last`): else an answer might
        be read before what it answers.
        """
        now = time.monotonic_ns()
        offset = time.time_ns() - now  # from this clock to that of files
        found = self.held
        for path in sorted(self.folder.glob("*-*.*")):
            if path.suffix in (".records", ".raw"):
                start, _, rank = path.stem.partition("-")
                written = min(now, path.stat().st_mtime_ns - offset)
                for line in self._lines(path, last):
                    if path.suffix == ".records":
                        what = json.loads(line)
                        found.append(Record(what.pop("time"), int(start), int(rank), what))
                    elif line.strip() and not _NOISE.match(line):
                        found.append(Record(written, int(start), int(rank), {"line": line}))
        found.sort(key=lambda record: record.time)
        ready = [record for record in found if last or record.time <= now]
        self.held = found[len(ready) :]
        return ready

    def _lines(self, path: Path, last: bool) -> Iterator[str]:
        with path.open("rb") as file:
            file.seek(self.read.get(path, 0))
            data = file.read()
        end = len(data) if last and path.suffix == ".raw" else data.rfind(b"\n") + 1
        self.read[path] = self.read.get(path, 0) + end
        lines = data[:end].split(b"\n")
        for line in lines if lines[-1] else lines[:-1]:
            yield line.decode("utf-8", errors="replace")
