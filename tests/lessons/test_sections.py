"""The set-up cell and any one section of a lesson run alone: a reader may begin anywhere."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from ruff_findings import ruff_findings

from tools.minutes import BUDGETS, lessons
from tools.notebook_file import Cell, cells
from tools.written import CHECKED, workplace

LESSONS = {number: path for number, path in lessons().items() if number != "09"}  # which has one section only


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


def scripts(path: Path) -> dict[str, str]:
    """Return the scripts that the cells of a lesson write, by cell and name; an exercise's stub is not whole."""
    found = [cell for cell in cells(path) if cell.script]
    asked = {name for cell in cells(path) for name in CHECKED.findall(cell.source)}
    return {
        f"{cell.id}, {cell.script.name}": cell.script.text for cell in found if cell.script.name not in asked
    }


def program(path: Path, section: str) -> str:
    """Return the set-up cell and the cells of a section as one program."""
    return "\n\n".join(cell.source for cell in [set_up(path), *sections(path)[section]])


def test_there_are_sections() -> None:
    assert set(LESSONS) == set(BUDGETS) and len(SECTIONS) >= 50
    assert all("setup(" in set_up(path).source for path in LESSONS.values())


@pytest.mark.parametrize("number", LESSONS)
def test_no_section_needs_a_name_of_another(number: str, tmp_path: Path) -> None:
    path = LESSONS[number]
    for name, text in (
        {section: program(path, section) for section in sections(path)} | scripts(path)
    ).items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    found = ruff_findings(tmp_path, "--select=F821,F823")
    assert not found, "\n".join(["import or define it in the set-up cell or in the section:", *found])


@pytest.mark.nightly  # a kernel for each section
@pytest.mark.parametrize("number, section", SECTIONS)
def test_a_section_runs_alone(number: str, section: str, tmp_path: Path) -> None:
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
        resources={"metadata": {"path": str(workplace(path.parent, tmp_path))}},
    ).execute()  # raises where a cell fails
