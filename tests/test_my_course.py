"""The learner's own copy of the course: made, brought up to date without any loss, and every lesson runs in it."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lesson_cells import NOTEBOOKS
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sample import sample
from tabled import tabled

from notebook_torchrun.job import find
from tools.my_course.merge import merged
from tools.my_course.update import update
from tools.record import execute
from tools.written import workplace

ROOT = Path(__file__).parents[1]
NAME = "01_lesson.ipynb"


def notebook(*cells: tuple[str, str], kind: Any = new_code_cell) -> bytes:
    """Return a notebook of code cells, given as (id, source)."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = new_notebook(metadata={"kernelspec": kernel}, cells=[kind(s, id=name) for name, s in cells])
    return nbformat.writes(made).encode() + b"\n"


def read(content: bytes) -> nbformat.NotebookNode:
    return nbformat.reads(content.decode(), as_version=4)


def cells(content: bytes) -> list[tuple[str, str]]:
    """Return the ids and sources of a notebook's cells; a note about a new version of cell "a" is ("new", "a")."""
    named = [(cell.id, cell.source) for cell in read(content).cells]
    return [(n, s) if "-new-" not in n else ("new", n.split("-")[0]) for n, s in named]


def parsed(text: str) -> list[tuple[str, str]]:
    """Return cells from a short form: "a:1 b:2" is cell a with the source 1, and cell b."""
    return [tuple(part.split(":")) for part in text.split()]  # type: ignore[misc]


# --- one notebook --------------------------------------------------------------------------------------------


@tabled
def test_cells_are_merged(base: str, mine: str, course: str, result: str) -> None:
    before = None if base == "-" else notebook(*parsed(base))
    found, both = merged(before, notebook(*parsed(mine)), notebook(*parsed(course)))
    assert cells(found) == parsed(result)
    assert both == [about for name, about in parsed(result) if name == "new"]
    nbformat.validate(read(found))
    # After an update that was interrupted, the next one finds the merged notebook and the old version.
    assert merged(before, found, notebook(*parsed(course)))[0] == found


@pytest.mark.parametrize(("seed", "times"), [(19, 30), pytest.param(20, 300, marks=pytest.mark.nightly)])
def test_nothing_of_a_learner_is_ever_lost(seed: int, times: int) -> None:
    """Random notebooks, changed at random by both, over several updates."""
    chance = random.Random(seed)
    for _ in range(times):
        base = [(f"c{i}", f"base {i}") for i in range(chance.randrange(1, 7))]
        mine = base
        for version in range(3):
            mine = [
                (n, s if chance.random() < 0.7 else f"mine {n} {version}")
                for n, s in mine
                if chance.random() < 0.9
            ]
            mine.insert(chance.randrange(len(mine) + 1), (f"own{version}", f"mine own {version}"))
            if chance.random() < 0.2:
                chance.shuffle(mine)
            course = [
                (n, s if chance.random() < 0.6 else f"course {n} {version}")
                for n, s in base
                if chance.random() < 0.9
            ]
            course.insert(chance.randrange(len(course) + 1), (f"new{version}", f"course new {version}"))
            made = merged(notebook(*base), notebook(*mine), notebook(*course))[0]
            found = [(cell.id, cell.source) for cell in read(made).cells]
            assert len({name for name, _ in found}) == len(found)
            assert {cell for cell in mine if cell[1].startswith("mine")} <= {*found}
            kept, now = dict(found), dict(course)
            for name, source in mine:
                if (name, source) in base:  # the learner left it alone, so it is the course's
                    assert kept.get(name) == now.get(name)
            assert (f"new{version}", f"course new {version}") in found
            base, mine = course, found


def test_a_newer_note_replaces_one_that_nobody_has_touched() -> None:
    one, two, three = (notebook(("a", text)) for text in ("1", "2", "3"))
    mine = merged(one, notebook(("a", "mine")), two)[0]
    assert cells(merged(two, mine, three)[0]) == [("a", "mine"), ("new", "a")]
    touched = mine.replace(b"delete it when you like", b"first try this")
    found = merged(two, touched, three)[0]
    assert cells(found) == [("a", "mine"), ("new", "a"), ("new", "a")] and b"first try this" in found


def test_a_note_shows_the_new_version_in_both_languages() -> None:
    old, mine, new = (
        notebook(("a", text), kind=new_markdown_cell) for text in ("1", "my own words", "```\nnew\n```")
    )
    note = read(merged(old, mine, new)[0]).cells[1]
    assert note.cell_type == "markdown" and "````markdown\n```\nnew\n```\n````" in note.source
    assert "The course has a new version" in note.source and "課程更新了" in note.source


