"""What ruff says about files that are not in the repository."""

import json
import subprocess
import sys
from pathlib import Path


def ruff_findings(folder: Path, *options: str) -> list[str]:
    """Return ``name of the file: what is wrong`` for the Python files in a folder; no configuration file counts."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--output-format=json"]
    done = subprocess.run([*command, *options, str(folder)], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    return [f"{Path(found['filename']).stem}: {found['message']}" for found in json.loads(done.stdout)]
