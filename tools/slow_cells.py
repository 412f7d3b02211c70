"""How long each cell takes on this machine: a table of those that a class has to wait for.

``python -m tools.slow_cells [notebooks …]`` prints it; ``--write`` measures all lessons and writes it into TEACHING.md.
Let nothing else use the machine meanwhile. Nothing but the table is written.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import nbformat

from course_utils.machine import machine_facts
from tools.record import CELL_TIMEOUT, NOTEBOOKS, ROOT, client, own_environment, replace
from tools.written import workplace

TEACHING = ROOT / "TEACHING.md"
START, END = "<!-- slow-cells:start -->", "<!-- slow-cells:end -->"
SECONDS = 2.0  # a shorter wait needs no words


@dataclass(frozen=True)
class Timed:
    """One executed code cell: its lesson, its section, its number in brackets, its last line, and its seconds."""

    lesson: str
    section: str
    number: int
    line: str
    seconds: float


def sections(cells: list[nbformat.NotebookNode]) -> Iterator[tuple[str, nbformat.NotebookNode]]:
    """Yield each code cell with the number of its section, such as "1.2"; before the first one it is empty."""
    section = ""
    for cell in cells:
        if cell.cell_type == "code":
            yield section, cell
        elif found := re.search(r"^## (\d+\.\d+)", cell.source, re.M):
            section = found[1]


def measure(path: Path) -> list[Timed]:
    """Execute a copy of a notebook and return what its cells took.

    Args:
        path: The notebook; it is not changed, and an error in a cell does not end the run.
    """
    notebook = nbformat.read(path, as_version=4)
    began: dict[str, float] = {}
    took: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="course-slow-") as scratch:
        executing = client(
            notebook,
            workplace(path.parent, Path(scratch)),
            timeout=CELL_TIMEOUT,
            allow_errors=True,
            on_cell_execute=lambda cell, **_: began.update({cell.id: time.perf_counter()}),
            on_cell_executed=lambda cell, **_: took.update({cell.id: time.perf_counter() - began[cell.id]}),
        )
        journal = Path(scratch, "journal.jsonl")
        with patch.dict(os.environ, COURSE_STRICT="0"), own_environment(journal, Path(scratch)):
            executing.execute(stderr=subprocess.DEVNULL)
    return [
        Timed(path.name[:2], section, number, cell.source.strip().splitlines()[-1], took[cell.id])
        for number, (section, cell) in enumerate(sections(notebook.cells), 1)
    ]


def table(timed: list[Timed], machine: str) -> str:
    """Return the slow cells as a table in Markdown, with a line about the machine in both languages."""
    slow = [cell for cell in timed if cell.seconds >= SECONDS]
    lines = [
        f"{machine}. {len(slow)} of {len(timed)} code cells take {SECONDS:g} seconds or longer; all together "
        f"{sum(cell.seconds for cell in timed) / 60:.0f} minutes. · {len(timed)} 個程式碼儲存格裡，有 {len(slow)} 個需要 "
        f"{SECONDS:g} 秒以上；全部執行一次約 {sum(cell.seconds for cell in timed) / 60:.0f} 分鐘。",
        "",
        "| Section · 節 | Cell · 儲存格 | Last line · 最後一行 | Seconds · 秒 |",
        "|---|--:|---|--:|",
    ]
    for cell in slow:
        line = cell.line if len(cell.line) <= 60 else f"{cell.line[:58]} …"
        code = f"`{line}`".replace("|", "\\|")
        lines.append(f"| {cell.section or cell.lesson} | [{cell.number}] | {code} | {cell.seconds:.1f} |")
    return "\n".join(lines)


def with_table(page: str, rows: str) -> str:
    """Return the page with the table between its markers replaced.

    Args:
        page: The text of TEACHING.md.
        rows: The new table.

    Raises:
        ValueError: The page lacks one of the markers.
    """
    if page.count(START) != 1 or page.count(END) != 1:
        raise ValueError(
            f"{TEACHING.name} must hold {START} and {END} once each; the table goes between them."
        )
    before, after = page.split(START)[0], page.split(END)[1]
    return f"{before}{START}\n{rows}\n{END}{after}"


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.slow_cells", description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all in notebooks/")
    parser.add_argument(
        "--write", action="store_true", help="measure all, and write the table into TEACHING.md"
    )
    options = parser.parse_args()
    if options.write and options.notebooks:
        parser.error("--write measures all notebooks; name none")
    facts = machine_facts()
    device = (
        ", ".join(gpu["name"] for gpu in facts["gpus"]) or f"{facts['cpu']}, {facts['cores']} threads, no GPU"
    )
    machine = f"{device}, PyTorch {facts['torch']}, {datetime.date.today()}"
    timed: list[Timed] = []
    for path in options.notebooks or sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        found = measure(path.resolve())
        timed += found
        print(f"{path.name}: {sum(cell.seconds for cell in found):.0f} s", file=sys.stderr, flush=True)
    rows = table(timed, machine)
    print(rows)
    if options.write:
        replace(TEACHING, with_table(TEACHING.read_text(encoding="utf-8"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
