"""Scripts that cells write: their rules, and a folder `mine/` of its own for each run."""

import json
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from ruff_findings import ruff_findings
from tabled import tabled

from tools.check import files
from tools.check.code import check_code
from tools.check.text import Findings
from tools.minutes import lessons
from tools.notebook_file import cells, code_hash, read
from tools.record import execute
from tools.written import Script, script_in, workplace

SCRIPT = "%%writefile mine/a.py\n"


def findings(source: str) -> list[str]:
    cell = new_code_cell(source, execution_count=1, metadata={"course": {"ran": code_hash(source)}})
    found = Findings().at("x.ipynb: cell 1 (a)")
    check_code(cell, 1, found)
    assert all(one.place.startswith("x.ipynb: cell 1 (a)") for one in found)
    return [f"{one.rule}: {one.what}" for one in found]


@tabled
def test_a_script_is_checked_as_a_file(source: str, found: list[str]) -> None:
    assert [one[: len(wanted)] for one, wanted in zip(findings(SCRIPT + source), found, strict=True)] == found


def test_only_what_is_scored_imports_the_program() -> None:
    assert findings("%%writefile mine/faster.py\nfrom shared.program import images") == []
    assert findings("%%writefile mine/faster.py\nfrom shared.digits import images")


@pytest.mark.parametrize(
    "first", ["workers/a.py", "../a.py", "mine/a.txt", "-a mine/a.py", "mine/b/a.py", "a.py"]
)
def test_scripts_are_written_into_one_folder_only(first: str) -> None:
    assert findings(f"%%writefile {first}\nx = 1") == ["code: %%writefile elsewhere than mine/NAME.py"]


def test_what_a_cell_writes() -> None:
    assert script_in(SCRIPT + "\nx = 1\n\n") == Script("a.py", "\nx = 1\n")
    assert script_in("x = 1\n" + SCRIPT) is None


def test_the_scripts_of_the_lessons_are_sound(tmp_path: Path) -> None:
    """Ruff finds nothing in them; the stub of an exercise may import what only its solution uses."""
    for path in lessons().values():
        for cell in cells(path):
            if cell.script:
                folder = tmp_path / cell.id
                folder.mkdir()
                (folder / cell.script.name).write_text(cell.script.text, encoding="utf-8")
    own = "--config=lint.isort.known-first-party = ['shared']"
    assert ruff_findings(tmp_path, "--select=E4,E7,E9,F,B,I", "--ignore=F401,F841", own) == []


# --- where they are written ---------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder of notebooks with a room, another file, a learner's script and a learner's results."""
    folder = tmp_path / "notebooks"
    for name in "lesson_99/texts.toml workers/a.py mine/a.py results/a/b.py .hidden/b 99_a.ipynb".split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("print('the learner')" if name == "mine/a.py" else "", encoding="utf-8")
    return folder


def test_the_workplace_has_all_but_the_learners_scripts(course: Path, tmp_path: Path) -> None:
    (course.parent / "recordings").mkdir()
    place = workplace(course, tmp_path / "scratch")
    assert (place.parent / "recordings").resolve() == course.parent / "recordings"
    assert {entry.name for entry in place.iterdir()} == {"lesson_99", "workers", "99_a.ipynb"}
    assert (place / "workers" / "a.py").resolve() == course / "workers" / "a.py"


def test_the_checks_leave_the_learners_scripts_alone(course: Path) -> None:
    assert {path.name for path in files([course])} == {"texts.toml", "a.py", "99_a.ipynb"}
    assert not {"mine", "results"} & {part for path in files([course]) for part in path.parts}


def test_without_links_it_is_a_copy(course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.symlink", lambda *_, **__: (_ for _ in ()).throw(OSError("no privilege")))
    place = workplace(course, tmp_path / "scratch")
    assert (place / "workers" / "a.py").is_file() and not (place / "workers").is_symlink()


def test_a_folder_without_lessons_is_its_own_workplace(tmp_path: Path) -> None:
    assert workplace(tmp_path, tmp_path / "scratch") == tmp_path and not (tmp_path / "scratch").exists()


def test_recording_leaves_the_learners_scripts_alone(course: Path, tmp_path: Path) -> None:
    first = "from pathlib import Path\n\nPath('mine').mkdir(exist_ok=True)\nprint(*Path('mine').iterdir())"
    sources = (first, "%%writefile mine/a.py\nprint('ours')", "print(Path('mine/a.py').read_text())")
    code = [new_code_cell(source, id=f"code-{n}") for n, source in enumerate(sources)]
    cells = [new_markdown_cell("# 99. A · 甲", id="title"), *code]
    path = course / "99_a.ipynb"
    path.write_text(
        json.dumps(new_notebook(cells=cells, metadata={"course": {"lesson": "99"}})), encoding="utf-8"
    )
    for _ in range(2):
        execute(path, tmp_path / "journal.jsonl")
        _, *executed = read(path).cells
        texts = [output.text for cell in executed for output in cell.outputs]
        assert "".join(texts) == "\nWriting mine/a.py\nprint('ours')\n\n"
    assert (course / "mine" / "a.py").read_text(encoding="utf-8") == "print('the learner')"
