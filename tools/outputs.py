"""What executed notebooks leave: outputs as the notebook checks compare them, and notes as lines of JSON."""

import json
import re
from pathlib import Path
from typing import Any

from nbval.plugin import get_sanitize_patterns

ROOT = Path(__file__).parents[1]
_SANITIZE = get_sanitize_patterns((ROOT / "tests" / "sanitize.cfg").read_text(encoding="ascii"))


def sanitized(text: str) -> str:
    """Return a text as nbval compares it: without what a machine may change."""
    for pattern, replacement in _SANITIZE:
        text = re.sub(pattern, replacement, text)
    return text


def whole_lines(path: Path) -> bytes:
    """Return a file that may not exist up to its last whole line: a process may have died while it wrote."""
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def read_notes(path: Path) -> list[dict[str, Any]]:
    """Return the notes in a file of JSON lines, such as a journal (``COURSE_RECORD``)."""
    return [json.loads(line) for line in whole_lines(path).splitlines()]
