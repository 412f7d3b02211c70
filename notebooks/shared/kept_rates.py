"""Rates that a learner has reached, kept beside the progress with all that they depend on: the scoreboard's, the journey's."""

import datetime
import math
from collections.abc import Container
from dataclasses import asdict, fields
from types import NoneType
from typing import Any, TypeVar

import torch

from course_utils import run_mode, settings
from course_utils.machine import machine_facts

# A dataclass with a rate, the machine, and `sound()`: whether its own numbers can be.
Row = TypeVar("Row")
_KINDS = {"float": (int, float), "float | None": (int, float, NoneType), "int": int, "str": str}


def _valid(kind: type[Row], values: Any) -> Row | None:
    """Return the row that `values` from the learner's file hold, or None if they are damaged."""
    try:
        row: Any = kind(**values)
    except TypeError:
        return None
    typed = all(isinstance(getattr(row, f.name), _KINDS[str(f.type)]) for f in fields(row))
    return row if typed and 0 < row.rate < math.inf and row.sound() else None


def read(file: str, kind: type[Row], keys: Container[str]) -> dict[str, Row]:
    """Return what is kept under `keys`; whatever is damaged is left out.

    Args:
        file: Its name beside the progress, see :mod:`course_utils.settings`.
        kind: What a row is.
        keys: Lessons, or steps.
    """
    found = {key: _valid(kind, values) for key, values in settings.read(file).items() if key in keys}
    return {key: row for key, row in found.items() if row is not None}


def keep(file: str, key: str, row: Any, curve: str) -> None:
    """Keep a row in place of an older one, and note it in the journal of a recording.

    Args:
        file: Its name beside the progress.
        key: Its lesson, or its step.
        row: What was reached.
        curve: What its name in a recording begins with.
    """
    settings.write(file, settings.read(file) | {key: asdict(row)})
    run_mode.note("curve", f"{curve}{key}", asdict(row))


def circumstances(device: torch.device, rule: int) -> dict[str, Any]:
    """Return device, machine, PyTorch, date and rule of what was measured on `device` just now."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else machine_facts()["cpu"]
    today = datetime.date.today().isoformat()
    return {"device": device.type, "machine": name, "torch": torch.__version__, "date": today, "rule": rule}
