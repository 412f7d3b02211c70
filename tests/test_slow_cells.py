"""The table of cells that a class has to wait for."""

import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import slow_cells
from tools.slow_cells import END, START, Timed, measure, sections, table, with_table


def test_a_notebook_is_timed_cell_by_cell_and_stays_as_it_is(tmp_path: Path) -> None:
    cells = [
        new_code_cell("import time"),
        new_markdown_cell("## 1.1 One · 一\n\ntext"),
        new_code_cell("time.sleep(0.6)\nprint('|')"),
        new_markdown_cell("### Exercise · 練習"),
        new_code_cell("1 / 0"),
        new_markdown_cell("## 1.2 Two · 二"),
        new_code_cell("pass"),
    ]
    path = tmp_path / "01_example.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    before = path.read_bytes()
    timed = measure(path)
    assert path.read_bytes() == before
    assert [(t.lesson, t.section, t.number, t.line) for t in timed] == [
        ("01", "", 1, "import time"), ("01", "1.1", 2, "print('|')"), ("01", "1.1", 3, "1 / 0"), ("01", "1.2", 4, "pass"),
    ]  # fmt: skip
    assert timed[1].seconds > 0.6


def test_the_table_holds_the_slow_ones() -> None:
    timed = [
        Timed("00", "", 1, "setup('00')", 2.0),
        Timed("00", "0.1", 2, "quick()", 1.9),
        Timed("00", "0.2", 3, "a | b" * 20, 61.3),
    ]
    rows = table(timed, "A machine")
    assert "2 of 3 code cells take 2 seconds" in rows and rows.startswith("A machine. ")
    *_, one, two = rows.splitlines()
    assert one == "| 00 | [1] | `setup('00')` | 2.0 |"
    assert two.startswith("| 0.2 | [3] | `a \\| ba") and two.endswith("…` | 61.3 |")
    assert len(re.findall(r"(?<!\\)\|", two)) == 5


def test_the_table_goes_between_its_markers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert with_table(f"a\n{START}\nold\n{END}\nb", "new") == f"a\n{START}\nnew\n{END}\nb"
    with pytest.raises(ValueError, match="must hold"):
        with_table("no markers", "new")
    page = tmp_path / "TEACHING.md"
    page.write_text(f"{START}\n{END}\n", encoding="utf-8")
    monkeypatch.setattr(slow_cells, "TEACHING", page)
    monkeypatch.setattr(slow_cells, "measure", lambda path: [Timed(path.name[:2], "0.1", 1, "x", 3.0)])
    monkeypatch.setattr(sys, "argv", ["slow_cells", "--write"])
    assert slow_cells.main() == 0
    assert page.read_text(encoding="utf-8").count("| 3.0 |") >= 10


def test_sections_are_found() -> None:
    cells = [new_code_cell("a"), new_markdown_cell("## 3.10 Ten · 十"), new_code_cell("b")]
    assert [section for section, _ in sections(cells)] == ["", "3.10"]
