"""The table of cells that a class has to wait for."""

import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.slow_cells import table


def test_the_table_holds_the_slow_ones_with_their_sections(tmp_path: Path) -> None:
    cells = [
        new_code_cell("import time\nsetup('01')"),
        new_markdown_cell("## 1.1 One · 一\n\ntext"),
        new_code_cell("quick()"),
        new_markdown_cell("### Exercise · 練習"),
        new_code_cell("a | b" * 20),
        new_markdown_cell("## 1.10 Ten · 十"),
        new_code_cell("last"),
    ]
    path = tmp_path / "01_example.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    *first, _, head, _, one, two, three = table({path: [2.0, 1.9, 61.3, 120.0]}).splitlines()
    first, rows = " ".join(first), [one, two, three]
    assert "3 of 4 code cells take 2 seconds" in first and "all together 3 minutes" in first
    assert head.startswith("| Section")
    assert rows[0] == "| 01 | [1] | `setup('01')` | 2.0 |"
    assert rows[1].startswith("| 1.1 | [3] | `a \\| ba") and rows[1].endswith("…` | 61.3 |")
    assert len(re.findall(r"(?<!\\)\|", rows[1])) == 5
    assert rows[2:] == ["| 1.10 | [4] | `last` | 120.0 |"]
