"""The stress tool on a tiny lesson: it counts true and false claims, and leaves no process behind."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from spinning import spin

from course_utils import compare
from tools.stress import ROOT, Collector, busy, proven, total

WORK = """
import time
from course_utils import claim, compare

def slow():
    end = time.perf_counter() + 380e-6
    while time.perf_counter() < end: pass

def quick():
    end = time.perf_counter() + 100e-6
    while time.perf_counter() < end: pass

def stress():
    return compare(slow, quick, pairs=9)
"""


def lesson(folder: Path, *cells: str) -> Path:
    path = folder / "01_tiny.ipynb"
    sources = [{"cell_type": "markdown", "id": "m", "source": ["# no code"]}]
    sources += [{"cell_type": "code", "id": f"c{n}", "source": [cell]} for n, cell in enumerate(cells)]
    path.write_text(json.dumps({"cells": sources}), encoding="utf-8")
    return path


def run(
    folder: Path, *cells: str, runs: int = 3
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    out = folder / "out.json"
    command = [sys.executable, "-m", "tools.stress", str(lesson(folder, *cells)), "--out", str(out)]
    command += ["--runs", str(runs), "--load", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=400)
    return done, json.loads(out.read_text(encoding="utf-8"))["claims"] if out.exists() else []


@pytest.mark.nightly
def test_true_claims_hold_and_planted_slow_downs_are_caught(tmp_path: Path) -> None:
    done, rows = run(
        tmp_path,
        WORK,
        "claim('a', stress(), at_least=2)\nquick = slow  # later cells change what the names mean",
        "claim('b', compare(lambda: quick(), lambda: slow(), pairs=9), at_least=0.5, at_most=2)",
        "claim('c', True)\nclaim('d', lambda: 3, at_most=4)\nclaim('e', lambda: False, needs='two_gpus')",
    )
    assert rows, done.stdout + done.stderr
    by_id = {row["id"]: row for row in rows}
    assert [by_id[name]["kind"] for name in "abcd"] == ["comparison", "comparison", "fact", "number"]
    assert by_id["e"]["kind"].startswith("needs") or by_id["e"]["fails"] == 3
    # What must be so on any machine, however busy: nothing true is called false, and nothing false is called true.
    # That every slow-down is *caught* needs the full fifty runs; three may be unclear beside other programs.
    assert all(by_id[name]["fails"] == 0 for name in "abcd"), done.stdout
    assert by_id["c"]["holds"] == 1 and by_id["d"]["holds"] == 3
    planted = [*by_id["a"]["planted"], *by_id["b"]["planted"]]
    assert [(p["side"], p["missed"], p["caught"] + p["unclear"]) for p in planted] == [
        ("b", 0, 3),
        ("b", 0, 3),
        ("a", 0, 3),
    ]
    assert by_id["a"]["planted"][0]["times"] == 4
    caught = sum(p["caught"] for p in planted)
    assert f"{caught} of 9 planted slow-downs caught" in done.stdout
    everything = (
        caught == 9 and all(by_id[name]["unclear"] == 0 for name in "abcd") and by_id["e"]["fails"] == 0
    )
    assert done.returncode == (0 if everything else 1), done.stdout


def test_a_false_claim_is_counted() -> None:
    out = io.StringIO()
    collect = Collector(runs=2, margin=2, budget=60, only=[], out=out)
    comparison = compare(spin(4e-4), spin(1e-4), pairs=9)
    collect("a", comparison, at_least=30)
    collect("b", lambda: False)
    row, fact = collect.rows
    assert (row.holds, row.unclear, row.fails, row.retried) == (0, 0, 2, 2) and not row.good
    assert 2 < row.lowest < 8 and fact.fails == 2, "4, but for a busy machine"
    assert '2 false "does not hold"' in total(collect.rows) and not proven(collect.rows)
    assert out.getvalue().count("\n") == 2


def test_a_slow_down_that_is_none_is_missed() -> None:
    """The planted work must break the claim; if it did not, the count would have to say so."""
    collect = Collector(runs=3, margin=0.2, budget=60, only=["a"], out=io.StringIO())
    collect("a", compare(spin(8e-4), spin(1e-4), pairs=9), at_least=2)
    collect("not asked for", True)
    assert [row.id for row in collect.rows] == ["a"]
    assert collect.rows[0].planted[0].missed == 3 and not proven(collect.rows)


def test_busy_processes_are_busy_and_end() -> None:
    with busy(2) as running:
        end = time.monotonic() + 60
        while not all(sum(psutil.Process(p.pid).cpu_times()[:2]) > 0.5 for p in running):
            assert time.monotonic() < end, "no process takes a second half of a second"
            time.sleep(0.05)
        assert len({os.getpgid(p.pid) for p in running} - {os.getpgid(0)}) == 2, "in groups of their own"
    assert all(p.returncode is not None for p in running)
    with pytest.raises(RuntimeError), busy(1) as running:
        raise RuntimeError("on purpose")
    assert running[0].returncode is not None
