"""Errors that are provoked on the installed PyTorch must be recognized by what it prints, in a process of its own as a user's."""

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


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_provoked_error_is_recognized(name: str) -> None:
    if name not in POSSIBLE:
        pytest.skip(f"needs {entries()[name].requires}")
    text = provoke.run(POSSIBLE[name], seconds=90)
    match = find_cause(text).match
    assert match and match.entry.name == name, text[-3000:]


def test_enough_is_provoked_without_a_gpu() -> None:
    ran = [name for name, entry in entries().items() if entry.verified == "ran"]
    assert len(ran) >= 74
    assert set(ran) <= set(PROGRAMS)
    assert not CPU_BUILD or len(POSSIBLE) >= 74


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
    assert provoke.run(code, seconds=3) == "started\n"
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
