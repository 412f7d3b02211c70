"""Read the data files of a folder of this package: TOML in the sources, JSON in an installed wheel.

``packaging/hatch_build.py`` writes the JSON, because Python has a reader for TOML from 3.11 on only.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from bilingual import Bilingual


def _toml(text: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError as error:
        raise ImportError(
            "These are the sources, and this Python cannot read TOML (3.11 and newer can)."
            " Install them, which needs no other package: python -m pip install ./torch_doctor"
        ) from error
    return tomllib.loads(text)


_READERS = {"toml": _toml, "json": json.loads}


@cache
def read_folder(package: str, folder: str = "") -> dict[str, dict[str, Any]]:
    """Return the content of each data file of a folder by its name without the ending, in the order of the names.

    Args:
        package: The package that contains the folder (``"torch_doctor.diagnosis"``).
        folder: The name of the folder (``"texts"``); default: that of the package itself.
    """
    place = resources.files(package)
    files = (place.joinpath(folder) if folder else place).iterdir()
    found = {}
    for file in sorted(files, key=lambda file: file.name):
        name, _, ending = file.name.rpartition(".")
        if ending in _READERS:
            found[name] = _READERS[ending](file.read_text(encoding="utf-8"))
    return found


def screen(file: str, table: str) -> dict[str, Bilingual]:
    """Return the texts of a table of ``screen/FILE.toml``, in both languages.

    Args:
        file: The name of the file without its ending.
        table: The name of the table.
    """
    texts = read_folder("torch_doctor", "screen")[file][table].items()
    same = {name: {"en": text, "zh": text} for name, text in texts if isinstance(text, str)}
    return {name: Bilingual(**same.get(name, text)) for name, text in texts}
