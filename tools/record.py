"""Execute notebooks in place, store their outputs in the canonical form, and record what they measured.

``python -m tools.record [--no-evidence] [notebooks …]`` executes; ``python -m tools.record --table`` only
writes README's table of what was last verified where. A notebook in which a cell fails stays as it was.
``--to FOLDER`` changes nothing in the course: executed copies, journal and traces go there, also after a failure.
"""

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager
from traitlets import default

from course_utils.machine import machine_facts
from course_utils.recordings import read as read_runs
from tools.check.notebook import fix_notebook
from tools.claim_summary import read_notes
from tools.evidence import FOLDER as RECORDINGS
from tools.evidence import claims_of_today, counts, device_name, write
from tools.markdown_text import between
from tools.notebook_file import ROOT, canonical, cells, code_hash, lessons, read
from tools.written import own_environment, workplace

CELL_TIMEOUT = 600  # seconds
SLOW = 2.0  # seconds; for a shorter wait a teacher needs no words


# --- executing ----------------------------------------------------------------------------------------


class CellFailed(Exception):
    """A cell could not be executed; the message says which one and why."""


class OwnKernelManager(AsyncKernelManager):
    """Starts the kernel of this environment, whatever else is installed under the name python3."""

    @default("kernel_spec_manager")
    def _kernel_spec_manager_default(self) -> NbvalKernelspecManager:
        return NbvalKernelspecManager()


def client(notebook: NotebookNode, folder: Path, **options: Any) -> NotebookClient:
    """Return what executes `notebook` in `folder`, in a kernel of this environment; it stores no times and no widgets."""
    return NotebookClient(
        notebook,
        kernel_name=CURRENT_ENV_KERNEL_NAME,
        kernel_manager_class=OwnKernelManager,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        **options,
    )


def execute(path: Path, journal: Path, target: Path | None = None) -> list[float]:
    """Execute one notebook, store it with its new outputs, and return the seconds that each code cell took.

    Args:
        path: The notebook; its cells see its folder as their working directory, with a `mine/` of their own.
        journal: Where claims and curves are noted, one JSON object a line.
        target: Where the executed notebook goes, if not to `path`. Then a cell that fails does not end the
            run: its error is stored as its output, as in JupyterLab, and the next one is executed.

    Raises:
        CellFailed: A cell failed, ran too long or killed its kernel; `path` is unchanged.
    """
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        cell.outputs, cell.execution_count = [], None
    reached: dict[str, object] = {}
    began: list[float] = []
    seconds: list[float] = []

    def begin(cell: NotebookNode, cell_index: int) -> None:
        reached.update(number=cell_index, id=cell.id)
        began.append(time.monotonic())
        if target:  # a log that ends early names the cell that took too long
            print(f"{path.name}: {cell.id}", flush=True)

    def end(**_: object) -> None:
        seconds.append(time.monotonic() - began[-1])
        if sys.stdout.isatty():
            print(f"\r{path.name}: {len(seconds)}/{len(code)} cells", end="", flush=True)

    with tempfile.TemporaryDirectory(prefix="course-record-") as scratch:
        place = workplace(path.parent, Path(scratch))
        how = {"timeout": CELL_TIMEOUT, "on_cell_execute": begin, "on_cell_executed": end}
        executing = client(notebook, place, allow_errors=target is not None, **how)
        with patch.dict(os.environ, own_environment(journal, Path(scratch))):
            try:
                executing.execute(stderr=subprocess.DEVNULL)  # the kernel's own log; cells keep theirs
            except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                if target:
                    replace(target, canonical(notebook))
                raise CellFailed("cell {number} ({id})".format(**reached) + f": {error}") from error
    for cell in code:
        cell.metadata.setdefault("course", NotebookNode()).ran = code_hash(cell.source)
    replace(target or path, canonical(fix_notebook(notebook)))
    failed = [cell.id for cell in code if any(output.output_type == "error" for output in cell.outputs)]
    if target and failed:
        raise CellFailed(f"the cells {', '.join(failed)}; their errors are in {target.name}")
    return seconds


def replace(path: Path, text: str) -> None:
    """Write a file in one step, so that an interruption leaves the old one whole."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    os.replace(temporary, path)


# --- the tables of README and TEACHING ----------------------------------------------------------------


def table(folder: Path = RECORDINGS) -> str:
    """Return README's table of what was last verified where, from the recorded runs."""
    lines = [
        "| Machine · 機器 | PyTorch | Python | Date · 日期 | holds · 成立 | unclear · 尚無定論 "
        "| does not hold · 不成立 | the model shows · 模型顯示 | not shown · 無法展示 |",
        "|---" * 4 + "|--:" * 5 + "|",
    ]
    runs, claims = read_runs(folder), claims_of_today()
    for run in runs:
        machine = run["machine"]
        numbers = map(str, counts(run, claims).values())
        row = [device_name(run), machine["torch"], machine.get("python", ""), run["date"], *numbers]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    if not runs:
        lines = ['<span lang="en">Nothing is recorded yet.</span><span lang="zh-Hant">尚無紀錄。</span>']
    return "\n".join(lines)


