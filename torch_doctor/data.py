"""Read the TOML files of a folder of this package."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Any


def read_folder(package: str, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of each TOML file of a folder, in the order of their names.

    Args:
        package: The package that contains the folder (``"torch_doctor.diagnosis"``).
        folder: The name of the folder (``"texts"``).
    """
    files = resources.files(package).joinpath(folder).iterdir()
    for file in sorted(files, key=lambda file: file.name):
        if file.name.endswith(".toml"):
            yield file.name, tomllib.loads(file.read_text(encoding="utf-8"))
