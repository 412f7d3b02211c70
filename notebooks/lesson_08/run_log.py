"""What the folder of a run says while the run writes it; half lines, missing files and damage are no surprise."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def parsed(text: str) -> Line | None:
    """Return the object that `text` holds as JSON, or None."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_json(path: Path) -> Line | None:
    """Return the object in a file, or None if there is none that can be read."""
    try:
        return parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def number(line: Line, name: str) -> float | None:
    """Return the finite number called `name` in `line`, or None."""
    value = line.get(name)
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if good else None


class Lines:
    """A file of JSON lines that grows: each call reads only what is new, and whole lines only."""

    def __init__(self, path: Path) -> None:
        self.path, self.position = path, 0

    def new(self) -> list[Line]:
        """Return the objects that were added since the last call."""
        try:
            if self.path.stat().st_size < self.position:  # cut, as a resumed run may do
                self.position = 0
            with self.path.open("rb") as file:
                file.seek(self.position)
                data = file.read()
        except OSError:
            return []
        data = data[: data.rfind(b"\n") + 1]
        self.position += len(data)
        found = map(parsed, data.decode("utf-8", "replace").splitlines())
        return [line for line in found if line is not None]


@dataclass
class Progress:
    """How far a run has come, read from its folder again and again.

    Attributes:
        folder: Its folder.
        config: What it was asked for.
        points: (step, training loss), as far as they are known.
        errors: (step, validation error) after each epoch.
        last: The newest line of the log.
        devices: The newest line about each device.
        cost: Processor seconds that its sampler of devices has taken.
        metrics: Its result, or None until it has ended.
    """

    folder: Path
    config: Line = field(default_factory=dict)
    points: list[tuple[float, float]] = field(default_factory=list)
    errors: list[tuple[float, float]] = field(default_factory=list)
    last: Line = field(default_factory=dict)
    devices: dict[str, Line] = field(default_factory=dict)
    cost: float = 0.0
    metrics: Line | None = None

    def __post_init__(self) -> None:
        self._log, self._watch = Lines(self.folder / "log.jsonl"), Lines(self.folder / "devices.jsonl")

    @property
    def step(self) -> float:
        """How many steps are done."""
        return number(self.last, "step") or 0

    @property
    def steps(self) -> float:
        """How many steps there will be, or 0."""
        return number(self.config, "steps") or 0

    @property
    def seconds(self) -> float:
        """How long it has trained."""
        return number(self.last, "seconds") or 0.0

    @property
    def left(self) -> float | None:
        """How many seconds it will still take at its mean speed so far, or None."""
        done = self.step and self.steps
        return max(0.0, self.steps - self.step) * self.seconds / self.step if done else None

    def read(self) -> Progress:
        """Read what is new, and return this."""
        self.config = self.config or read_json(self.folder / "config.json") or {}
        for line in self._log.new():
            step = number(line, "step")
            if step is None:
                continue
            for name, points in (("loss", self.points), ("val_mse", self.errors)):
                if step <= self.step:  # it goes on from there: what came after is no longer true
                    points[:] = [point for point in points if point[0] < step]
                value = number(line, name)
                if value is not None:
                    points.append((step, value))
            self.last = line
        for line in self._watch.new():
            self.devices[str(line.get("device"))] = line
            self.cost = number(line, "cost") or self.cost
        self.metrics = read_json(self.folder / "metrics.json")
        return self
