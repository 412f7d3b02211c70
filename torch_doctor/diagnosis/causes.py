"""The texts about each cause, from ``texts/*.toml``, with their ``{placeholders}`` filled in for this machine.

The fields of a cause:

``kind``        ``fault`` (the default), ``fine``, ``unknown`` or ``remark``.
``en``, ``zh``  the cause in one sentence: one cause, never a choice of several.
``why_en``, ``why_zh``      (optional) the reason, for somebody who reads these words for the first time.
``check``                   (optional) commands that confirm the cause and change nothing; ``check_windows``,
                            ``check_macos``, ``check_patient`` and ``check_apptainer`` replace it there (empty: none there).
``check_en``, ``check_zh``  how to read what they print.
``step``        what to do next, in this order. Of a step:

    ``en``, ``zh``  the sentence that announces the command below it.
    ``run``         (optional) the command, which works as it is typed here.
    ``then_en``, ``then_zh``  (optional) what to do after the command.
    ``costs``       (optional) true if the step removes, replaces or restarts something.
    ``on``, ``off`` (optional) the step is shown if the place has one of `on` and none of `off`
                    (see :mod:`torch_doctor.diagnosis.places`). A step that only installs is not shown where no
                    build serves the GPU, and gives way to a new environment where none has a wheel for this Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from bilingual import Bilingual
from torch_doctor.data import read_folder
from torch_doctor.diagnosis.commands import placeholders, said, typed
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.places import places_of


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Return the texts of all causes by name."""
    found: dict[str, dict[str, Any]] = {}
    for name, causes in read_folder("torch_doctor.diagnosis", "texts").items():
        if name != "words":  # the technical words of all causes, see words.py
            found |= causes
    return found


def _steps(entry: dict[str, Any], places: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the steps of `entry` that are shown at `places`."""
    steps = entry.get("step", [])
    for step in steps:
        run, on = step.get("run"), set(step.get("on", ()))
        hidden = "unserved" in places - on and run in ("{install}", "{add_torch}", "{fresh}")
        if hidden or (on and not places & on) or places & set(step.get("off", ())):
            continue
        if "new-python" in places and run in ("{install}", "{add_torch}"):
            other = catalogue()["python-without-wheel"]
            first, *more = _steps(other, places)
            yield first | {one: other[f"reason_{one}"] + first[one] for one in ("en", "zh")}
            yield from more
        else:
            yield step
    installs = any(step.get("run") in ("{install}", "{fresh}") for step in steps)
    if "unserved" in places and installs and not any("unserved" in step.get("on", ()) for step in steps):
        yield catalogue()["cpu-build"]["step"][-1]


@dataclass(frozen=True)
class Step:
    """One thing to do next.

    Attributes:
        text: The sentence that announces the command.
        run: The command, or ``""``.
        then: What to do after the command, or None.
        costs: Whether the step removes, replaces or restarts something.
    """

    text: Bilingual
    run: str = ""
    then: Bilingual | None = None
    costs: bool = False


@dataclass(frozen=True)
class Cause:
    """The texts about one cause on one machine.

    Attributes:
        name: Its name in ``texts/*.toml``.
        kind: ``"fault"``, ``"fine"``, ``"unknown"`` or ``"remark"``.
        title: The cause in one sentence.
        why: The reason, or None.
        check: Commands that confirm the cause, or ``""``.
        check_text: How to read their output, or None.
        steps: What to do next.
    """

    name: str
    kind: str
    title: Bilingual
    why: Bilingual | None
    check: str
    check_text: Bilingual | None
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, name: str, e: Evidence) -> Cause:
        """Return the texts about the cause `name` for the machine with the evidence `e`."""
        entry, values, places = catalogue()[name], placeholders(e), places_of(e)

        def text(prefix: str, table: dict[str, Any] = entry) -> Bilingual | None:
            if f"{prefix}en" not in table:
                return None
            return Bilingual(said(table[f"{prefix}en"], values), said(table[f"{prefix}zh"], values))

        def step(table: dict[str, Any]) -> Step:
            run = typed(table.get("run", ""), values)
            return Step(text("", table), run, text("then_", table), table.get("costs", False))  # type: ignore[arg-type]

        title = text("")
        assert title is not None, name
        # Some places have a check of their own, or (with an empty command) none.
        special = (one for one in ("patient", "windows", "macos", "apptainer") if one in places)
        check = next((f"check_{one}" for one in special if f"check_{one}" in entry), "check")
        return cls(name, entry.get("kind", "fault"), title, text("why_"),
                   typed(entry.get(check, ""), values), text(f"{check}_"), tuple(map(step, _steps(entry, places))))  # fmt: skip
