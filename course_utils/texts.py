"""Texts that stand in a TOML file beside their module."""

import tomllib
from pathlib import Path
from typing import Any

from bilingual import Bilingual, measured


def texts(module: str) -> dict[str, Any]:
    """Return the texts by name, or by table and name.

    Args:
        module: The module's ``__file__``; the texts are in the file of the same name that ends in ``.toml``.
    """
    return _texts(tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8")))


def _texts(table: dict[str, Any]) -> dict[str, Any]:
    def read(part: Any) -> Any:
        if not isinstance(part, dict):  # the same in both languages
            return part
        return Bilingual(**part) if isinstance(part.get("en"), str) else _texts(part)

    return {name: read(part) for name, part in table.items()}


def measured_both(text: Bilingual) -> Bilingual:
    """Return `text` with both of its languages marked as measured."""
    return Bilingual(measured(text.en), measured(text.zh))


def all_of(*parts: Bilingual) -> Bilingual:
    """Return sentences one after the other, with a space between the English ones."""
    return Bilingual(" ".join(part.en for part in parts), "".join(part.zh for part in parts))
