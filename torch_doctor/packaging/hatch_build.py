"""Put the data files into the wheel as JSON: Python 3.9 and 3.10 cannot read TOML, and JSON is read faster everywhere."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.9 and 3.10
    import tomli as tomllib

FOLDERS = ("diagnosis/texts", "errors/catalogue")


class DataAsJson(BuildHookInterface):
    """Write each TOML file as a JSON file of the same name in the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the JSON files into a temporary folder, and tell the build where each one belongs (relative to the package).

        Args:
            version: The kind of wheel.
            build_data: What the build includes.
        """
        self.made = Path(tempfile.mkdtemp())
        root = Path(self.root)
        for number, file in enumerate(
            file for folder in FOLDERS for file in sorted((root / folder).glob("*.toml"))
        ):
            target = self.made / f"{number}.json"
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            target.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            place = file.relative_to(root).with_suffix(".json")
            build_data["force_include"][str(target)] = place.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the temporary folder.

        Args:
            version: The kind of wheel.
            build_data: What the build included.
            artifact_path: The finished wheel.
        """
        shutil.rmtree(self.made, ignore_errors=True)
