"""The texts of a module, which stand in a TOML file beside it."""

import tomllib
from pathlib import Path
from typing import Any

from bilingual import Bilingual


def texts(module: str) -> dict[str, Any]:
    """Return the texts by name, or by table and name.

    Args:
        module: The module's ``__file__``; the texts are in the file of the same name that ends in ``.toml``.
    """
    return _texts(tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8")))


def _texts(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: Bilingual(**part) if isinstance(part.get("en"), str) else _texts(part)
        for name, part in table.items()
    }
