"""What every test gets: its own folder for progress and language, and none of the caller's variables."""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import IPython.display
import pytest
import torch

from course_utils import claims, lesson, lesson_gpus


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is marked with `cuda` where there is no GPU."""
    for item in items:
        if item.get_closest_marker("cuda") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder (not made yet) in which the course keeps this test's files."""
    folder = tmp_path / "data"
    lesson.use(None)
    monkeypatch.setenv("COURSE_DATA_DIR", str(folder))
    for name in ("STRICT", "RECORD", "JOURNALS", "REPEAT", "TRACES", "CARD"):
        monkeypatch.delenv(f"COURSE_{name}", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return folder


@pytest.fixture(autouse=True)
def gpus_put_back() -> Iterator[None]:
    """Stop the practice GPUs that a test made ready: other tests are about a PyTorch without them."""
    yield
    if lesson_gpus._devices:
        lesson_gpus.start(0)
        if practice := sys.modules.get("practice_gpu"):
            practice.stop()


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """A missing glyph, a legend without entries, a layout that does not fit: matplotlib only warns of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter(
            "default", ResourceWarning
        )  # of whatever is collected now, which may be another test's
        yield


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute with one thread: on a busy machine, small operations wait for the others' threads most of the time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of what is displayed from now on, and of what replaces it."""
    objects: list[Any] = []

    def display(thing: Any, *, display_id: bool = False) -> SimpleNamespace | None:
        objects.append(thing)
        return SimpleNamespace(update=objects.append) if display_id else None

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(claims, "display", display)
    return objects
