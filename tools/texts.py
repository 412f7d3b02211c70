"""The texts of a tool, which stand in a TOML file beside its module."""

import tomllib
from pathlib import Path
from typing import Any

from bilingual import Bilingual


def texts(module: str | Path) -> dict[str, Any]:
    """Return the texts by name, or by table and name, from the file beside the `module` that ends in ``.toml``."""
    return _texts(tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8")))


def _texts(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: Bilingual(**part) if isinstance(part.get("en"), str) else _texts(part)
        for name, part in table.items()
    }
