"""What every unit test gets: its own folder for progress and language, and no variables of the caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import IPython.display
import pytest

from course_utils import claims


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder (not made yet) in which the course keeps this test's files."""
    folder = tmp_path / "data"
    monkeypatch.setenv("COURSE_DATA_DIR", str(folder))
    for variable in ("COURSE_STRICT", "COURSE_RECORD", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of what is displayed from now on."""
    objects: list[Any] = []
    monkeypatch.setattr(IPython.display, "display", objects.append)
    monkeypatch.setattr(claims, "display", objects.append)
    return objects
