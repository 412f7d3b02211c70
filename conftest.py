"""Strict nbval for every notebook, and a summary that shows what was really compared.

Plain ``python -m pytest`` is enough: the options below are set here, so that no command line and no
configuration file can forget one of them.
"""

import gc
import os
import shutil
import tempfile
import time
from pathlib import Path
from queue import Empty
from types import MethodType
from unittest.mock import patch

import pytest
from nbval import plugin as nbval_plugin
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from tools import claim_summary
from tools.notebook_file import without_clocks
from tools.written import own_environment, workplace

pytest_plugins = ["tools.cpu_seconds", "tools.scheduling"]

ROOT = Path(__file__).parent
CELL_TIMEOUT = 300.0  # nbval's own default is 2000 seconds
OUTPUT_TIMEOUT = 30.0  # nbval's own default of 5 seconds is short for a busy machine
SUMMARY = "course-notebook-summary"
SCRATCH = pytest.StashKey[Path]()  # one folder per run, removed at its end
HEARTBEAT = 1.0  # how often a waiting test looks whether its kernel still lives


# --- options and environment --------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.has_plugin(SUMMARY):  # loaded twice, for example with `-p conftest`
        return
    option = config.option
    sanitize = ROOT / "tests" / "sanitize.cfg"
    given = option.nbval_sanitize_with
    if given is not None and sanitize not in (Path(given).resolve(), (ROOT / given).resolve()):
        raise pytest.UsageError(
            f"--nbval-sanitize-with is {given}, but this course has one sanitize file, tests/sanitize.cfg."
            " Leave the option out."
        )
    if option.nbval_lax:
        raise pytest.UsageError("--nbval-lax compares nothing here. Leave the option out.")
    option.nbval = True
    option.nbval_current_env = True
    option.nbval_sanitize_with = str(sanitize)
    if option.nbval_cell_timeout == 2000:
        option.nbval_cell_timeout = CELL_TIMEOUT

    # Tests must neither read nor write the progress and language of the person who runs them.
    config.stash[SCRATCH] = Path(tempfile.mkdtemp(prefix="course-tests-"))
    os.environ["COURSE_DATA_DIR"] = str(config.stash[SCRATCH] / "session")
    config.pluginmanager.register(NotebookSummary(config), SUMMARY)


def pytest_collection_finish() -> None:
    """Leave what was imported to the end: the garbage collector looked through it again and again."""
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    if SCRATCH in config.stash:
        shutil.rmtree(config.stash[SCRATCH], ignore_errors=True)


def journal(scratch: Path) -> Path:
    """Return where a notebook's claims are noted: in its scratch folder, or where ``COURSE_JOURNALS`` keeps them."""
    return Path(os.environ.get("COURSE_JOURNALS", scratch)) / f"{scratch.name}.jsonl"


# --- kernels ------------------------------------------------------------------------------------------


class WatchedKernel(RunningKernel):
    """nbval's kernel, but it behaves as in JupyterLab, and waiting for a dead one ends at once."""

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = HEARTBEAT if deadline is None else min(HEARTBEAT, deadline - time.monotonic())
            try:
                return super().get_message(stream, timeout=max(left, 0))
            except Empty:
                if not self.is_alive():
                    raise KernelDied from None
                if deadline is not None and time.monotonic() >= deadline:
                    raise

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        # With history, unlike nbval's own: only then does Out fill up (and keep memory alive) as in JupyterLab.
        return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


class KernelDied(Exception):
    """The kernel's process ended while a cell was running."""


def set_up_notebook(self: IPyNbFile) -> None:
    """Start the kernel in an environment of its own: no progress yet, and no scripts of a learner in `mine/`."""
    scratch = self.config.stash[SCRATCH] / self.path.stem
    scratch.mkdir(parents=True, exist_ok=True)
    changed = own_environment(journal(scratch), scratch) | {"COURSE_STRICT": "1"}
    place = str(workplace(self.path.parent, scratch))
    # ipykernel does not capture the output of subprocesses while it sees this variable; students' does.
    with (
        patch.dict(os.environ, changed),
        patch.object(
            nbval_plugin, "RunningKernel", lambda name, **rest: WatchedKernel(name, **rest | {"cwd": place})
        ),
    ):
        os.environ.pop("PYTEST_CURRENT_TEST", None)
        IPyNbFile.setup(self)


# --- rules for cells ----------------------------------------------------------------------------------


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    prepared = set()
    for item in items:
        if not isinstance(item, IPyNbCell):
            continue
        if item.parent not in prepared:
            prepared.add(item.parent)
            item.parent.setup = MethodType(set_up_notebook, item.parent)
        item.output_timeout = OUTPUT_TIMEOUT
        item.compare_outputs = MethodType(compare_outputs, item)
        item.user_properties.append(("course_cell", describe(item)))
        item.options["skip"] = False  # a forbidden skip must not also hide the cell


def compare_outputs(self: IPyNbCell, found: list, stored: list, *skip: object) -> bool:
    """Return whether the outputs are the stored ones; the clocks of launches do not count."""
    return IPyNbCell.compare_outputs(self, without_clocks(found), without_clocks(stored), *skip)


