"""Put the package and the module `bilingual` beside it into the wheel, and the data files as JSON.

Python 3.9 and 3.10 cannot read TOML, and JSON is read faster everywhere.
"""

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

PATTERNS = ("*.py", "diagnosis/**/*.py", "errors/**/*.py", "**/*.schema.json", "py.typed")
FOLDERS = ("screen", "tables", "diagnosis/texts", "errors/catalogue")


class Wheel(BuildHookInterface):
    """Choose the files of the wheel, and write each TOML file as a JSON file of the same name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the JSON files into a temporary folder, and tell the build where each file belongs.

        Args:
            version: The kind of wheel.
            build_data: What the build includes.
        """
        self.made = Path(tempfile.mkdtemp())
        root = Path(self.root)
        files = {root.parent / "bilingual.py": "bilingual.py"}
        for file in {file for pattern in PATTERNS for file in root.glob(pattern)}:
            files[file] = f"torch_doctor/{file.relative_to(root).as_posix()}"
        tables = [file for folder in FOLDERS for file in sorted((root / folder).glob("*.toml"))]
        for number, file in enumerate(tables):
            target = self.made / f"{number}.json"
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            target.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            files[target] = f"torch_doctor/{file.relative_to(root).with_suffix('.json').as_posix()}"
        build_data["force_include"].update((str(file), place) for file, place in files.items())

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the temporary folder.

        Args:
            version: The kind of wheel.
            build_data: What the build included.
            artifact_path: The finished wheel.
        """
        shutil.rmtree(self.made, ignore_errors=True)
