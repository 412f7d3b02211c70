"""The errors of the clinic, provoked for real on the installed PyTorch, each in a process of its own, and recognised.

Programs that need nothing of their own are forked from one process that has imported PyTorch already; those that start
processes themselves run alone, a few at a time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import torch

from course_utils.clinic import provoking
from course_utils.clinic.catalogue import Entry, entries
from course_utils.clinic.matching import diagnose

CUDA = torch.cuda.is_available()
GPUS = torch.cuda.device_count() if CUDA else 0
CPU_BUILD = torch.version.cuda is None and torch.version.hip is None
FORKS = hasattr(os, "fork")

# Runs every program of a list in a fork of its own and writes what it printed.
BATCH = """
import json, os, sys, tempfile, time, traceback, warnings
import torch, torch.distributed, torch.utils.data, torch._dynamo, torch._subclasses.fake_tensor
programs, target = json.load(open(sys.argv[1])), sys.argv[2]
found = {}
for name, code in programs.items():
    path = os.path.join(os.path.dirname(target), name + ".txt")
    child = os.fork()
    if child == 0:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        warnings.simplefilter("always")
        status = 0
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    end = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            break
        time.sleep(0.01)
    found[name] = open(path, encoding="utf-8", errors="replace").read()
json.dump(found, open(target, "w"))
"""


def possible(entry: Entry) -> bool:
    if entry.where == "cpu":
        return True
    if entry.where == "cpu_build":
        return CPU_BUILD
    return (entry.where == "cuda" and CUDA) or (entry.where == "two_gpus" and GPUS >= 2)


def chosen(entry: Entry) -> str | None:
    return entry.provoke_cuda if CUDA and entry.provoke_cuda else entry.provoke or entry.provoke_alone


ALL = {name: entry for name, entry in entries().items() if chosen(entry)}
# What starts processes itself imports PyTorch again anyway, and a fork of a fork is not what a learner does.
STARTS = re.compile(r"mp\.spawn|num_workers|subprocess|start_processes|set_start_method")
TOGETHER = {n: chosen(e) for n, e in ALL.items() if possible(e) and FORKS and not STARTS.search(chosen(e))}
# A warning about the number of workers comes before any of them starts.
TOGETHER |= {n: chosen(ALL[n]) for n in ("dl-too-many", "dl-args") if FORKS}
ALONE = {n: chosen(e) for n, e in ALL.items() if possible(e) and n not in TOGETHER}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[str]]]:
    """Start everything at once, a few at a time, and return what each program will have printed."""
    folder = tmp_path_factory.mktemp("provoked")

    def batch() -> dict[str, str]:
        (folder / "programs.json").write_text(json.dumps(TOGETHER), encoding="utf-8")
        (folder / "batch.py").write_text(BATCH, encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if k not in provoking._REMOVED} | provoking._QUIET
        subprocess.run(
            [sys.executable, "batch.py", "programs.json", str(folder / "found.json")],
            cwd=folder, env=environment, check=True, timeout=300,
        )  # fmt: skip
        return json.loads((folder / "found.json").read_text(encoding="utf-8"))

    with ThreadPoolExecutor(3) as pool:
        together = pool.submit(batch)
        alone = {name: pool.submit(provoking.run, code, seconds=90) for name, code in ALONE.items()}
        yield alone | {name: _part(together, name) for name in TOGETHER}


def _part(together: Future[dict[str, str]], name: str) -> Future[str]:
    part: Future[str] = Future()
    together.add_done_callback(
        lambda done: (
            part.set_exception(done.exception()) if done.exception() else part.set_result(done.result()[name])
        )
    )
    return part


@pytest.mark.parametrize("name", ALL)
def test_a_provoked_error_is_recognised_by_its_own_text(name: str, printed: dict[str, Future[str]]) -> None:
    if name not in printed:
        pytest.skip(f"needs {ALL[name].where}")
    text = printed[name].result(timeout=300)
    finding = diagnose(text)
    assert finding.match is not None, text[-3000:]
    assert finding.match.entry.name == name, text[-3000:]


def test_enough_is_provoked_without_a_gpu() -> None:
    ran = [name for name, entry in entries().items() if entry.verified == "ran"]
    assert len(ran) >= 59
    assert set(ran) <= set(ALL)


# --- the runner ---------------------------------------------------------------------------------------


def test_a_program_that_never_ends_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    start = time.monotonic()
    assert provoking.run(code, seconds=3) == "started\n"
    assert time.monotonic() - start < 20
    assert not [pid for pid in map(int, mark.read_text().split()) if psutil.pid_exists(pid)]


def test_what_others_have_set_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert (
        provoking.run("import os; print(os.environ.get('RANK'), os.environ['OMP_NUM_THREADS'])") == "None 1\n"
    )


def test_a_program_runs_in_a_folder_that_goes_away() -> None:
    code = "import os, tempfile; open('x', 'w'); print(os.getcwd(), tempfile.mkdtemp(), sep='\\n')"
    places = [Path(place) for place in provoking.run(code).splitlines()]
    assert len(places) == 2 and Path.cwd() not in places
    assert not any(place.exists() for place in places)


def test_what_this_machine_cannot_provoke_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert provoking.provoke("nccl-watchdog") is None
    assert provoking.provoke("device-assert") is None
    with pytest.raises(ValueError, match="no such entry"):
        provoking.provoke("nothing")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert provoking.program(entries()["device-assert"], cuda=True)
    assert provoking.program(entries()["dev-mismatch"], cuda=True) == entries()["dev-mismatch"].provoke_cuda
    assert provoking.program(entries()["no-cuda-build"], cuda=True) is None