def test_outputs_stay_below_code_that_stays() -> None:
    old, new = notebook(("a", "1"), ("b", "1"), ("c", "1")), notebook(("a", "1"), ("b", "2"), ("c", "3"))
    ran = read(old)
    ran.metadata["kernelspec"] = {"name": "my-kernel", "display_name": "Mine", "language": "python"}
    ran.metadata["widgets"] = {"state": 1}
    ran.cells[2].source = "my own"
    for cell in ran.cells:
        cell.outputs, cell.execution_count = [new_output("stream", text=cell.id)], 4
    found = read(merged(old, nbformat.writes(ran).encode(), new)[0])
    outputs = {cell.id: [one.text for one in cell.outputs] for cell in found.cells if "outputs" in cell}
    assert outputs == {"a": ["a"], "b": [], "c": ["c"]}
    assert found.metadata["kernelspec"]["name"] == "my-kernel" and found.metadata["widgets"] == {"state": 1}


@pytest.mark.filterwarnings("ignore::nbformat.warnings.DuplicateCellId")
def test_notebooks_of_other_programs_are_merged() -> None:
    """Without ids, as in Colab's older files, and with an id twice, as after copying in some editors."""
    plain = json.loads(notebook(("a", "1"), ("b", "2")))
    plain["nbformat_minor"] = 4
    for cell in plain["cells"]:
        del cell["id"]
    base, course = notebook(("a", "1"), ("b", "2")), notebook(("a", "1"), ("b", "3"))
    assert cells(merged(base, json.dumps(plain).encode(), course)[0]) == [("a", "1"), ("b", "3")]
    twice = json.loads(base)
    twice["cells"][1]["id"] = "a"
    found = merged(notebook(("a", "1")), json.dumps(twice).encode(), notebook(("a", "3")))[0]
    assert [source for _, source in cells(found)] == ["3", "2"]


# --- the folder ----------------------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Return the notebooks of a small course."""
    folder = tmp_path / "notebooks"
    (folder / "workers" / "__pycache__").mkdir(parents=True)
    (folder / "workers" / "train.py").write_bytes(b"1\n")
    (folder / "workers" / "__pycache__" / "train.pyc").write_bytes(b"")
    (folder / "workers" / ".hidden").write_bytes(b"")
    for name in ("00_start_here.ipynb", NAME):
        (folder / name).write_bytes(notebook(("a", "1"), ("b", "1")))
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds that a learner sees."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".course" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def english(texts: list[Any]) -> str:
    return "\n".join(text.en for text in texts)


def test_a_copy_has_nothing_but_questions(tmp_path: Path) -> None:
    """The real lessons: no output, no number of an execution, nothing of the author's bookkeeping."""
    folder, notebooks = tmp_path / "my_course", workplace(ROOT / "notebooks", tmp_path)
    assert "Your own copy" in english(update(folder, notebooks))
    for path in NOTEBOOKS:
        copy, original = (read((place / path.name).read_bytes()) for place in (folder, path.parent))
        texts = [[(c.id, c.cell_type, c.source) for c in one.cells] for one in (copy, original)]
        assert texts[0] == texts[1]
        code = [cell for cell in copy.cells if cell.cell_type == "code"]
        assert not any(cell.outputs or cell.execution_count or "course" in cell.metadata for cell in code)
    assert (folder / "workers/forecast/forecast.py").exists()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert update(folder, notebooks) == []
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_an_update_replaces_what_is_untouched_and_keeps_what_is_not(course: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    update(folder, course)
    own = {"own.ipynb": b"broken", "mine/a.py": b"1", "02_more/x.txt": b"2", "01_lesson-Copy1.ipynb": b"3"}
    for name, content in own.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    changed = notebook(("a", "my answer"), ("b", "1"))
    (folder / NAME).write_bytes(changed)
    (folder / "workers/train.py").write_bytes(b"my script\n")
    for name in ("00_start_here.ipynb", NAME):
        (course / name).write_bytes(notebook(("a", "2"), ("b", "2")))
    for name in ("train.py", "more.py"):
        (course / "workers" / name).write_bytes(b"2\n")

    said = english(update(folder, course))
    found = files(folder)
    assert [name for name in found if name.startswith("workers/")] == ["workers/more.py", "workers/train.py"]
    (backup,) = [name for name in found if name.startswith("backups/01_lesson-")]
    assert found[backup] == changed and backup in said.replace(os.sep, "/")
    assert {name: found[name] for name in own} == own
    assert cells(found["00_start_here.ipynb"]) == [("a", "2"), ("b", "2")]
    assert cells(found[NAME]) == [("a", "my answer"), ("new", "a"), ("b", "2")]
    assert found["workers/train.py"] == b"my script\n" and found["workers/more.py"] == b"2\n"
    assert "Cells that both you and the course have changed: 1" in said and "You have changed workers" in said
    assert update(folder, course) == [] and files(folder) == found

    (folder / NAME).rename(folder / "old.ipynb")  # to begin the lesson anew
    update(folder, course)
    assert cells((folder / NAME).read_bytes()) == [("a", "2"), ("b", "2")]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b"no notebook"])
