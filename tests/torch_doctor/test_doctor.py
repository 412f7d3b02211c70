"""The doctor itself: it never hangs, starts no CUDA, writes nothing, tells no names, and speaks both languages."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_machines import Machine
from made_up_evidence import healthy
from sample import sample

from course_utils import run_fresh
from torch_doctor import doctor
from torch_doctor.diagnosis import QUESTIONS, cuda_tables, run_probes, this_process
from torch_doctor.diagnosis.causes import catalogue
from torch_doctor.diagnosis.diagnose import CUDA_RULES, diagnose
from torch_doctor.diagnosis.evidence import PROBES
from torch_doctor.diagnosis.report import Report
from torch_doctor.diagnosis.rules import answers

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")
TABLES = {"cuda": CUDA_RULES, **answers.RULES}
PRODUCED = {"healthy", "unknown", "no-answers", "program-hides", "slow-program", "slow-not-measured", "slow-cpu", "slow-accelerator",
            "hang-program", "hang-not-tried", "hang-job-error", "hang-not-finished", "restart-if", "some-hidden", "weak-check", "slow-smi", "mig-one", "container-toolkit"}  # fmt: skip


@pytest.fixture(scope="module")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Run ``torch_doctor hang --json`` once, from a copy of the package (other tests write compiled files) with an empty home.

    Returned are its `status`, what it printed (`out`) and found (`evidence`), the `modules` in its process at the end, and
    the files that it has `written`.
    """
    folder = tmp_path_factory.mktemp("real")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "torch_doctor", folder / "package/torch_doctor", ignore=ignored)
    for name in ("home", "tmp", "here"):
        (folder / name).mkdir()
    before = set(folder.rglob("*"))
    code = (
        "import sys; from torch_doctor.__main__ import main; status = main(['hang', '--json', '--patience', '6'])\n"
        "print(*sys.modules, file=sys.stderr); sys.exit(status)"
    )
    left_out = ("COURSE_DATA_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        environment |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
                        "PYTHONPATH": str(folder / "package"), "MASTER_PORT": str(busy.getsockname()[1])}  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder / "here", env=environment,
            capture_output=True, text=True, encoding="utf-8", timeout=400,
        )  # fmt: skip
    written = {path for path in set(folder.rglob("*")) - before if path.is_file()}
    return SimpleNamespace(status=done.returncode, out=done.stdout, evidence=json.loads(done.stdout)["evidence"],
                           modules=done.stderr.split(), written=written)  # fmt: skip


# --- texts and commands ---------------------------------------------------------------------------------


def test_words_and_rules_belong_together() -> None:
    ruled = [name for table in TABLES.values() for name in table]
    assert len(ruled) == len(set(ruled))
    assert set(ruled) | PRODUCED == set(catalogue())


# --- tables that age ----------------------------------------------------------------------------------


def test_the_table_of_wheels_is_that_of_torch() -> None:
    import torch

    table = getattr(torch.cuda, "PYTORCH_RELEASES_CODE_CC", None)
    if torch.__version__ < "2.13":
        pytest.skip("the table is that of torch 2.13 to 2.15")
    own = {one: {arch: sorted(codes) for arch, codes in by.items()} for one, by in table.items()}
    # a later release may have other builds, but not these with other code
    both = own.keys() & cuda_tables.WHEELS
    assert len(both) >= 3 and all(own[one] == cuda_tables.WHEELS[one] for one in both)


def test_the_rule_of_architectures_is_torchs_own() -> None:
    import torch

    rule = getattr(torch.cuda, "_code_compatible_with_device", None)
    if rule is None or not hasattr(torch.cuda, "DEVICE_REQUIREMENT"):
        pytest.skip("this release has no such rule")
    devices = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121}
    # From 2.14.1 on, builds for CUDA 13 serve some Jetsons, too; the probe asks torch's own rule.
    release = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:3])
    devices -= {72, 87, 101} if release >= (2, 14, 1) else set()
    differ = [
        (c, d) for c in torch.cuda.DEVICE_REQUIREMENT for d in devices if rule(d, c) != cuda_tables.runs(c, d)
    ]
    assert not differ


