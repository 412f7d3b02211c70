"""The set-up cell and any one section of a lesson run alone: a reader may begin anywhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest

from tools.check.reading import Cell, cells
from tools.minutes import lessons

# Their sections still build on each other; each is rewritten with the second edition of its lesson.
LATER = {"05": "second edition to come", "06": "second edition to come", "09": "has one section only"}
LESSONS = {number: path for number, path in lessons().items() if number not in LATER}


def set_up(path: Path) -> Cell:
    """Return the set-up cell of a lesson: its first code cell."""
    return next(cell for cell in cells(path) if cell.code)


@cache
def sections(path: Path) -> dict[str, list[Cell]]:
    """Return the code cells of each section (`## N.x`) that has some."""
    found: dict[str, list[Cell]] = {}
    for cell in cells(path):
        if cell.code and re.fullmatch(r"\d+\.\d+", cell.section):
            found.setdefault(cell.section, []).append(cell)
    return found


SECTIONS = [(number, section) for number, path in LESSONS.items() for section in sections(path)]


def undefined(sources: dict[str, str], folder: Path) -> list[str]:
    """Return ``name: what ruff says`` for each undefined name in the sources."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
    command = [
        ruff,
        "check",
        "--isolated",
        "--no-cache",
        "--select=F821,F823",
        "--output-format=json",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    return [f"{Path(found['filename']).stem}: {found['message']}" for found in json.loads(done.stdout)]


def program(path: Path, section: str) -> str:
    """Return the set-up cell and the cells of a section as one program."""
    return "\n\n".join(cell.source for cell in [set_up(path), *sections(path)[section]])


def test_there_are_sections() -> None:
    assert set(LESSONS) == {"00", "01", "02", "03", "04"} and len(SECTIONS) >= 30
    assert all("setup(" in set_up(path).source for path in LESSONS.values())


@pytest.mark.parametrize("number", LESSONS)
def test_no_section_needs_a_name_of_another(number: str, tmp_path: Path) -> None:
    path = LESSONS[number]
    found = undefined({section: program(path, section) for section in sections(path)}, tmp_path)
    assert not found, "\n".join(["import or define it in the set-up cell or in the section:", *found])


@pytest.mark.parametrize(
    "source, found",
    [
        ("import torch\nprint(torch)", []),
        ("print(later)\nlater = 3", ["x: Undefined name `later`"]),
        ("def f():\n    return later\n\n\nlater = 3\nf()", []),
        ("def f():\n    return never", ["x: Undefined name `never`"]),
        ("[a for a in (1, 2)]\nprint(a)", ["x: Undefined name `a`"]),
    ],
)
def test_undefined_names_are_found(source: str, found: list[str], tmp_path: Path) -> None:
    assert undefined({"x": source}, tmp_path) == found


@pytest.mark.nightly  # a kernel for each section
@pytest.mark.parametrize("number, section", SECTIONS)
def test_a_section_runs_alone(number: str, section: str) -> None:
    from nbclient import NotebookClient
    from nbval.kernel import CURRENT_ENV_KERNEL_NAME

    from tools.record import OwnKernelManager

    path = LESSONS[number]
    chosen = {cell.id for cell in [set_up(path), *sections(path)[section]]}
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") in chosen]
    NotebookClient(
        notebook,
        kernel_name=CURRENT_ENV_KERNEL_NAME,
        kernel_manager_class=OwnKernelManager,
        timeout=300,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()  # raises where a cell fails
