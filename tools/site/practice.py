"""The practice page: explorers whose sliders move in the reader's browser, because every picture of their grid is drawn here.

Drawing takes some 0.2 s a picture, so what was drawn is kept in ``build/practice`` until a file changes that shapes it.
"""

import hashlib
import itertools
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from course_utils.explorer import Explorer
from course_utils.figures import key

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / "build" / "practice"


@dataclass
class Practice:
    """An explorer on the page.

    Attributes:
        name: Its module, ``"batch_split"``.
        lesson: Two digits.
        section: The number of its section, ``"4.5"``.
        explorer: With the choices that the page offers.
    """

    name: str
    lesson: str
    section: str
    explorer: Explorer

    @property
    def shown_controls(self) -> list[Any]:
        """The controls that have something to choose."""
        return [control for control in self.explorer.controls if len(control.options) > 1]

    def start(self) -> list[int]:
        """Return which option of each shown control the page begins with."""
        return [[key(text) for text, _ in c.options].index(c.default) for c in self.shown_controls]


def offered() -> dict[str, dict[str, Any]]:
    """Return which explorers the page offers, and which of their choices, by the name of their module."""
    return tomllib.loads((HERE / "practice.toml").read_text(encoding="utf-8"))


def room(name: str) -> Any:
    """Return the module of a lesson's room, ``"lesson_05.batch_split"``."""
    if str(ROOT / "notebooks") not in sys.path:
        sys.path.insert(0, str(ROOT / "notebooks"))
    return import_module(name)


def practices(lessons: Iterable[str]) -> Iterator[Practice]:
    """Yield the explorers of these lessons (two digits), in the order of the page."""
    wanted = set(lessons)
    for name, about in offered().items():
        if (lesson := name[7:9]) not in wanted:
            continue
        module, controls = room(name), []
        found = module.explorer(**about["with"]) if "with" in about else module.EXPLORER
        for control in found.controls:
            texts = about["only"].get(control.name, [key(text) for text, _ in control.options])
            options = [option for option in control.options if key(option[0]) in texts]
            default = control.default if control.default in texts else texts[0]
            controls.append(replace(control, options=options, default=default))
        explorer = replace(found, controls=tuple(controls))
        yield Practice(name.partition(".")[2], lesson, about["section"], explorer)


def _digest(practice: Practice, language: str) -> str:
    offered = [[key(text) for text, _ in control.options] for control in practice.explorer.controls]
    made = hashlib.sha256(f"{language} {offered}".encode())
    files = [
        *ROOT.glob("course_utils/**/*.py"),
        *ROOT.glob("notebooks/shared/**/*.py"),
        *ROOT.glob(f"notebooks/lesson_{practice.lesson}/*.py"),
        *HERE.glob("practice.*"),
    ]
    for file in sorted(files):
        made.update(file.read_bytes())
    return made.hexdigest()[:16]


def drawn(practice: Practice, language: str) -> tuple[list[int], list[str]]:
    """Return for each combination of choices, the last control moving first, which picture it shows; and the pictures as HTML.

    Args:
        practice: One of :func:`practices`.
        language: The one that ``course_utils.language.use`` has chosen.
    """
    kept = KEPT / f"{practice.name}-{language}-{_digest(practice, language)}.json"
    if kept.exists():
        return tuple(json.loads(kept.read_text(encoding="utf-8")))
    pictures: dict[str, int] = {}
    controls = practice.explorer.controls
    grid = itertools.product(*([value for _, value in control.options] for control in controls))
    names = [control.name for control in controls]
    shown = [
        pictures.setdefault(practice.explorer.html(**dict(zip(names, values, strict=True))), len(pictures))
        for values in grid
    ]
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([shown, list(pictures)], ensure_ascii=False), encoding="utf-8")
    return shown, list(pictures)
