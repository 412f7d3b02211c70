"""The machines that can be staged: the tables of ``catalogue.toml``."""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from packaging.requirements import Requirement

from bilingual import toml_of
from tools.machines import environments, staging
from tools.machines.staging import ROOT, Run

ALL = ("00", "01", "02", "03", "04", "05", "06", "07", "08", "09")


@dataclass(frozen=True)
class Machine:
    """A machine to stage; ``catalogue.toml`` says what the fields mean."""

    name: str
    what: str
    stages: tuple[tuple[Any, ...], ...] = ()
    expected: Mapping[str, Any] = field(default_factory=dict)
    lessons: tuple[str, ...] = ALL
    tests: tuple[str, ...] = ()

    def staged(self, run: Run) -> list[AbstractContextManager[None]]:
        """Return the stages of a run on this machine, to be entered one after the other."""
        functions = {**vars(staging), **vars(environments)}
        return [functions[name](run, *given) for name, *given in self.stages]


def _torch(name: str) -> str:
    """Return the version of the oldest PyTorch in pyproject.toml, of the pinned one, or the version that is given."""
    if name == "oldest":
        found = [Requirement(text) for text in environments.dependencies()]
        (oldest,) = [b.version for r in found if r.name == "torch" for b in r.specifier if b.operator == ">="]
        return f"{oldest}.0"
    if name == "pinned":
        pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
        return re.search(r"^torch==(\S+)", pins, re.MULTILINE)[1]
    return name


def _catalogue() -> tuple[Machine, ...]:
    content, made = toml_of(__file__), []
    for name, entry in content["machine"].items():
        if python := entry.get("python"):
            torch = _torch(entry["torch"])
            entry = {"what": f"PyTorch {torch} on Python {python}", "stages": [["installed", python, torch]],
                     "expected": {"python": python, "torch": torch}, "tests": ["unit", "practice"]}  # fmt: skip
        files = [file for one in entry.pop("tests", ()) for file in content["tests"].get(one, [one])]
        more = {key: tuple(entry.pop(key)) for key in ("stages", "lessons") if key in entry}
        made.append(Machine(name, tests=tuple(files), **more, **entry))
    return tuple(made)


MACHINES = _catalogue()
