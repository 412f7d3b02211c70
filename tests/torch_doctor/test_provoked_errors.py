"""Errors that are provoked on the installed PyTorch must be recognized by what it prints.

Each program runs in a fork of one process that has imported PyTorch. Those that start processes run once more as a user
runs them, which imports PyTorch for each process (nightly).
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch

from torch_doctor.errors import provoke
from torch_doctor.errors.catalogue import Entry, entries
from torch_doctor.errors.matching import find_cause

CUDA = torch.cuda.is_available()
GPUS = torch.cuda.device_count() if CUDA else 0
CPU_BUILD = torch.version.cuda is None and torch.version.hip is None


def possible(entry: Entry) -> bool:
    """Return whether this machine can provoke `entry`."""
    if entry.requires == "cpu":
        return True
    if entry.requires == "cpu_build":
        return CPU_BUILD
    return (entry.requires == "cuda" and CUDA) or (entry.requires == "two_gpus" and GPUS >= 2)


def program(entry: Entry) -> str | None:
    return entry.provoke_cuda if CUDA and entry.provoke_cuda else entry.provoke or entry.provoke_alone


PROGRAMS = {name: program(entry) for name, entry in entries().items() if program(entry)}
POSSIBLE = {name: code for name, code in PROGRAMS.items() if possible(entries()[name])}
STARTS = re.compile(r"mp\.spawn|num_workers|subprocess|start_processes|set_start_method")
STARTING = {name: code for name, code in POSSIBLE.items() if STARTS.search(code)}
# Errors of a fresh start or of pickling, and one whose consequence may come first if both ranks start at once.
NOT_FORKED = {"nb-main-attr", "nb-pickle", "main-guard", "torchrun-child", "coll-mismatch"}
FORKED = {name: code for name, code in POSSIBLE.items() if hasattr(os, "fork") and name not in NOT_FORKED}


@pytest.fixture(scope="module")
def printed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run the forked programs of the tests that were asked for, and return what each one printed."""
    folder = tmp_path_factory.mktemp("provoked")
    asked = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    programs = {name: code for name, code in FORKED.items() if name in asked}
    (folder / "programs.json").write_text(json.dumps(programs), encoding="utf-8")
    script = Path(__file__).with_name("fork_programs.py")
    subprocess.run(
        [sys.executable, script, "programs.json", "outputs.json"],
        cwd=folder, env=provoke.environment(), check=True, timeout=900,
    )  # fmt: skip
    return json.loads((folder / "outputs.json").read_text(encoding="utf-8"))


def recognized(text: str) -> str | None:
    match = find_cause(text).match
    return match.entry.name if match else None


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_provoked_error_is_recognized(name: str, printed: dict[str, str]) -> None:
    if name not in POSSIBLE:
        pytest.skip(f"needs {entries()[name].requires}")
    if name not in FORKED:
        pytest.skip("needs a fresh process: nightly")
    assert recognized(printed[name]) == name, printed[name][-3000:]


@pytest.mark.nightly
@pytest.mark.parametrize("name", STARTING if FORKED else POSSIBLE)
def test_an_error_of_several_processes_is_recognized_as_a_user_sees_it(name: str) -> None:
    text = provoke.run(POSSIBLE[name], seconds=90)
    assert recognized(text) == name, text[-3000:]


def test_enough_is_provoked_without_a_gpu() -> None:
    ran = [name for name, entry in entries().items() if entry.verified == "ran"]
    assert len(ran) >= 74
    assert set(ran) <= set(PROGRAMS)
    if CPU_BUILD and FORKED:
        assert len(FORKED) >= 69


# --- the runner ---------------------------------------------------------------------------------------


def running(pid: int) -> bool:
    """Return whether a process still runs. A killed one may remain as a zombie until its new parent reaps it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_program_that_never_ends_is_killed_with_everything_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    start = time.monotonic()
    assert provoke.run(code, seconds=6) == "started\n"
    assert time.monotonic() - start < 90, "not the ten minutes that it would take"
    end = time.monotonic() + 60
    while any(map(running, map(int, mark.read_text().split()))):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_others_have_set_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert (
        provoke.run("import os; print(os.environ.get('RANK'), os.environ['OMP_NUM_THREADS'])") == "None 1\n"
    )


def test_a_program_runs_in_a_folder_that_goes_away() -> None:
    code = "import os, tempfile; open('x', 'w'); print(os.getcwd(), tempfile.mkdtemp(), sep='\\n')"
    places = [Path(place) for place in provoke.run(code).splitlines()]
    assert len(places) == 2 and Path.cwd() not in places
    assert not any(place.exists() for place in places)


def test_what_this_machine_cannot_provoke_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert provoke.provoke("nccl-watchdog") is None
    assert provoke.provoke("device-assert") is None
    with pytest.raises(ValueError, match="no such entry"):
        provoke.provoke("nothing")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert provoke.program(entries()["device-assert"], cuda=True)
    assert provoke.program(entries()["dev-mismatch"], cuda=True) == entries()["dev-mismatch"].provoke_cuda
    assert provoke.program(entries()["no-cuda-build"], cuda=True) is None
