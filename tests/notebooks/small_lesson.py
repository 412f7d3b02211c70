"""The small lesson of ``small_lesson.toml``, for the tests of the checks."""

import tomllib
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.check.notebook import fix_notebook
from tools.notebook_file import canonical
from tools.record import execute

NAME = "01_small.ipynb"
_CONTENT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def write_room(folder: Path) -> None:
    """Write the lesson's room into the folder of its notebook."""
    room = folder / "lesson_01"
    room.mkdir(parents=True)
    (room / "texts.toml").write_text(_CONTENT["texts"], encoding="utf-8")


def write(root: Path) -> Path:
    """Write the lesson into ``root/notebooks``, executed, with its room; return its path."""
    cells = []
    for cell in _CONTENT["cell"]:
        make, kind = (new_code_cell, "code") if "code" in cell else (new_markdown_cell, "markdown")
        cells.append(make(cell[kind], id=cell["id"]))
    cells[-1].metadata = nbformat.from_dict(
        {"tags": ["nbval-ignore-output"], "course": {"exempt": "shows a number drawn at random"}}
    )
    title = {"en": "A small lesson", "zh": "一堂小課"}
    about = {"lesson": "01", "title": title, "minutes": {"reading": 5, "exercises": 0}}
    path = root / "notebooks" / NAME
    write_room(path.parent)
    (root / "LICENSE").write_text("a licence\n", encoding="utf-8")
    notebook = fix_notebook(new_notebook(cells=cells, metadata={"course": about}))
    path.write_text(canonical(notebook), encoding="utf-8")
    execute(path, root / "journal.jsonl")
    return path
