"""Lesson 00: the map of the course, its links, the progress that it counts, damaged files; its pictures and exercise."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from lesson_cells import cells
from torch import nn
from unmarked import unmarked

from course_utils import figures, settings
from course_utils.exercises import exercises_of, seen
from course_utils.figures import Picture
from lesson_00 import digit_pictures, first_speeds
from lesson_00.lesson_map import Map, here, lessons
from shared import program, scoreboard
from shared.digits import digits

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

COURSE = {
    "lesson": "01",
    "title": {"en": "A title", "zh": "課名"},
    "minutes": {"reading": 30, "exercises": 0},
}


def notebook(*, cells: Sequence[object] = (), **changes: object) -> str:
    """Return a notebook with these cells whose metadata differ from COURSE in `changes`."""
    return json.dumps({"metadata": {"course": COURSE | changes}, "cells": list(cells)})


def write(folder: Path, name: str, **changes: object) -> None:
    (folder / name).write_text(notebook(**changes), encoding="utf-8")


def page_of(folder: Path) -> dict[str, str]:
    return Map(lessons(folder))._repr_mimebundle_()


def test_the_course_lists_every_notebook():
    listed = {entry.number: entry for entry in lessons()}
    files = {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    assert {entry.file for entry in listed.values()} == files
    assert list(listed) == [f"{n:02}" for n in range(10)]
    for number, entry in listed.items():
        assert entry.exercises == len(exercises_of(number))


def test_a_lesson_is_read_from_its_notebook_and_not_from_copies_that_a_learner_makes(tmp_path):
    for name in ("03_dtype-Copy1.ipynb", "03_dtype.ipynb", "03_dtype_mine.ipynb"):
        write(tmp_path, name, lesson="03", minutes={"reading": 45, "exercises": 20})
    (third,) = lessons(tmp_path)
    assert (third.number, third.file, third.minutes) == ("03", "03_dtype.ipynb", "45 + 20")
    assert third.title.en == "A title"


@pytest.mark.parametrize("content", [
    "", "[]", "{}", '{"metadata": {"course": {"lesson": "01"}}, "cells": []}', notebook().replace("cells", "no cells"),
    notebook(title="only one"), notebook(minutes={"reading": "long", "exercises": 20}), "[" * 200_000,
])  # fmt: skip
def test_a_damaged_notebook_is_left_out(tmp_path, content):
    (tmp_path / "01_broken.ipynb").write_text(content, encoding="utf-8")
    write(tmp_path, "02_sound.ipynb", lesson="02")
    assert [entry.file for entry in lessons(tmp_path)] == ["02_sound.ipynb"]


CHECKED = [
    {"cell_type": "code", "source": ["x = 1\n", f'check("{name}", x)']} for name in ("one", "two", "three")
]


def test_progress_counts_the_exercises_that_the_lesson_has_and_only_marked_texts_change(tmp_path):
    write(tmp_path, "01_checks.ipynb", cells=CHECKED)

    def compared() -> list[str]:
        return [unmarked(text) for text in page_of(tmp_path).values()]

    before = compared()
    settings.mark_solved("01", "one")
    settings.mark_solved("01", "an exercise that was renamed long ago")
    settings.mark_solved("02", "two")
    first = next(entry for entry in lessons(tmp_path) if entry.number == "01")
    assert (first.solved, first.exercises) == (1, 3)
    for name in ("one", "two", "three"):
        settings.mark_solved("01", name)
    assert '<span class="measured">3 ✓</span> / 3' in page_of(tmp_path)["text/html"]
    assert compared() == before


def test_titles_are_escaped(tmp_path):
    write(tmp_path, "01_a&b.ipynb", title={"en": "1 < 2", "zh": "一 < 二"})
    html = page_of(tmp_path)["text/html"]
    assert "1 &lt; 2" in html and 'href="01_a&amp;b.ipynb"' in html


@pytest.mark.parametrize(("gpus", "said"), [
    (0, "two practice GPUs"), (1, "two practice GPUs"), (8, "on your GPUs"),
])  # fmt: skip
def test_the_map_says_what_happens_on_this_machine(tmp_path, monkeypatch, gpus, said):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    write(tmp_path, "05_data_parallel.ipynb", lesson="05")
    shown = page_of(tmp_path)["text/html"]
    assert re.search(f'<small>.*<span class="measured">Here: [^<]*{said}', shown), shown
    assert "With" not in shown and "Nothing" not in shown


def test_every_lesson_says_what_it_does_without_a_gpu_and_with_one():
    numbers = [entry.number for entry in lessons()][1:]
    assert here("00", 0) is None
    for gpus in (0, 1, 2):
        assert all(here(number, gpus).en.startswith("Here: ") for number in numbers)
        assert all(here(number, gpus).zh.startswith("在這裡：") for number in numbers)


# --- pictures ------------------------------------------------------------------------------------------------


def drawn(picture: Picture) -> list[tuple[str, bool]]:
    """Return the title of each small image, and whether there is an image under it."""
    return [(axes.get_title(), bool(axes.images)) for axes in picture.figure.axes]


def knows(wrong: Sequence[int]) -> nn.Module:
    """Return a network that knows all test images but those in `wrong`, which it takes for the next digit."""
    answers = digits().test_labels.clone()
    answers[list(wrong)] = (answers[list(wrong)] + 1) % 10
    network = nn.Linear(32, 10)
    network.register_forward_hook(lambda *_: nn.functional.one_hot(answers, 10).float())
    return network


@pytest.mark.parametrize("wrong", [[0, 12, 40], range(360)])
def test_right_and_wrong_answers_are_told_apart(wrong):
    labels = digits().test_labels.tolist()
    picture = digit_pictures.picture(knows(wrong))
    assert f"{360 - len(wrong)} / 360" in picture.caption.en

    def title(i: int) -> str:
        return f"{(labels[i] + 1) % 10} ({labels[i]})" if i in wrong else str(labels[i])

    below = list(wrong)[:10]
    expected = [(title(i), True) for i in [*range(10), *below]]
    assert drawn(picture) == expected + [("", False)] * (10 - len(below))
    colours = [axes.title.get_color() for axes in picture.figure.axes[: len(expected)]]
    assert colours == [figures.RECORDED if "(" in name else figures.YOURS for name, _ in expected]


def test_on_a_gpu_the_cpu_stands_beside_it(monkeypatch, shown):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(first_speeds, "best_time", lambda action, **_: action() or 0.1)
    trained = []
    monkeypatch.setattr(program, "beginner", lambda device, images: trained.append((device, images)))
    monkeypatch.setattr(program, "finished", lambda device, epochs: trained.append((device, epochs)))
    first_speeds.show_speeds(110.0, 90_000.0)
    assert trained == [("cpu", first_speeds.FEW), ("cpu", 1)]
    axes = shown[0].figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [200, 14_370, 110, 90_000]
    assert [label.get_text()[:3] for label in axes.get_yticklabels()] == ["CPU", "CPU", "GPU", "GPU"]


def test_the_first_training_is_timed_after_the_start_of_the_gpu(monkeypatch):
    (cell,) = [cell for cell in cells() if cell.lesson == "00" and "timed(" in cell.text]
    done = []
    monkeypatch.setattr(scoreboard, "timed", lambda train, device, epochs: (done.append("timed"), 1.0))
    names = {"finished": lambda device, epochs: done.append(device), "try_gpu": lambda: "cuda:0"}
    exec(cell.text, names | {"show_guesses": lambda network, seconds: None})
    assert done == ["cuda:0", "timed"]


# --- the exercise --------------------------------------------------------------------------------------------


def test_the_exercise_shows_what_the_answer_says_beside_what_is_right():
    page, text = seen(
        exercises_of("00")["images_per_second"], lambda images, epochs, seconds: images / seconds
    )
    assert "1,437 | 10 | 1.2 | 1,198 | 11,975" in text and "<td>1,198</td>" in page
