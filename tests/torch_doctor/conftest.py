"""Fixtures of the doctor's tests: made-up machines, and an environment without the caller's settings."""

from pathlib import Path

import pytest
from fake_machines import Machine, libraries

from torch_doctor import style


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove variables of the caller that change what is tested."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "data"))
    for variable in ("TORCH_DOCTOR_LANGUAGE", "COURSE_CLINIC", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(style, "_page_has_styles", True)  # as in a lesson


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small fake driver libraries."""
    return libraries(tmp_path_factory.mktemp("libraries"))


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Machine:
    """Return a made-up machine."""
    # Not tmp_path: the name of the test would be in LD_LIBRARY_PATH, which is evidence.
    return Machine(tmp_path_factory.mktemp("machine"), compiled)