def describe(item: IPyNbCell) -> dict[str, object]:
    """Return what the summary needs to know about a cell; plain data, so that it also travels with xdist."""
    cell, parent = item.cell, item.parent
    outputs = without_clocks(cell.outputs)
    exempt = not item.options["check"]
    comparable = any(
        key not in parent.skip_compare
        for output in outputs
        for key in [*output.get("data", {}), *(k for k in output if k in ("text", "ename", "evalue"))]
    )
    inside = parent.path.is_relative_to(ROOT)
    return {
        "notebook": parent.path.relative_to(ROOT).as_posix() if inside else parent.path.name,
        "path": str(parent.path),
        "cells": sum(c.cell_type == "code" for c in parent.nb.cells),
        "exempt": exempt,
        "comparable": comparable,
        "silent": not outputs,
    }


def why_forbidden(cell) -> str | None:
    """Return why a cell may not be in a verified notebook, or None."""
    tags = cell.metadata.get("tags", [])
    markers = dict(nbval_plugin.find_comment_markers(cell.source))
    if markers:
        return "NBVAL_ comments are not used here. Use the cell's tags and metadata.course.exempt."
    if "nbval-skip" in tags:
        return "The tag nbval-skip is forbidden: every cell runs. Remove it."
    if cell.execution_count is None:
        return "This cell was never executed, so nothing was compared. Run: python -m tools.record"
    if "nbval-ignore-output" in tags and not str(cell.metadata.get("course", {}).get("exempt", "")).strip():
        return "The tag nbval-ignore-output needs a reason in metadata.course.exempt."
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    if not isinstance(item, IPyNbCell):
        return (yield)
    try:
        result = yield
    except KernelDied:
        raise NbCellError(item.cell_num, "The kernel died in this cell.", item.cell.source) from None
    except NbCellError as error:
        text = unexpected_text(item)
        if not text:
            raise
        raise NbCellError(
            item.cell_num, f"{error}\n{text}", item.cell.source, error.inner_traceback
        ) from None
    finally:
        cell = dict(item.user_properties)["course_cell"]
        cell["executed"] = item.test_outputs is not None  # stays None when no kernel answered
        cell["compared"] = cell["comparable"] and hasattr(item, "comparison_traceback")
        # Of all cells so far: the summary takes a claim's last verdict.
        cell["claims"] = claim_summary.verdicts(journal(item.config.stash[SCRATCH] / item.parent.path.stem))
    reason = why_forbidden(item.cell)
    if reason:
        raise NbCellError(item.cell_num, reason, item.cell.source)
    return result


def unexpected_text(item: IPyNbCell) -> str:
    """Return what a cell printed on a stream on which the stored notebook has nothing; nbval only names the field."""
    stored = {output.name for output in item.cell.outputs if output.output_type == "stream"}
    return "".join(
        f"On {output.name} came:\n{output.text}\n"
        for output in item.test_outputs or []
        if output.output_type == "stream" and output.name not in stored
    )


# --- summary ------------------------------------------------------------------------------------------


class NotebookSummary:
    """Counts what was executed and compared per notebook, and fails a run that proved nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: dict[str, dict[str, float]] = {}
        self.paths: dict[str, Path] = {}
        self.claims = claim_summary.Summary()
        self.problems: list[str] = []
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.lines += [line for name, line in report.user_properties if name == "course_line"]
        cell = dict(report.user_properties).get("course_cell")
        if cell is None:
            return
        row = self.rows.setdefault(cell["notebook"], dict.fromkeys(COLUMNS, 0) | {"seconds": 0.0})
        row["seconds"] += report.duration
        if report.when != "call":
            return
        row["cells"] = cell["cells"]
        if cell.get("executed"):
            for column in COLUMNS[1:]:
                row[column] += cell[column]
            self.paths[cell["notebook"]] = Path(cell["path"])
            self.claims.add(Path(cell["path"]), cell["claims"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workerinput") or self.config.option.collectonly:
            return
        for name, row in sorted(self.rows.items()):
            if row["executed"] < row["cells"]:
                self.problems.append(f"{name}: {row['cells'] - row['executed']:g} cells never ran")
            if not row["compared"]:
                self.problems.append(f"{name}: nothing was compared")
        if self.paths and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._judge_claims()
        if self.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _judge_claims(self) -> None:
        import torch

        self.claims.gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        self.claims.repeat_unclear(strict="CI" in os.environ)
        rows = self.rows.items()
        self.claims.check(self.paths[name] for name, row in rows if row["executed"] == row["cells"])
        self.problems += self.claims.problems

    def pytest_terminal_summary(self, terminalreporter) -> None:
        write = terminalreporter.write_line
        if self.lines:
            terminalreporter.section("measured")
            for line in self.lines:
                write(line)
        if not self.rows:
            return
        sections = {"notebooks": self._table(), "claims": [*self.claims.table(), *self.claims.remarks]}
        for title, lines in sections.items():
            terminalreporter.section(title)
            for line in lines:
                write(line)
        for problem in self.problems:
            write(f"FAILED {problem}", red=True)
        claim_summary.write_job_summary(sections | {"failed": self.problems})

    def _table(self) -> list[str]:
        """Return the counts of cells per notebook as lines of text."""
        width = max(len(name) for name in [*self.rows, "total"])
        total = {column: sum(row[column] for row in self.rows.values()) for column in [*COLUMNS, "seconds"]}
        lines = [f"{'':{width}}" + "".join(f"{column:>10}" for column in [*COLUMNS, "seconds"])]
        for name, row in [*sorted(self.rows.items()), ("total", total)]:
            counts = "".join(f"{row[column]:>10.0f}" for column in COLUMNS)
            lines.append(f"{name:{width}}{counts}{row['seconds']:>10.1f}")
        return lines


# silent: no output is stored, and none may appear; exempt: the output is not compared, with a reason
COLUMNS = ("cells", "executed", "compared", "silent", "exempt")
