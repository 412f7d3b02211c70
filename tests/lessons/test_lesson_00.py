"""Lesson 00: the map of the course, its links, the progress that it counts, and damaged files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from course_utils import lesson, settings
from lesson_00.lesson_map import PLANNED, Map, lessons
from torch_doctor.bilingual import Bilingual

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

COURSE = {
    "lesson": "01",
    "title": {"en": "A title", "zh": "課名"},
    "minutes": 30,
    "needs": {"en": "Nothing.", "zh": "不需要準備。"},
}


def notebook(*, cells: Sequence[object] = (), **changes: object) -> str:
    """Return a notebook with these cells whose metadata differ from COURSE in `changes`."""
    return json.dumps({"metadata": {"course": COURSE | changes}, "cells": list(cells)})


def write(folder: Path, name: str, **changes: object) -> None:
    (folder / name).write_text(notebook(**changes), encoding="utf-8")


def shown(folder: Path) -> dict[str, str]:
    return Map(lessons(folder))._repr_mimebundle_()


def test_the_course_lists_every_notebook_and_what_is_planned():
    listed = {entry.number: entry for entry in lessons()}
    files = {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    assert {entry.file for entry in listed.values() if entry.file} == files
    assert {number for number, entry in listed.items() if entry.file is None} == set(PLANNED)
    assert list(listed) == [f"{n:02}" for n in range(9)]
    for number, entry in listed.items():
        room = NOTEBOOKS / lesson.room(number)
        assert entry.exercises == (len(lesson.exercises(number)) if room.is_dir() else 0)


def test_a_planned_lesson_has_no_notebook_yet():
    assert not [path.name for number in PLANNED for path in NOTEBOOKS.glob(f"{number}_*.ipynb")]


def test_a_notebook_replaces_its_planned_entry(tmp_path):
    write(tmp_path, "03_dtype.ipynb", lesson="03", minutes=45)
    third = next(entry for entry in lessons(tmp_path) if entry.number == "03")
    assert (third.file, third.minutes, third.title.en) == ("03_dtype.ipynb", 45, "A title")


def test_links_are_relative_to_the_start_page(tmp_path):
    write(tmp_path, "01_checks.ipynb")
    assert re.findall('href="([^"]*)"', shown(tmp_path)["text/html"]) == ["01_checks.ipynb"]


def test_copies_that_a_learner_makes_are_not_lessons(tmp_path):
    for name in ("01_checks-Copy1.ipynb", "01_checks.ipynb", "01_checks_mine.ipynb"):
        write(tmp_path, name)
    assert [entry.file for entry in lessons(tmp_path) if entry.file] == ["01_checks.ipynb"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a notebook",
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b'{"metadata": {}, "cells": []}',
        b'{"metadata": {"course": []}, "cells": []}',
        b'{"metadata": {"course": {"lesson": "01"}}, "cells": []}',
        notebook().replace("cells", "no cells").encode(),
        notebook(title="only one").encode(),
        notebook(minutes="long").encode(),
        notebook(needs={"en": "a", "zh": ""}).encode(),
        b"[" * 200_000,
    ],
)
def test_a_damaged_notebook_is_left_out(tmp_path, content):
    (tmp_path / "01_broken.ipynb").write_bytes(content)
    write(tmp_path, "02_sound.ipynb", lesson="02")
    assert [entry.file for entry in lessons(tmp_path) if entry.file] == ["02_sound.ipynb"]


CHECKED = [
    {"cell_type": "code", "source": ["x = 1\n", f'check("{name}", x)']} for name in ("one", "two", "three")
]


def test_progress_counts_the_exercises_that_the_lesson_has(tmp_path):
    write(tmp_path, "01_checks.ipynb", cells=CHECKED)
    settings.mark_solved("01", "one")
    settings.mark_solved("01", "an exercise that was renamed long ago")
    settings.mark_solved("02", "two")
    first = next(entry for entry in lessons(tmp_path) if entry.number == "01")
    assert (first.solved, first.exercises) == (1, 3)
    for name in ("one", "two", "three"):
        settings.mark_solved("01", name)
    assert '<span class="measured">3 ✓</span> / 3' in shown(tmp_path)["text/html"]


def test_progress_does_not_change_what_the_notebook_checks_compare(tmp_path):
    write(tmp_path, "01_checks.ipynb", cells=CHECKED)

    def compared() -> list[str]:
        bundle = shown(tmp_path)
        html = re.sub('<span class="measured">[^<]*</span>', "", bundle["text/html"])
        return [html, re.sub("⟨[^⟩]*⟩", "", bundle["text/plain"])]

    before, page = compared(), shown(tmp_path)["text/html"]
    settings.mark_solved("01", "one")
    assert compared() == before and shown(tmp_path)["text/html"] != page


@pytest.mark.parametrize("content", ["", "{", "[]", '{"01": 3}', '{"01": ["one"]}'])
def test_a_damaged_progress_file_counts_as_no_progress(tmp_path, data, content):
    data.mkdir()
    (data / "progress.json").write_text(content, encoding="utf-8")
    write(tmp_path, "01_checks.ipynb", cells=CHECKED)
    assert next(entry for entry in lessons(tmp_path) if entry.number == "01").solved == 0


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