def _write_between(name: str, mark: str, text: str) -> None:
    document = ROOT / name
    replace(document, between(document.read_text(encoding="utf-8"), mark, text))


def write_table() -> None:
    """Write README's table from the recorded runs."""
    _write_between("README.md", "evidence", table())


def slow_cells(took: dict[Path, list[float]]) -> str:
    """Return the slow cells, of all that were executed, as a table in Markdown below a line about this machine."""
    every = [cell for seconds in took.values() for cell in seconds]
    slow, minutes = sum(cell >= SLOW for cell in every), sum(every) / 60
    facts = machine_facts()
    gpus = ", ".join(gpu["name"] for gpu in facts["gpus"])
    device = gpus or f"{facts['cpu']}, {facts['cores']} threads, no GPU"
    lines = [
        f"{device}, PyTorch {facts['torch']}, {datetime.date.today()}. {slow} of {len(every)} code cells take",
        f"{SLOW:g} seconds or longer; all together {minutes:.0f} minutes. ·",
        f"{len(every)} 個程式碼儲存格裡，有 {slow} 個需要 {SLOW:g} 秒以上；全部執行一次約 {minutes:.0f} 分鐘。",
        "",
        "| Section · 節 | Cell · 儲存格 | Last line · 最後一行 | Seconds · 秒 |",
        "|---|--:|---|--:|",
    ]
    for path, seconds in took.items():
        executed = [cell for cell in cells(path) if cell.code]
        for number, (cell, spent) in enumerate(zip(executed, seconds, strict=True), 1):
            if spent < SLOW:
                continue
            line = (cell.source.strip().splitlines() or [""])[-1]
            code = f"`{line if len(line) <= 60 else line[:58] + ' …'}`".replace("|", "\\|")
            lines.append(f"| {cell.section or path.name[:2]} | [{number}] | {code} | {spent:.1f} |")
    return "\n".join(lines)


# --- recording ----------------------------------------------------------------------------------------


def execute_all(paths: list[Path], journal: Path, folder: Path | None = None) -> dict[Path, list[float]]:
    """Execute the notebooks, in place or as copies in `folder`; return the seconds of the cells of those that ran."""
    took: dict[Path, list[float]] = {}
    for path in paths:
        try:
            took[path] = execute(path, journal, target=folder / path.name if folder else None)
        except CellFailed as error:
            unchanged = "" if folder else ", the file is unchanged"
            print(f"\r{path.name}: FAILED{unchanged}; {error}", file=sys.stderr)
        else:
            print(f"\r{path.name}: executed in {sum(took[path]):.1f} s")
    return took


def record_copies(paths: list[Path], folder: Path) -> bool:
    """Execute copies of the notebooks; `folder` gets them, the journal and the traces. Return whether all ran."""
    folder.mkdir(parents=True, exist_ok=True)
    with patch.dict(os.environ, {"COURSE_TRACES": str(folder)}):
        return len(execute_all(paths, folder / "journal.jsonl", folder)) == len(paths)


def record(paths: list[Path], evidence: bool) -> bool:
    """Execute the notebooks, then write the recorded run and the tables; return whether all ran."""
    with tempfile.TemporaryDirectory(prefix="course-journal-") as folder:
        journal = Path(folder) / "journal.jsonl"
        took = execute_all(paths, journal)
        lines = read_notes(journal)
    complete = len(took) == len(paths)
    if evidence and complete and lines:
        anew = set(paths) >= set(lessons().values())
        print(f"recorded run: {write(lines, anew=anew).name} ({len(lines)} notes)")
        write_table()
        if anew:
            _write_between("TEACHING.md", "slow-cells", slow_cells(took))
    return complete


# --- command line -------------------------------------------------------------------------------------


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.record", description="Execute notebooks.")
    add = parser.add_argument
    add("notebooks", nargs="*", type=Path, help="default: all in notebooks/")
    add("--no-evidence", action="store_true", help="do not write this machine's evidence")
    add("--to", type=Path, metavar="FOLDER", help="execute copies, which go there with journal and traces")
    add("--table", action="store_true", help="only write README's table from the evidence")
    options = parser.parse_args()
    try:
        if options.table:
            write_table()
            return 0
        paths = [path.resolve() for path in options.notebooks or lessons().values()]
        if missing := [str(path) for path in paths if not path.is_file()]:
            parser.error(f"no such notebook: {', '.join(missing)}")
        if options.to:
            complete = record_copies(paths, options.to.resolve())
        else:
            complete = record(paths, evidence=not options.no_evidence)
        return 0 if complete else 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
