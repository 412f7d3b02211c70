"""The table of the cells that a class has to wait for, in TEACHING.md; ``python -m tools.record`` writes it."""

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from course_utils.machine import machine_facts
from tools.notebook_file import read

SECONDS = 2.0  # a shorter wait needs no words


def sections(cells: list[NotebookNode]) -> Iterator[tuple[str, NotebookNode]]:
    """Yield each code cell with the number of its section, such as "1.2"; before the first one it is empty."""
    section = ""
    for cell in cells:
        if cell.cell_type == "code":
            yield section, cell
        elif found := re.search(r"^## (\d+\.\d+)", cell.source, re.M):
            section = found[1]


def table(took: dict[Path, list[float]]) -> str:
    """Return the slow cells as a table in Markdown, with a line about this machine in both languages.

    Args:
        took: The seconds of each code cell of each notebook.
    """
    every = [cell for seconds in took.values() for cell in seconds]
    slow, minutes = sum(cell >= SECONDS for cell in every), sum(every) / 60
    facts = machine_facts()
    gpus = ", ".join(gpu["name"] for gpu in facts["gpus"])
    device = gpus or f"{facts['cpu']}, {facts['cores']} threads, no GPU"
    lines = [
        f"{device}, PyTorch {facts['torch']}, {datetime.date.today()}. {slow} of {len(every)} code cells take",
        f"{SECONDS:g} seconds or longer; all together {minutes:.0f} minutes. ·",
        f"{len(every)} 個程式碼儲存格裡，有 {slow} 個需要 {SECONDS:g} 秒以上；全部執行一次約 {minutes:.0f} 分鐘。",
        "",
        "| Section · 節 | Cell · 儲存格 | Last line · 最後一行 | Seconds · 秒 |",
        "|---|--:|---|--:|",
    ]
    for path, seconds in took.items():
        for number, ((section, cell), spent) in enumerate(
            zip(sections(read(path).cells), seconds, strict=True), 1
        ):
            if spent < SECONDS:
                continue
            line = cell.source.strip().splitlines()[-1]
            code = f"`{line if len(line) <= 60 else line[:58] + ' …'}`".replace("|", "\\|")
            lines.append(f"| {section or path.name[:2]} | [{number}] | {code} | {spent:.1f} |")
    return "\n".join(lines)
