"""The texts that code cells show: predictions, claims and figures, one TOML file per lesson.

They are data, so that a cell holds code only: it does not give away the answer to its own question, and no learner
has to read around a language that is not theirs.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

KINDS = ("question", "claim", "figure")


@cache
def texts(kind: str) -> dict[str, dict[str, Any]]:
    """Return all texts of one `kind` (``question``, ``claim`` or ``figure``) by name, of all lessons.

    Raises:
        ValueError: A file has a section of another kind, or a name stands twice.
    """
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".toml"):
            continue
        sections = tomllib.loads(file.read_text(encoding="utf-8"))
        if unknown := set(sections) - set(KINDS):
            raise ValueError(f"{file.name}: section {sorted(unknown)} is not known; use {', '.join(KINDS)}.")
        for name, text in sections.get(kind, {}).items():
            if name in found:
                raise ValueError(
                    f"{file.name}: {kind} {name!r} stands twice; names are unique in the whole course."
                )
            found[name] = text
    return found


def text(kind: str, name: str) -> dict[str, Any]:
    """Return the text called `name`.

    Raises:
        ValueError: There is none, most likely a typing mistake in the cell.
    """
    known = texts(kind)
    if name not in known:
        raise ValueError(
            f"there is no {kind} {name!r} in course_utils/texts; there are {', '.join(sorted(known))}."
        )
    return known[name]
