"""The table of the cells that a class has to wait for, in TEACHING.md; ``python -m tools.record`` writes it."""

import datetime
from pathlib import Path

from course_utils.machine import machine_facts
from tools.notebook_file import cells

SECONDS = 2.0  # a shorter wait needs no words


def table(took: dict[Path, list[float]]) -> str:
    """Return the slow cells (of the seconds of all) as a table in Markdown, with a line about this machine in both languages."""
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
        executed = [cell for cell in cells(path) if cell.code]
        for number, (cell, spent) in enumerate(zip(executed, seconds, strict=True), 1):
            if spent < SECONDS:
                continue
            line = (cell.source.strip().splitlines() or [""])[-1]
            code = f"`{line if len(line) <= 60 else line[:58] + ' …'}`".replace("|", "\\|")
            lines.append(f"| {cell.section or path.name[:2]} | [{number}] | {code} | {spent:.1f} |")
    return "\n".join(lines)
