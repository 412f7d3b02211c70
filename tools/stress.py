"""Measure every claim of the lessons again and again on a busy machine, and with a slow-down planted in it.

``python -m tools.stress --runs 50 --load 2`` runs the lessons' code cells and, where one states a claim, judges fresh
measurements of it 50 times while two other processes keep the processor busy. None of these may say "does not hold".
Then the side that is claimed to be faster is given real extra work, so that the claim is false, and each of 50
measurements must say so. The exit status is 0 only if both are so.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"

# It ends with the process that started it, however that ends: then its standard input is closed.
BUSY = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
if sys.argv[1] == "copy":
    source, target = bytearray(2**25), bytearray(2**25)
    while True:
        target[:] = source
while True:
    pass
"""


@contextlib.contextmanager
def busy(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep `count` processes busy: they compute and take memory bandwidth in turns."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(count):
            command = [sys.executable, "-c", BUSY, "copy" if number % 2 else "spin"]
            running.append(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))
        yield running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


@dataclass
class Planted:
    """Counts of measurements in which one side had to do `times` as much work."""

    side: str
    times: int
    true_ratio: float
    caught: int = 0
    unclear: int = 0
    missed: int = 0


@dataclass
class Row:
    """The counts of one claim."""

    id: str
    bound: str
    kind: str  # comparison, number, fact, or what is lacking
    holds: int = 0
    unclear: int = 0
    fails: int = 0
    retried: int = 0  # how often the first measurement alone did not decide
    lowest: float = math.inf
    highest: float = -math.inf
    planted: list[Planted] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the claim never failed and no planted slow-down got through."""
        return not self.fails and all(not p.missed and not p.unclear for p in self.planted)


def repeated(action: Callable[[], Any], times: int) -> Callable[[], None]:
    """Return an action that does the work of `action` so many times."""

    def several() -> None:
        for _ in range(times):
            action()

    return several


class Collector:
    """Replaces ``claim`` while the lessons' cells run.

    A claim is measured here and now, not later: its callables use the notebook's variables, and later cells give
    these other values.
    """

    def __init__(self, runs: int, margin: float, budget: float, only: list[str], out: TextIO) -> None:
        self.runs, self.margin, self.budget, self.only, self.out = runs, margin, budget, only, out
        self.rows: list[Row] = []

    def __call__(
        self,
        id: str,  # noqa: A002  (as in course_utils.claim)
        value: Any,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        needs: str | None = None,
    ) -> None:
        """Measure the claim many times, as it is and with planted slow-downs."""
        from course_utils.measure import Comparison
        from course_utils.needs import missing

        if self.only and id not in self.only:
            return
        bounds = {"at_least": at_least, "at_most": at_most}
        bound = " ".join(
            f"{'>=' if name == 'at_least' else '<='}{b:g}" for name, b in bounds.items() if b is not None
        )
        lacking = missing(needs)
        if lacking is not None:
            row = Row(id, bound, f"needs {lacking.en}")
            self.rows.append(row)
            print(line(row), file=self.out, flush=True)
            return
        start = time.monotonic()
        first = value() if callable(value) else value
        if isinstance(first, Comparison):
            row = Row(id, bound, "comparison")
            self.judge_often(row, lambda: first.again(first.pairs), bounds)
            self.plant(row, first, bounds)
        else:
            row = Row(id, bound, "fact" if isinstance(first, bool) else "number")
            again = value if callable(value) else lambda: first
            self.judge_often(row, again, bounds, runs=self.runs if callable(value) else 1)
        row.seconds = time.monotonic() - start
        self.rows.append(row)
        print(line(row), file=self.out, flush=True)

    def judge_often(
        self, row: Row, measure: Callable[[], Any], bounds: dict[str, float | None], runs: int | None = None
    ) -> None:
        """Judge fresh measurements and count the verdicts."""
        from course_utils.claims import judge
        from course_utils.measure import Comparison

        for _ in self.rounds(runs or self.runs):
            value = measure()
            verdict = judge(value, **bounds)
            setattr(row, verdict.verdict, getattr(row, verdict.verdict) + 1)
            if isinstance(value, Comparison):
                row.retried += verdict.value != value.ratio
            if not isinstance(verdict.value, bool) and verdict.value is not None:
                row.lowest, row.highest = min(row.lowest, verdict.value), max(row.highest, verdict.value)

    def plant(self, row: Row, first: Any, bounds: dict[str, float | None]) -> None:
        """Give the side that is claimed to be faster more work, until the claim is false by the margin."""
        from course_utils.claims import judge
        from course_utils.measure import compare

        low, high = bounds["at_least"], bounds["at_most"]
        plans = []
        if low is not None:  # a takes long enough, that is: b is fast
            plans.append(Planted("b", math.ceil(first.ratio * self.margin / low), 0.0))
        if high is not None:  # a does not take too long
            plans.append(Planted("a", math.ceil(high * self.margin / first.ratio), 0.0))
        for planted in plans:
            planted.true_ratio = first.ratio * planted.times ** (1 if planted.side == "a" else -1)
            a = repeated(first.a, planted.times) if planted.side == "a" else first.a
            b = repeated(first.b, planted.times) if planted.side == "b" else first.b
            for _ in self.rounds(self.runs):
                slowed = compare(a, b, pairs=first.pairs, threads=first.threads)
                verdict = judge(slowed, **bounds).verdict
                planted.caught += verdict == "fails"
                planted.unclear += verdict == "unclear"
                planted.missed += verdict == "holds"
            row.planted.append(planted)

    def rounds(self, runs: int) -> Iterator[int]:
        """Count to `runs`; stop earlier (but not before 3) when the time for one series is spent."""
        end = time.monotonic() + self.budget
        for number in range(runs):
            if number >= 3 and time.monotonic() > end:
                return
            yield number


# --- running the lessons ------------------------------------------------------------------------------


class CellFailed(Exception):
    """A cell of a lesson failed, so the claims after it cannot be measured."""


def run_lessons(paths: list[Path], collect: Collector) -> None:
    """Execute the code cells of the notebooks in this process, with `collect` instead of ``claim``.

    Raises:
        CellFailed: A cell raised.
    """
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    import course_utils
    from course_utils import claims

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    real = claims.claim
    claims.claim = course_utils.claim = collect  # type: ignore[assignment]
    folder = Path.cwd()
    try:
        for path in paths:
            shell.reset(new_session=True)
            os.chdir(path.parent)  # as in Jupyter, where the rooms beside the notebook can be imported
            sys.path.append(str(path.parent))
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] != "code":
                    continue
                shown = io.StringIO()
                with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                    result = shell.run_cell("".join(cell["source"]))
                if not result.success:
                    error = result.error_in_exec or result.error_before_exec
                    raise CellFailed(f"{path.name}, cell {cell.get('id')}: {type(error).__name__}: {error}")
    finally:
        os.chdir(folder)
        claims.claim = course_utils.claim = real


# --- report -------------------------------------------------------------------------------------------

HEAD = f"{'claim':14} {'bound':12} {'holds':>5} {'unclear':>7} {'fails':>5} {'retried':>7} {'ratio':>17}  planted"


def line(row: Row) -> str:
    """Return one line of the table."""
    if row.kind not in ("comparison", "number", "fact"):
        return f"{row.id:14} {row.bound:12} {row.kind}"
    span = f"{row.lowest:.3g} .. {row.highest:.3g}" if row.highest >= row.lowest else row.kind
    planted = "; ".join(
        f"{p.times} x {p.side} (ratio {p.true_ratio:.3g}): caught {p.caught} of {p.caught + p.unclear + p.missed}"
        + (f", unclear {p.unclear}, MISSED {p.missed}" if p.unclear or p.missed else "")
        for p in row.planted
    )
    counts = f"{row.holds:5} {row.unclear:7} {row.fails:5} {row.retried:7}"
    return f"{row.id:14} {row.bound:12} {counts} {span:>17}  {planted}"


def total(rows: list[Row]) -> str:
    """Return the last line: what the whole run proves."""
    judged = [row for row in rows if row.kind == "comparison"]
    runs = sum(row.holds + row.unclear + row.fails for row in judged)
    planted = [p for row in judged for p in row.planted]
    tried = sum(p.caught + p.unclear + p.missed for p in planted)
    return (
        f"{len(judged)} measured claims, {runs} runs: {sum(r.holds for r in judged)} hold, "
        f'{sum(r.unclear for r in judged)} unclear, {sum(r.fails for r in judged)} false "does not hold"; '
        f"{sum(p.caught for p in planted)} of {tried} planted slow-downs caught"
    )


def proven(rows: list[Row]) -> bool:
    """Return whether something was measured, and all of it came out as it should."""
    return any(row.holds for row in rows) and all(row.good for row in rows)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.stress", description="Measure claims on a busy machine."
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all in notebooks/")
    parser.add_argument(
        "--runs", type=int, default=50, help="how often each claim is judged (default: %(default)s)"
    )
    parser.add_argument("--load", type=int, default=2, help="how many busy processes (default: %(default)s)")
    parser.add_argument(
        "--margin", type=float, default=2.0, help="a planted claim is false by this factor (%(default)s)"
    )
    parser.add_argument(
        "--budget", type=float, default=60.0, help="seconds for one series of runs (%(default)s)"
    )
    parser.add_argument("--only", nargs="*", default=[], metavar="CLAIM", help="only these claims")
    parser.add_argument("--out", type=Path, help="write the counts to this file as JSON")
    options = parser.parse_args()
    paths = [path.resolve() for path in options.notebooks] or sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    if not paths or not all(path.is_file() for path in paths) or options.runs < 1 or options.margin <= 1:
        parser.error("give notebooks that exist, at least one run, and a margin above 1")
    start = time.monotonic()
    collect = Collector(options.runs, options.margin, options.budget, options.only, sys.stdout)
    with tempfile.TemporaryDirectory(prefix="course-stress-") as scratch:
        os.environ |= {"COURSE_DATA_DIR": f"{scratch}/data", "IPYTHONDIR": f"{scratch}/ipython"}
        print(HEAD, flush=True)
        try:
            with busy(options.load):
                run_lessons(paths, collect)
        except CellFailed as error:
            print(error, file=sys.stderr)
            return 2
    print(f"{total(collect.rows)}; {time.monotonic() - start:.0f} s with {options.load} busy processes")
    if options.out:
        from course_utils.machine import machine_facts

        report = {
            "machine": machine_facts(),
            "options": {"runs": options.runs, "load": options.load, "margin": options.margin},
            "claims": [asdict(row) | {"good": row.good} for row in collect.rows],
        }
        options.out.write_text(json.dumps(report, indent=1, default=str) + "\n", encoding="utf-8")
    return 0 if proven(collect.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