def test_a_broken_notebook_stays_and_stops_nothing(course: Path, tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "mine"
    update(folder, course)
    (folder / "00_start_here.ipynb").write_bytes(content)
    for name in ("00_start_here.ipynb", NAME):
        (course / name).write_bytes(notebook(("a", "2")))
    said = english(update(folder, course))
    assert "00_start_here.ipynb stays as it is" in said and f"Updated: {NAME}" in said
    assert (folder / "00_start_here.ipynb").read_bytes() == content
    assert cells((folder / NAME).read_bytes()) == [("a", "2")]


def test_earlier_work_beside_the_notebooks_is_taken_over(course: Path, tmp_path: Path) -> None:
    """Before there were copies, a learner worked in the course's own folder, and perhaps never committed it."""

    def git(*words: str) -> None:
        person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *person, *words], cwd=course.parent, check=True, capture_output=True)

    for words in (["init"], ["add", "."], ["commit", "-m", "first"]):
        git(*words)
    (course / "mine").mkdir()
    (course / "mine" / "hello.py").write_bytes(b"print()\n")
    (course / "weights.pt").write_bytes(b"weights")
    (course / NAME).write_bytes(notebook(("a", "my answer"), ("b", "1")))
    folder = tmp_path / "copy"
    assert "Copied from notebooks/: mine, weights.pt" in english(update(folder, course))
    found = files(folder)
    assert (found["mine/hello.py"], found["weights.pt"]) == (b"print()\n", b"weights")
    assert cells(found[NAME]) == [("a", "my answer"), ("b", "1")]
    assert update(folder, course) == []
    git("checkout", ".")
    (course / NAME).write_bytes(notebook(("a", "1"), ("b", "2")))
    git("commit", "-am", "second")
    update(folder, course)
    assert cells((folder / NAME).read_bytes()) == [("a", "my answer"), ("b", "2")]


@pytest.mark.parametrize(("encoding", "word"), [("ascii", "???"), ("utf-8", "你自己的課程複本")])
def test_the_command_speaks_both_languages_on_any_terminal(encoding: str, word: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.my_course", str(tmp_path / "copy")]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0 and "Your own copy of the course" in done.stdout, done.stderr
    assert word in done.stdout


# --- the lessons run in it -----------------------------------------------------------------------------------


SOME = ("setup", "processes-write")  # of lesson 06: the set-up, and a script that a cell writes


@pytest.mark.parametrize(
    ("path", "some"),
    sample(
        [(NOTEBOOKS[6], SOME), *((path, ()) for path in NOTEBOOKS)],
        ["part"],
        lambda case: "part" if case[1] else case[0].stem,
    ),
)
def test_a_lesson_runs_in_the_copy(
    path: Path, some: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rooms, workers and own scripts are found there, and what cells write goes into the copy only."""
    beside, folder = {entry.name for entry in (ROOT / "notebooks").iterdir()}, tmp_path / "my_course"
    update(folder, workplace(ROOT / "notebooks", tmp_path))  # not with what a learner has in the real folder
    part = nbformat.read(folder / path.name, as_version=4)
    part.cells = [cell for cell in part.cells if not some or cell.id in some]
    nbformat.write(part, folder / path.name)
    monkeypatch.setenv("COURSE_STRICT", "")  # whether a claim holds is not the subject
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    execute(folder / path.name, tmp_path / "journal.jsonl", target=tmp_path / "executed.ipynb")
    assert {entry.name for entry in (ROOT / "notebooks").iterdir()} - beside <= {"__pycache__"}
    if some:
        monkeypatch.chdir(folder)
        for name in ("mine/hello.py", "workers/train.py"):
            assert find(name) == folder / name
