"""The learner's own copy of the project of lesson 08: made once, whole or not at all, and never changed."""

import sys
from pathlib import Path
from typing import Any

import pytest

from lesson_08 import own_project
from lesson_08.own_project import own_copy, own_series


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: list[Any]) -> None:
    """Work in a folder of notebooks with a small project, with a path of its own."""
    for name, text in {"series.py": "A = 1", "forecast.py": "import series", "__pycache__/a.pyc": ""}.items():
        path = tmp_path / "workers" / "forecast" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(own_project, "display", lambda text: shown.append(str(text)))


def test_the_copy_is_made_once_and_comes_first_on_the_path(shown: list[str]) -> None:
    first, length = own_copy(), len(sys.path)
    assert sorted(path.name for path in first.iterdir()) == ["forecast.py", "series.py"]
    assert first == Path("mine/forecast") and sys.path[0] == str(first)
    assert own_copy() == first and len(sys.path) == length and shown == []


def test_what_the_learner_changed_stays_and_is_named_like_what_is_new(shown: list[str]) -> None:
    own = own_copy()
    (own / "series.py").write_text("A = 2", encoding="utf-8")
    (own / "more.py").touch()
    Path("workers/forecast/devices.py").touch()  # of a newer course
    own_copy()
    assert (own / "series.py").read_text(encoding="utf-8") == "A = 2"
    assert len(shown) == 1 and " devices.py, series.py" in shown[0] and " forecast.py" not in shown[0]
    assert "newer version" in shown[0] and "新版" in shown[0]


def test_the_learners_own_series_wins_and_is_said_to(shown: list[str]) -> None:
    Path("mine").mkdir()
    own_series().write_text("date,a\n", encoding="utf-8")
    assert own_series().read_text(encoding="utf-8") == "date,a\n"
    assert "the made-up town" in shown[0] and "your own" in shown[-1]


def test_an_interrupted_copy_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    copytree = own_project.shutil.copytree

    def interrupted(source: Path, target: Path, **_: object) -> None:
        target.mkdir(parents=True)
        (target / "series.py").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    monkeypatch.setattr(own_project.shutil, "copytree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        own_copy()
    monkeypatch.setattr(own_project.shutil, "copytree", copytree)
    assert (own_copy() / "series.py").read_text(encoding="utf-8") == "A = 1"
    assert [path.name for path in Path("mine").iterdir()] == ["forecast"]


def test_a_package_that_is_missing_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_project, "find_spec", lambda name: None if name == "pandas" else object())
    with pytest.raises(ImportError, match=r"^pandas not found: .*make lab.* · 找不到 pandas：.*make lab"):
        own_copy()
    assert not Path("mine").exists()
