"""The practice page: explorers whose sliders move in the reader's browser, because every picture of their grid is drawn here.

Drawing takes some 0.2 s a picture, so what was drawn is kept in ``build/practice`` until a file changes that shapes it.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from bilingual import toml_of
from course_utils.explorer import Explorer  # from here on, the rooms can be imported
from course_utils.figures import key
from tools.notebook_file import ROOT

HERE = Path(__file__).parent
KEPT = ROOT / "build" / "practice"


@dataclass
class Practice:
    """An explorer on the page: module ("batch_split"), lesson ("05"), section ("5.2"), with its choices there."""

    name: str
    lesson: str
    section: str
    explorer: Explorer

    def controls(self) -> list[dict[str, Any]]:
        """Return the controls that have something to choose, and which of their options the page begins with."""
        found = []
        for control in self.explorer.controls:
            texts = [text for text, _ in control.options]
            start = [key(text) for text in texts].index(control.default)
            about = {"label": control.label.html(), "slider": control.slider, "start": start}
            found += [about | {"texts": [str(text) for text in texts]}] * (len(texts) > 1)
        return found


def offered() -> dict[str, dict[str, Any]]:
    """Return which explorers the page offers, and which of their choices, by the name of their module."""
    return toml_of(__file__)


def practices(lessons: Iterable[str]) -> Iterator[Practice]:
    """Yield the explorers of these lessons (two digits), in the order of the page."""
    wanted = set(lessons)
    for name, about in offered().items():
        if (lesson := name[7:9]) not in wanted:
            continue
        module, controls = import_module(name), []
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
    folders = ("course_utils/**/*", "notebooks/shared/**/*", f"notebooks/lesson_{practice.lesson}/*")
    shaping = ["bilingual.py", *(f"{folder}.{kind}" for folder in folders for kind in ("py", "toml"))]
    for file in sorted([*HERE.glob("practice.*"), *(file for one in shaping for file in ROOT.glob(one))]):
        made.update(file.read_bytes())
    return made.hexdigest()[:16]


def drawn(practice: Practice, language: str) -> tuple[list[int], list[str]]:
    """Return for each combination of choices, the last control moving first, which picture it shows; and the pictures as HTML.

    They are drawn in the language that ``course_utils.language.use`` has chosen, which `language` names.
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
