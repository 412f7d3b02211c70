"""The map of lessons on the start page: what it lists, what it links to, what it counts, what it survives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from course_utils import progress
from course_utils.exercises import exercises
from course_utils.language import Bilingual
from course_utils.lessons import PLANNED, REPOSITORY, Map, lessons, notebooks

COURSE = {
    "lesson": "01",
    "title": {"en": "A title", "zh": "課名"},
    "minutes": 30,
    "needs": {"en": "Nothing.", "zh": "不需要準備。"},
}


@pytest.fixture(autouse=True)
def nothing_solved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "data"))


def write(folder: Path, name: str, **changes: object) -> Path:
    path = folder / name
    path.write_text(json.dumps({"metadata": {"course": COURSE | changes}}), encoding="utf-8")
    return path


def shown(folder: Path) -> dict[str, str]:
    return Map(lessons(folder))._repr_mimebundle_()


def test_the_course_lists_every_notebook_and_what_is_planned():
    listed = {lesson.number: lesson for lesson in lessons(REPOSITORY)}
    files = {path.name for path in REPOSITORY.glob("*.ipynb")}
    assert {lesson.file for lesson in listed.values() if lesson.file} == files
    assert {number for number, lesson in listed.items() if lesson.file is None} == set(PLANNED)
    assert list(listed) == [f"{n:02}" for n in range(9)]
    assert {e.lesson for e in exercises().values()} <= {n for n, lesson in listed.items() if lesson.file}


def test_a_planned_lesson_that_has_come_is_no_longer_planned():
    assert not [path.name for number in PLANNED for path in REPOSITORY.glob(f"{number}_*.ipynb")]


def test_a_notebook_takes_the_place_of_its_plan(tmp_path):
    write(tmp_path, "03_dtype.ipynb", lesson="03", minutes=45)
    third = next(lesson for lesson in lessons(tmp_path) if lesson.number == "03")
    assert (third.file, third.minutes, third.title.en) == ("03_dtype.ipynb", 45, "A title")


def test_links_are_relative_to_the_start_page(tmp_path):
    write(tmp_path, "01_checks.ipynb")
    assert re.findall('href="([^"]*)"', shown(tmp_path)["text/html"]) == ["01_checks.ipynb"]


def test_copies_that_a_learner_makes_are_not_lessons(tmp_path):
    for name in ("01_checks-Copy1.ipynb", "01_checks.ipynb", "01_checks_mine.ipynb"):
        write(tmp_path, name)
    assert [lesson.file for lesson in lessons(tmp_path) if lesson.file] == ["01_checks.ipynb"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a notebook",
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b'{"metadata": {}}',
        b'{"metadata": {"course": []}}',
        b'{"metadata": {"course": {"lesson": "01"}}}',
        json.dumps({"metadata": {"course": COURSE | {"title": "only one"}}}).encode(),
        json.dumps({"metadata": {"course": COURSE | {"minutes": "long"}}}).encode(),
        json.dumps({"metadata": {"course": COURSE | {"needs": {"en": "a", "zh": ""}}}}).encode(),
        b"[" * 200_000,
    ],
)
def test_a_damaged_notebook_is_left_out(tmp_path, content):
    (tmp_path / "01_broken.ipynb").write_bytes(content)
    write(tmp_path, "02_sound.ipynb", lesson="02")
    assert [lesson.file for lesson in lessons(tmp_path) if lesson.file] == ["02_sound.ipynb"]


def test_progress_counts_the_exercises_that_the_lesson_has(tmp_path):
    write(tmp_path, "01_checks.ipynb")
    names = sorted(e.name for e in exercises().values() if e.lesson == "01")
    progress.solve("01", names[0])
    progress.solve("01", "an exercise that was renamed long ago")
    progress.solve("02", names[1])
    first = next(lesson for lesson in lessons(tmp_path) if lesson.number == "01")
    assert (first.solved, first.exercises) == (1, len(names))
    for name in names:
        progress.solve("01", name)
    html = shown(tmp_path)["text/html"]
    assert f'<span class="measured">{len(names)} ✓</span> / {len(names)}' in html


def test_progress_does_not_change_what_the_notebook_checks_compare(tmp_path):
    write(tmp_path, "01_checks.ipynb")

    def compared() -> list[str]:
        bundle = shown(tmp_path)
        html = re.sub('<span class="measured">[^<]*</span>', "", bundle["text/html"])
        return [html, re.sub("⟨[^⟩]*⟩", "", bundle["text/plain"])]

    before = compared()
    for exercise in exercises().values():
        progress.solve(exercise.lesson, exercise.name)
    assert compared() == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"01": 3}', '{"01": ["on_gpu"]}'])
def test_a_damaged_progress_file_counts_as_no_progress(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "progress.json").write_text(content, encoding="utf-8")
    write(tmp_path, "01_checks.ipynb")
    assert next(lesson for lesson in lessons(tmp_path) if lesson.number == "01").solved == 0


def test_titles_are_escaped(tmp_path):
    write(tmp_path, "01_a&b.ipynb", title={"en": "1 < 2", "zh": "一 < 二"})
    html = shown(tmp_path)["text/html"]
    assert "1 &lt; 2" in html and 'href="01_a&amp;b.ipynb"' in html


def test_both_languages_and_every_line_in_plain_text(tmp_path):
    write(tmp_path, "01_checks.ipynb")
    bundle = shown(tmp_path)
    assert "01 A title · 課名: 30 min" in bundle["text/plain"]
    for planned in PLANNED.values():
        assert planned.html() in bundle["text/html"] and str(planned) in bundle["text/plain"]
        assert isinstance(planned, Bilingual)


def test_the_folder_is_the_notebook_s_own_or_else_the_repository_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert notebooks() == REPOSITORY
    write(tmp_path, "01_checks.ipynb")
    assert notebooks() == tmp_path
