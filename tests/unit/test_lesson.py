"""Finding the room of the current lesson: its texts, its exercises, and what to do when it is not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from course_utils import lesson, predict, questions
from course_utils.lesson import all_texts, notebooks, text

ROOT = Path(__file__).parents[2]


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


def test_a_notebook_that_was_moved_away_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="(?s)Put the notebook back.*請把筆記本放回"):
        lesson.use("01")


def test_an_unknown_lesson_is_answered_with_the_list(course: Path) -> None:
    with pytest.raises(ValueError, match=r"setup\('07'\).*01, 02"):
        lesson.use("07")


def test_texts_are_those_of_the_current_lesson(course: Path) -> None:
    lesson.use("02")
    assert lesson.current() == "02" and text("claim", "2.1") == {"en": "a", "zh": "甲"}
    with pytest.raises(ValueError, match=r"no claim '1.1' in lesson_02/texts.toml; there are 2.1"):
        text("claim", "1.1")
    lesson.use(None)
    with pytest.raises(RuntimeError, match="first code cell"):
        text("claim", "2.1")


def test_a_section_of_another_kind_is_refused(course: Path) -> None:
    (course / "lesson_01" / "texts.toml").write_text('[claims."1"]\nen="a"\nzh="b"', encoding="utf-8")
    with pytest.raises(ValueError, match=r"section \['claims'\] is not known"):
        all_texts("01")


def test_a_room_can_be_imported_from_another_working_directory(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course.parent)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "notebooks" not in path])
    lesson.use("01")
    assert str(course) in sys.path


def test_exercises_are_those_of_the_room() -> None:
    lesson.use("01")
    assert "on_gpu" in lesson.exercises() and set(lesson.exercises()) == set(lesson.exercises("01"))
    assert "move" in lesson.exercises("02")


@pytest.mark.parametrize("choices", [[], [{"right": True}], [{}, {}]])
def test_a_question_without_a_right_choice_is_refused(choices: list[dict[str, bool]]) -> None:
    words = {"en": "a", "zh": "甲", "why_en": "b", "why_zh": "乙"}
    with pytest.raises(ValueError, match="at least two choices"):
        questions.parsed("q", {"en": "a", "zh": "甲", "choices": [words | choice for choice in choices]})


def test_an_unknown_question_is_refused(shown: list[object]) -> None:
    lesson.use("01")
    with pytest.raises(ValueError, match="no question 'nobody'"):
        predict("nobody")
    assert not shown
