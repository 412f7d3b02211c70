"""Measurements run in the first process, on a core of its own, and nothing else runs there before they are finished."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = """
import os, pathlib, time
import pytest

@pytest.mark.parametrize("number", range(4))
def test_one(number, worker_id):
    time.sleep(0.05)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with open("log", "a") as log:
        print(worker_id, pathlib.Path(__file__).stem, *cores, file=log)
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_measurements_have_the_first_process(processes: int, tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    names = ["test_a", "test_b", "test_c", "test_d", "test_measure", "test_measure_2", "test_z"]
    for name in names:
        (folder / f"{name}.py").write_text(TEST, encoding="utf-8")
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tools.scheduling",
            "-p",
            "no:nbval",
            "-c",
            os.devnull,
            "--rootdir=.",
        ]
        + ["tests", f"--numprocesses={processes}", "--dist=loadfile"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert f"{4 * len(names)} passed" in result.stdout, result.stdout + result.stderr
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    first = [file for worker, file, *_ in log if worker == "gw0"]
    assert first[:8] == ["test_measure"] * 4 + ["test_measure_2"] * 4
    assert {worker for worker, *_ in log} == {f"gw{number}" for number in range(processes)}
    for name in names:
        assert len({worker for worker, file, *_ in log if file == name}) == 1, f"{name} was divided"
    if processes > 1 and hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        cores = {worker: set(cores) for worker, _, *cores in log}
        assert len(cores["gw0"]) == 1
        assert all(not used & cores["gw0"] for worker, used in cores.items() if worker != "gw0")
