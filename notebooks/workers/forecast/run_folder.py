"""The folder of a run: results/NAME-DATE-TIME, readable whenever the run was killed.

config.json        what was asked for              log.jsonl      losses, line by line
environment.json   with what, and on what          devices.jsonl  use of CPU and GPUs
checkpoint.pt      all that the next step needs    metrics.json   the test, at the end
"""

import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from devices import names


class RunError(ValueError):
    """A folder that holds no run, or cannot go on."""


@dataclass
class Run:
    """What a folder says about its run; `metrics` is None until it has ended."""

    folder: Path
    config: dict
    log: list[dict]
    metrics: dict | None
    devices: list[dict]


def write(path: Path, content: bytes | str) -> None:
    """Write a file that is never half a file, whenever this process is killed."""
    part = Path(f"{path}.{socket.gethostname()}.part")
    try:
        with part.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # the bytes reach the disk before the name does
        part.replace(path)
    except OSError as error:  # such as a full disk
        part.unlink(missing_ok=True)
        raise RunError(f"{path} cannot be written: {error.strerror}") from error


def write_json(path: Path, content: object) -> None:
    write(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_lines(path: Path) -> list[dict]:
    """Return the lines of a file of JSON, without one that a kill has cut."""
    lines = []
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
    return lines


def read_run(folder: str | Path) -> Run:
    """Return what a folder holds, of a run that goes on, has ended or was killed."""
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        metrics = folder / "metrics.json"
        found = json.loads(metrics.read_text("utf-8")) if metrics.exists() else None
    except FileNotFoundError:
        reason = "it has no config.json"
        raise RunError(f"{folder} is no run's folder: {reason}") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{folder} cannot be read: {error}") from error
    lines = [read_lines(folder / name) for name in ("log.jsonl", "devices.jsonl")]
    return Run(folder, config, lines[0], found, lines[1])


def program() -> dict:
    """Return a hash of each file that runs, and their commit, if git knows them."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        try:
            settings = {"capture_output": True, "text": True, "timeout": 5}
            return subprocess.run(
                ["git", *words], cwd=here, **settings
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""  # there is no git

    # In a copy that git ignores, the commit would be that of other files.
    known = git("ls-files", Path(__file__).name)
    describe = "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"
    files = {path.name: path.read_bytes() for path in sorted(here.glob("*.py"))}
    hashes = {name: hashlib.sha256(text).hexdigest() for name, text in files.items()}
    return {"commit": (known and git(*describe)) or None, "program": hashes}


def environment(ranks: list[str]) -> dict:
    """Return with what a run is made: the devices of its ranks, machine, versions."""
    found = {"ranks": ranks, "devices": names(), "cpus": os.cpu_count()}
    found |= {"host": socket.gethostname(), "system": platform.platform()}
    found |= {"python": platform.python_version(), "torch": torch.__version__}
    found |= {"numpy": np.__version__, "pandas": pd.__version__}
    found |= {"cuda": torch.version.cuda} | program()
    return found | {"started": datetime.now().isoformat(timespec="seconds")}


def write_environment(folder: Path, found: dict) -> None:
    """Note with what a run began, and in files of their own, with what it went on."""
    count = len(list(folder.glob("environment*.json")))
    name = f"environment-{count + 1}.json" if count else "environment.json"
    write_json(folder / name, found)


def new_folder(results: Path, name: str, config: dict, found: dict) -> Path:
    """Make a folder that no other run has, complete from its first moment."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        hidden = Path(tempfile.mkdtemp(prefix=".new-", dir=results))
    except OSError as error:
        reason = f"{results} cannot take a run's folder: {error.strerror}"
        raise RunError(f"{reason}; give another one with --results") from None
    hidden.chmod(0o755)
    write_json(hidden / "config.json", config)
    write_environment(hidden, found)
    base, number = f"{name}-{datetime.now():%Y%m%d-%H%M%S}", 1
    while True:
        folder = results / (f"{base}-{number}" if number > 1 else base)
        try:
            return hidden.rename(folder)  # fails where there is a folder with files
        except OSError:
            if not os.path.lexists(folder):  # then it is something else
                shutil.rmtree(hidden, ignore_errors=True)
                raise
        number += 1


def folder_of_job(results: Path, job: str) -> Path | None:
    """Return the folder that a job made before torchrun restarted its ranks."""
    for file in results.glob("*/config.json"):
        if json.loads(file.read_text(encoding="utf-8")).get("job") == job:
            return file.parent
    return None


class Log:
    """Writes log.jsonl, and the same numbers for TensorBoard where it is installed."""

    def __init__(self, folder: Path, step: int, active: bool) -> None:
        """Go on after a step: lines of later ones belong to a lost future."""
        self.path, self.active, self.board = folder / "log.jsonl", active, None
        if not active:  # another rank writes
            return
        kept = [line for line in read_lines(self.path) if line["step"] <= step]
        write(self.path, "".join(json.dumps(line) + "\n" for line in kept))
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            print("no curves for TensorBoard: pip install tensorboard", flush=True)
        else:  # which forgets those steps, too
            self.board = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, line: dict, sync: bool) -> None:
        """Write a line; with `sync`, because a checkpoint follows, onto the disk."""
        if not self.active:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if self.board:
            self.draw(line)
            if sync:
                self.board.flush()

    def draw(self, line: dict) -> None:
        curves = {"loss": "loss/train", "val_mse": "loss/validation"}
        curves |= {name: name for name in ("learning_rate", "windows_per_second")}
        for name in curves.keys() & line.keys():
            self.board.add_scalar(curves[name], line[name], line["step"])

    def close(self) -> None:
        if self.board:
            self.board.close()