def test_intermediate_code_serves_newer_gpus() -> None:
    assert cuda_tables.has_code_for(120, ["sm_80", "compute_90"])
    assert not cuda_tables.has_code_for(70, ["sm_80", "compute_90"])


# --- diagnosing ---------------------------------------------------------------------------------------


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(ValueError, match="cuda, slow, hang"):
        doctor("why")
    with pytest.raises(ValueError, match="positive"):
        doctor(patience=0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_whatever_is_missing_there_is_an_answer(question: str) -> None:
    """Probes are cut off in the middle. No gap in the evidence may break the doctor, or make it claim health."""
    whole = healthy()
    assert diagnose(whole, question).verdicts
    assert diagnose({}, question).kind == "unknown"
    for probe in PROBES:
        for ended in ("slow", "stuck", "failed", "absent"):
            gone = {**whole, probe: {"ended": ended, "seconds": 6.0}}
            found = diagnose(gone, question)
            assert Report(found).text("en") and Report(found).html()
            if probe in ("pytorch", "usable"):
                assert found.first.cause.name != "healthy"
        for key in whole.get(probe, {}):
            found = diagnose({**whole, probe: {k: v for k, v in whole[probe].items() if k != key}}, question)
            assert found.verdicts and Report(found).text("en")


def test_when_nobody_answers_the_machine_is_blamed_not_the_gpu() -> None:
    silent = {probe: {"ended": "slow", "seconds": 6.0} for probe in PROBES if probe != "caller"}
    assert diagnose(silent).first.cause.name == "no-answers"


# --- never hangs --------------------------------------------------------------------------------------


@LINUX
@pytest.mark.parametrize(
    "question, patience",
    sample([("hang", 0.3), ("cuda", 0.3), ("slow", 0.3), ("hang", 1.0)], ["('hang', 0.3)"]),
)
def test_it_ends_within_ten_seconds_when_every_probe_hangs(
    machine: Machine, question: str, patience: float
) -> None:
    machine.package("sitecustomize.py", "import time\ntime.sleep(300)\n")  # every Python hangs as it starts
    machine.command("nvidia-smi", "trap '' TERM INT\n/bin/sleep 300").set(CUDA_VISIBLE_DEVICES="0")
    start = time.monotonic()
    found = machine.diagnosis(question, patience)
    # Side by side: one after the other, the limits add up to 70 * patience. The rest is for a busy machine.
    assert time.monotonic() - start < 10 * patience + 8
    asked = {name: told["ended"] for name, told in found.evidence.found.items() if name != "caller"}
    assert set(asked.values()) == {"slow"} and len(asked) >= 7
    verdict = {one.cause.name for one in found.verdicts}
    assert verdict & {"no-answers", "hang-not-tried"} and found.kind == "unknown"


@LINUX
def test_nothing_is_left_running(machine: Machine) -> None:
    machine.package("sitecustomize.py", "import time\ntime.sleep(300)\n")
    machine.command("nvidia-smi", "/bin/sleep 300").set(COURSE_TEST_MARK=str(machine.folder))
    machine.diagnosis("hang", patience=0.1)
    mark, end = f"COURSE_TEST_MARK={machine.folder}".encode(), time.monotonic() + 60
    while left := marked(mark):  # a killed process is gone a moment later
        assert time.monotonic() < end, left
        time.sleep(0.05)


def marked(mark: bytes) -> list[bytes]:
    """Return the command lines of the processes with `mark` in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes() and "Z (" not in (folder / "stat").read_text():
                found.append((folder / "cmdline").read_bytes())
        except OSError:
            continue
    return [one for one in found if one]


@LINUX
def test_a_process_that_cannot_be_stopped_is_left_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a process that waits in the kernel: the signal arrives, and nothing happens."""
    machine.command("nvidia-smi", "exec /bin/sleep 300")
    kill = os.killpg
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    asked = run_probes.start_smi(machine.environment, 0.2)
    start = time.monotonic()
    while not asked.poll():
        time.sleep(0.01)
    assert time.monotonic() - start < 60, "nvidia-smi sleeps for 300 seconds"
    assert asked.ended == "stuck"
    assert asked.process is not None
    kill(asked.process.pid, 9)
    found = healthy(smi=run_probes.smi_found(asked), driver={"ended": "slow", "seconds": 6.0}, usable={})
    found["pytorch"] |= {"available": False, "count": 0}
    assert diagnose(found).first.cause.name == "hangs"
    assert any("stuck" in line.fact for line in diagnose(found).first.lines)


def asked(probe: Path) -> run_probes.Running:
    """Let a fresh Python run `probe`."""
    return run_probes.Running([sys.executable, "-c", run_probes._BOOT, str(probe), "/", "90"], os.environ, 60)


def answer(running: run_probes.Running) -> dict[str, Any]:
    """Wait for its end, and return what it found."""
    while not running.poll():
        time.sleep(0.01)
    return running.found()


def test_what_was_said_before_the_time_was_over_counts(tmp_path: Path) -> None:
    probe = tmp_path / "half.py"
    probe.write_text(
        "def probe(root, emit):\n    print('chatter')\n    emit(a=1)\n    import time; time.sleep(80)\n"
    )
    running = asked(probe)
    while not running.poll():
        running._limit = 60 if len(running.out) < 2 else 0  # over as soon as it has said everything
        time.sleep(0.01)
    assert running.found() | {"seconds": 0} == {"a": 1, "ended": "slow", "seconds": 0}


def test_a_probe_whose_parent_died_ends_by_itself(tmp_path: Path) -> None:
    probe = tmp_path / "loop.py"
    probe.write_text("def probe(root, emit):\n    while True: pass\n")
    done = subprocess.run(
        [sys.executable, "-c", run_probes._BOOT, str(probe), "/", "0.5"], capture_output=True, timeout=100
    )
    assert done.returncode != 0


def test_a_probe_that_fails_says_why(tmp_path: Path) -> None:
    probe = tmp_path / "bad.py"
    probe.write_text("def probe(root, emit):\n    emit(a=1)\n    1 / 0\n")
    found = answer(asked(probe))
    assert (found["a"], found["ended"]) == (1, "failed") and "ZeroDivisionError" in found["exit"]


def test_no_more_time_is_given_than_promised() -> None:
    assert run_probes.TOTAL + run_probes.AFTER_KILL < 10
    assert max(limit for name, limit in run_probes.LIMITS.items() if name != "speed") < run_probes.TOTAL
    assert run_probes.LIMITS["speed"] >= 10 and run_probes.MEASURED <= 21, "torch and CUDA start a third time"
    assert set(run_probes.LIMITS) == set(PROBES) - {"caller"}


# --- the process that asks ----------------------------------------------------------------------------


def test_the_process_that_asks_imports_no_torch(real_run: SimpleNamespace) -> None:
    assert "torch_doctor.diagnosis.report" in real_run.modules
    assert not {"torch", "IPython", "matplotlib", "psutil", "numpy"} & set(real_run.modules)


def test_importing_the_package_imports_next_to_nothing() -> None:
    loaded = run_fresh(
        "import sys; before = set(sys.modules); import torch_doctor; print(*set(sys.modules) - before)"
    )
    assert {name.split(".")[0] for name in loaded.split()} - sys.stdlib_module_names == {"torch_doctor"}
    assert not {"argparse", "html", "json", "subprocess", "tomllib"} & set(loaded.split())


def test_the_callers_state_is_read_without_initializing_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def never(*_: object) -> None:
        raise AssertionError("CUDA was asked")

    for name in ("init", "synchronize", "device_count", "is_available"):
        monkeypatch.setattr(torch.cuda, name, never)
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", never, raising=False)
    monkeypatch.setattr(torch, "get_default_dtype", lambda: torch.float64)
    found = this_process.state()
    assert "error" not in found and "count" not in found
    assert (found["initialized"], found["cuda_asked"], found["default_dtype"]) == (False, False, "float64")


@LINUX
def test_a_started_driver_is_known_by_its_open_files(tmp_path: Path) -> None:
    assert not this_process.driver_started(str(tmp_path)) and not this_process.driver_started("/none")
    (tmp_path / "3").symlink_to("/dev/nvidiactl")  # NVML opens this one too
    assert not this_process.driver_started(str(tmp_path))
    (tmp_path / "4").symlink_to("/dev/nvidia-uvm")
    assert this_process.driver_started(str(tmp_path))


@LINUX
def test_a_variable_that_was_changed_later_is_noticed() -> None:
    code = "import os; from torch_doctor.diagnosis.this_process import state; os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
    code += "found = state(); print(found['visible_at_start'], found['visible_now'])"
    assert run_fresh(code, CUDA_VISIBLE_DEVICES="0") == "0 1"


def test_an_error_that_cuda_keeps_is_reported_and_waiting_is_limited() -> None:
    def broken() -> None:
        raise RuntimeError("CUDA error: device-side assert triggered\nmore")

    torch, for_ever = SimpleNamespace(cuda=SimpleNamespace(synchronize=broken)), threading.Event()
    assert this_process._last_error(torch) == "RuntimeError: CUDA error: device-side assert triggered"
    torch.cuda.synchronize = lambda: for_ever.wait(300)
    start = time.monotonic()
    try:
        assert this_process._last_error(torch) == "" and time.monotonic() - start < 60
    finally:
        for_ever.set()


def test_nothing_is_written(real_run: SimpleNamespace) -> None:
    # Python itself keeps what it compiled of the command line.
    assert real_run.written and {path.parent.name for path in real_run.written} == {"__pycache__"}


def test_probes_leave_no_compiled_files(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Mapping[str, str]] = {}
    start = run_probes.Running

    def note(command: list[str], environment: Mapping[str, str], limit: float) -> run_probes.Running:
        given[" ".join(command[-3:])] = environment
        return start(["no such program"], environment, limit)

    monkeypatch.setattr(run_probes, "Running", note)
    run_probes.run_probes("hang", environment={"HOME": "/home/a", "PYTHONDONTWRITEBYTECODE": ""})
    probes = [environment for command, environment in given.items() if ".py" in command]
    assert len(probes) >= 6, given.keys()
    assert all(one["PYTHONDONTWRITEBYTECODE"] == "1" and one["HOME"] == "/home/a" for one in probes)


@LINUX
def test_it_runs_where_torch_is_missing(machine: Machine) -> None:
    machine.torch(raises=["missing", "No module named 'torch'"]).package(
        "platformdirs.py", "raise ImportError\n"
    )
    environment = {**machine.environment, "PYTHONPATH": f"{machine.environment['PYTHONPATH']}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "torch_doctor"], env=environment, cwd=machine.folder,
        capture_output=True, text=True, encoding="utf-8", timeout=400,
    )  # fmt: skip
    assert done.returncode == 1 and "PyTorch is not installed for this Python." in done.stdout, done.stderr
    assert re.search(
        r"install --upgrade uv\n +\S*python -m uv pip install --torch-backend=\w+ .*torch\n", done.stdout
    )


# --- what the real probes report ----------------------------------------------------------------------


def test_json_is_for_machines_and_mails(real_run: SimpleNamespace) -> None:
    assert real_run.out.isascii()
    data = json.loads(real_run.out)
    assert data["verdicts"] and data["evidence"]["pytorch"]["imported"] is True
    assert data["question"] == "hang" and real_run.status == {"fine": 0, "fault": 1}.get(data["kind"], 3)


def test_the_small_job_runs_here(real_run: SimpleNamespace) -> None:
    """Two real processes: 1 + 100 = 101, on any machine with torch."""
    found = real_run.evidence["job"]
    assert found["ended"] == "answered", found
    assert found["tries"]["gloo"] == {"how": "right", "value": 101.0}
    assert found["port_taken"] is True, "this test listens there"


# --- this machine -------------------------------------------------------------------------------------


def test_this_machine_gets_an_answer(real_run: SimpleNamespace) -> None:
    import torch

    found = diagnose(real_run.evidence)
    assert found.kind == "fine", Report(found).text("en")
    assert (found.first.cause.name == "healthy") == torch.cuda.is_available()
