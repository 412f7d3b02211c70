"""Finding the room of the current lesson: its texts, its exercises, and what to do when it is not there."""

import sys
from pathlib import Path

import pytest

from course_utils import lesson, recordings
from course_utils.lesson import all_texts, notebooks, text


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the notebooks' folder of a made-up course with the lessons 01 and 02, as the working directory."""
    folder = tmp_path / "notebooks"
    for number in ("01", "02"):
        room = folder / f"lesson_{number}"
        room.mkdir(parents=True)
        (room / "texts.toml").write_text(f'[claim."{int(number)}.1"]\nen="a"\nzh="甲"', encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    all_texts.cache_clear()
    yield folder
    all_texts.cache_clear()


@pytest.mark.parametrize("where", [".", "..", "lesson_01", "../elsewhere"])
def test_the_notebooks_are_found(where: str, course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (course.parent / "elsewhere").mkdir()
    monkeypatch.chdir(course / where)
    assert notebooks().resolve() == course.resolve()


@pytest.mark.parametrize("beside", ["notebooks", "course_utils/notebooks"])
def test_a_notebook_elsewhere_uses_the_rooms_of_the_package(
    beside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable installation has them beside the package, an installed wheel inside."""
    package = tmp_path / "installed"
    (package / beside / "lesson_01").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(lesson, "__file__", str(package / "course_utils" / "lesson.py"))
    lesson.use("01")
    assert notebooks() == package / beside and str(package / beside) in sys.path
    monkeypatch.setattr(recordings, "read", lambda folder: folder)
    assert recordings.runs.__wrapped__() == (package / beside).with_name("recordings")


def test_texts_are_those_of_the_current_lesson(course: Path) -> None:
    lesson.use("02")
    assert lesson.current() == "02" and text("claim", "2.1") == {"en": "a", "zh": "甲"}
    with pytest.raises(ValueError, match=r"no claim '1.1' in lesson_02/texts.toml; there are 2.1"):
        text("claim", "1.1")
    with pytest.raises(ValueError, match=r"setup\('07'\).*01, 02"):
        lesson.use("07")
    lesson.use(None)
    with pytest.raises(RuntimeError, match=r"first code cell.*第一個程式碼儲存格"):
        text("claim", "2.1")
