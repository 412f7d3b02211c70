"""The doctor itself: it never hangs, starts no CUDA, writes nothing, tells no names, and speaks both languages."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_machines import ARCH, CUDA_BUILD, Machine
from html_nesting import assert_nested
from nbval.plugin import get_sanitize_patterns

from torch_doctor import __main__ as command_line
from torch_doctor import doctor
from torch_doctor.bilingual import plain
from torch_doctor.diagnosis import cuda_tables, privacy, run_probes, this_process
from torch_doctor.diagnosis.causes import Cause, catalogue
from torch_doctor.diagnosis.diagnose import CUDA_RULES, QUESTIONS, diagnose
from torch_doctor.diagnosis.evidence import PROBES, Evidence, Line
from torch_doctor.diagnosis.privacy import clean
from torch_doctor.diagnosis.probes import job
from torch_doctor.diagnosis.report import Report
from torch_doctor.diagnosis.rules import hang, slow
from torch_doctor.terminal import columns

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")
TABLES = {"cuda": CUDA_RULES, "slow": slow.RULES, "hang": hang.RULES}
PRODUCED = {"healthy", "unknown", "no-answers", "slow-nothing", "hang-program", "hang-not-tried",
            "hang-not-finished", "restart-if", "some-hidden", "weak-check", "slow-smi", "mig-one", "container-toolkit"}  # fmt: skip


def healthy(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the evidence of a machine with two GPUs on which everything works; `more` is laid over it."""
    devices = {str(i): {"name": "Fake GPU", "capability": 86, "right": True} for i in range(2)}
    found: dict[str, dict[str, Any]] = {
        "caller": {},
        "interpreter": {"ended": "answered", "seconds": 0.1, "executable": "/env/bin/python", "environment": {}},
        "pytorch": {"ended": "answered", "seconds": 1.0, "imported": True, "version": "2.13.0+cu130", "cuda": "13.0",
                    "arch": ARCH, "available": True, "count": 2},
        "bus": {"ended": "answered", "seconds": 0.1, "os": "linux", "arch": "x86_64", "cores": 16, "load": 0.5,
                "cards": [{"vendor": "0x10de", "driver": "nvidia"}] * 2, "pci": 9, "module": "580.65.06",
                "nodes": {"nvidiactl": "ok", "nvidia0": "ok", "nvidia1": "ok", "nvidia-uvm": "ok"}},
        "driver": {"ended": "answered", "seconds": 0.1, "loaded": True, "cuInit": 0, "version": 13000, "count": 2,
                   "path": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06", "file_version": "580.65.06"},
        "nvml": {"ended": "answered", "seconds": 0.1, "loaded": True, "init": 0, "count": 2,
                 "devices": [{"index": i, "memory": 24 << 30, "used": 1 << 30, "busy": 0, "throttle": 1,
                              "processes": 0, "temperature": 40} for i in range(2)]},
        "smi": {"ended": "answered", "seconds": 0.1, "code": 0, "gpus": 2, "text": "GPU 0: Fake GPU"},
        "usable": {"ended": "answered", "seconds": 2.0, "devices": devices},
        "speed": {"ended": "answered", "seconds": 2.0, "threads": 16, "cores": 16, "gpu_over_cpu": 40.0},
        "job": {"ended": "answered", "seconds": 3.0, "port": 29500, "port_taken": False,
                "tries": {name: {"how": "right", "value": 101.0} for name in ("gloo", "copy", "nccl")}},
    }  # fmt: skip
    for path, value in more.items():
        place: Any = found
        *parts, last = path.split("__")
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def run_python(code: str, **variables: str) -> str:
    """Run `code` in a fresh Python process and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | variables, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass(frozen=True)
class RealRun:
    """What ``python -m torch_doctor hang --json`` did on this machine."""

    status: int
    out: str
    modules: list[str]  # that were loaded in its process at the end
    written: set[Path]  # files

    @property
    def evidence(self) -> dict[str, Any]:
        return json.loads(self.out)["evidence"]


@pytest.fixture(scope="module")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    """Run the real probes once, from a copy of the package (other tests write compiled files) with an empty home."""
    folder = tmp_path_factory.mktemp("real")
    shutil.copytree(
        ROOT / "torch_doctor", folder / "package/torch_doctor", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("home", "tmp", "here"):
        (folder / name).mkdir()
    before = set(folder.rglob("*"))
    code = (
        "import sys; from torch_doctor.__main__ import main; status = main(['hang', '--json', '--patience', '6'])\n"
        "print(*sys.modules, file=sys.stderr); sys.exit(status)"
    )
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        environment = {**os.environ, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
                       "PYTHONPATH": str(folder / "package"), "MASTER_PORT": str(busy.getsockname()[1])}  # fmt: skip
        for name in ("COURSE_DATA_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder / "here", env=environment,
            capture_output=True, text=True, encoding="utf-8", timeout=400,
        )  # fmt: skip
    written = {path for path in set(folder.rglob("*")) - before if path.is_file()}
    return RealRun(done.returncode, done.stdout, done.stderr.split(), written)


def first(question: str, **more: Any) -> str:
    return diagnose(healthy(**more), question).first.cause.name


# --- words --------------------------------------------------------------------------------------------


def test_words_and_rules_belong_together() -> None:
    ruled = [name for table in TABLES.values() for name in table]
    assert len(ruled) == len(set(ruled))
    assert set(ruled) | PRODUCED == set(catalogue())


SYSTEMS = [
    {"bus__os": "linux"},
    {"bus__os": "windows", "bus__cards": []},
    {"bus__os": "darwin"},
    {"bus__os": "linux", "bus__wsl": 2, "bus__dxg": True},
    *[{"bus__container": kind} for kind in ("docker", "podman", "apptainer", "kubernetes")],
    {"bus__container": "docker", "bus__colab": True},
    {"bus__container": "docker", "bus__kaggle": True},
    {"bus__slurm": True},
    {"bus__jupyterhub": True, "bus__container": "kubernetes"},
    {"caller__notebook": True},
    {"bus__jetson": "Orin", "bus__arch": "aarch64"},
]
# These cannot occur together: a cause of one kind of place, on another.
ONLY = {"wsl-old": "wsl", "wsl-shadowed": "wsl", "wsl-without-driver": "wsl", "windows-dll": "windows",
        "apple": "macos", "jetson": "jetson", "container-without-gpu": "container", "container-lost": "container",
        "compute-not-passed": "container", "integrated-mode": "linux", "driver-lost": "linux", "driver-absent": "linux",
        "given-away": "linux", "no-gpu-runtime": "colab", "foreign-libraries": "linux", "two-cudas": "linux",
        "mixed-installers": "linux", "hang-world": "linux", "hang-interface": "linux"}  # fmt: skip


@pytest.mark.parametrize("name", catalogue())
def test_every_cause_has_a_next_step_everywhere(name: str) -> None:
    for place in SYSTEMS:
        e = Evidence(healthy(**place))
        if name not in ONLY or ONLY[name] in e.places:
            has_a_next_step(Cause.of(name, e), e)


def has_a_next_step(cause: Cause, e: Evidence) -> None:
    name = cause.name
    if cause.kind == "fault":
        assert cause.steps, (name, sorted(e.places))
    for text in (cause.title, cause.why, cause.check_text, *[step.text for step in cause.steps]):
        if text is not None:
            for language in (text.en, text.zh):
                assert not re.search(r"\{[a-z_]+\}", language), "a gap that nobody filled"
    for command in [cause.check, *[step.run for step in cause.steps]]:
        assert not re.search(r"\{[a-z_]+\}", command), command
        assert "…" not in command and "" not in command.split("\n")[1:], "a line of a command is empty"
    if "macos" in e.places or "windows" in e.places:
        assert not any("sudo apt" in step.run for step in cause.steps if name not in ONLY) or name in (
            "compat", "library-missing", "wsl-shadowed"
        )  # fmt: skip


def test_the_wheel_fits_driver_and_card() -> None:
    def tag(**more: Any) -> str:
        return Evidence(healthy(**more)).wheel()[1]

    assert tag(driver__version=13000) == "cu132"
    assert tag(driver__version=12080) == "cu129"
    old = {str(0): {"capability": 61}}
    assert tag(driver__version=13000, usable__devices=old) == "cu126"
    assert tag(driver__version=11080) == "cpu", "no wheel of this release; the driver must be updated"
    none = {"bus__cards": [], "bus__nodes": {}, "driver__count": 0, "nvml__count": 0, "smi__gpus": 0}
    assert tag(**none) == "cpu"
    own = {"13.9": {"x86_64": [75, 86], "aarch64": [90]}}
    assert Evidence(healthy(pytorch__releases=own)).wheel() == ("torch==2.13.0", "cu139")
    assert Evidence(healthy(pytorch__releases={})).wheel()[0] == "torch", (
        "no release is named that may not exist"
    )


def steps(name: str, **more: Any) -> str:
    cause = Cause.of(name, Evidence(healthy(**more)))
    return "\n".join([cause.check, *[f"{step.run}\n{step.text.en}" for step in cause.steps]])


def test_nobody_is_told_to_install_the_cpu_build_for_a_gpu() -> None:
    for name in ("cpu-build", "driver-old", "too-old-or-new"):
        for more in ({"driver__version": 11080}, {"usable__devices": {"0": {"capability": 37}}}):
            assert "backend=cpu" not in steps(name, **more) and "No build of this release" in steps(
                name, **more
            )
        assert "No build of this release" not in steps(name)


def test_commands_are_those_of_the_system() -> None:
    windows = {"bus__os": "windows", "bus__cards": []}
    for name in ("no-gpu", "driver-absent", "gpu-lost", "nvml-only", "init-memory", "after-sleep", "hang-leftover",
                 "slow-shared", "slow-threads", "slow-crowded", "driver-old", "hidden"):  # fmt: skip
        said = [
            line for line in steps(name, **windows).splitlines() if not line.startswith("Update the driver")
        ]
        assert not re.search(
            r"\b(sudo|lspci|dmesg|ulimit|ss -|libcuda|unset|export|top)\b", "\n".join(said)
        ), name
    wsl = {"bus__wsl": 2, "bus__dxg": True}
    assert "ubuntu-drivers" in steps("driver-old") and "ubuntu-drivers" not in steps("driver-old", **wsl)
    assert "rmmod" not in steps("after-sleep", **wsl)


def test_numbers_in_commands_are_those_of_the_machine() -> None:
    assert "OMP_NUM_THREADS=2" in steps("slow-quota", bus__cpu_quota=2.5)
    mixed = {"interpreter__conda_torch": ["pytorch-2.5.1-py3.11_cpu_0"]}
    assert "remove --yes pytorch\n" in steps("mixed-installers", **mixed)


# --- tables that age ----------------------------------------------------------------------------------


def test_tables_are_dated() -> None:
    assert re.fullmatch(r"20\d\d-\d\d", cuda_tables.AS_OF)
    assert Report(diagnose(healthy())).data()["tables"] == cuda_tables.AS_OF


def test_the_table_of_wheels_is_that_of_its_torch() -> None:
    import torch

    own = getattr(torch.cuda, "PYTORCH_RELEASES_CODE_CC", None)
    if own is None or not torch.__version__.startswith(cuda_tables.TORCH):
        pytest.skip(f"the table is that of torch {cuda_tables.TORCH}")
    assert {
        one: {arch: tuple(sorted(codes)) for arch, codes in by.items()} for one, by in own.items()
    } == cuda_tables.WHEELS


def test_the_rule_of_architectures_is_torchs_own() -> None:
    import torch

    rule = getattr(torch.cuda, "_code_compatible_with_device", None)
    if rule is None or not hasattr(torch.cuda, "DEVICE_REQUIREMENT"):
        pytest.skip("this release has no such rule")
    devices = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121)
    differ = [
        (c, d) for c in torch.cuda.DEVICE_REQUIREMENT for d in devices if rule(d, c) != cuda_tables.runs(c, d)
    ]
    assert not differ


def test_intermediate_code_serves_newer_gpus() -> None:
    assert cuda_tables.has_code_for(120, ["sm_80", "compute_90"])
    assert not cuda_tables.has_code_for(70, ["sm_80", "compute_90"])
    assert not cuda_tables.has_code_for(87, ["sm_80", "sm_86"]), "Orin runs only code of its own"
    assert cuda_tables.has_code_for(89, ["sm_80", "sm_86"])


# --- diagnosing ---------------------------------------------------------------------------------------


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(ValueError, match="cuda, slow, hang"):
        diagnose(healthy(), "why")
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
            Report(found).html(), Report(found).text(), Report(found).json()
            if probe in ("pytorch", "usable"):
                assert found.first.cause.name != "healthy"
        for key in whole.get(probe, {}):
            found = diagnose({**whole, probe: {k: v for k, v in whole[probe].items() if k != key}}, question)
            assert found.verdicts and Report(found).text()


def test_one_gpu_that_fails_is_enough_not_to_be_healthy() -> None:
    good, bad = (
        {"name": "Fake GPU", "capability": 86, "right": True},
        {"right": None, "error": "RuntimeError: x"},
    )
    for devices in ({"0": good, "1": bad}, {"0": bad, "1": good}, {"0": good}):
        assert first("cuda", usable__devices=devices) == "unknown"


def test_when_nobody_answers_the_machine_is_blamed_not_the_gpu() -> None:
    silent = {probe: {"ended": "slow", "seconds": 6.0} for probe in PROBES if probe != "caller"}
    assert diagnose(silent).first.cause.name == "no-answers"


def test_sure_comes_before_likely() -> None:
    found = diagnose(
        healthy(pytorch__available=False, pytorch__count=0, usable__devices={}, driver__cuInit=802)
    )
    assert [one.sure for one in found.verdicts] == sorted((one.sure for one in found.verdicts), reverse=True)
    assert found.first.cause.name == "fabric"


# --- slow ---------------------------------------------------------------------------------------------

SLOW = {
    "slow-nothing": {},
    "slow-debugging": {"interpreter__environment": {"CUDA_LAUNCH_BLOCKING": "1"}},
    "slow-double": {"caller__default_dtype": "float64"},
    "slow-shared": {"nvml__devices": [{"index": 0, "processes": 2, "busy": 97}]},
    "slow-memory": {"nvml__devices": [{"index": 0, "memory": 100, "used": 95}]},
    "slow-throttled": {"nvml__devices": [{"index": 0, "throttle": 0x20}]},
    "slow-compiling": {"pytorch__arch": ["sm_75", "compute_75"]},
    "slow-quota": {"bus__cpu_quota": 2.0},
    "slow-crowded": {"bus__load": 40.0},
    "slow-gpu-job": {"speed__gpu_over_cpu": 0.9},
    "cpu-build": {
        "pytorch__cuda": None,
        "pytorch__available": False,
        "pytorch__count": 0,
        "usable__devices": {},
    },
}
NO_GPU = {"bus__cards": [], "bus__nodes": {}, "driver__loaded": False, "driver__cuInit": None, "driver__count": 0,
          "nvml__init": None, "nvml__count": 0, "nvml__devices": [], "smi__gpus": 0, "pytorch__available": False,
          "pytorch__count": 0, "usable__devices": {}}  # fmt: skip


@pytest.mark.parametrize("cause", SLOW)
def test_what_makes_it_slow_is_named(cause: str) -> None:
    assert first("slow", **SLOW[cause]) == cause
    assert len(diagnose(healthy(**SLOW[cause]), "slow").first.lines) > 0


@pytest.mark.parametrize(
    "more",
    [
        {"interpreter__environment": {"CUDA_LAUNCH_BLOCKING": "0", "TORCH_DISTRIBUTED_DEBUG": "OFF"}},
        {
            "nvml__devices": [{"index": 0, "processes": 3, "busy": 2, "throttle": 1}]
        },  # idle neighbours, idle clock
        {"bus__cpu_quota": 16.0},
        {"bus__load": 12.0},
        {"bus__load": 12.0, "speed__cores": 4},  # the load of a machine of which this is a part
        {"nvml__devices": [{"index": 0, "throttle": 0x4}]},  # as fast as its power allows
    ],
)
def test_what_is_harmless_is_not_blamed(more: dict[str, Any]) -> None:
    assert first("slow", **more) == "slow-nothing"


def test_without_a_gpu_threads_and_the_cpu_are_named() -> None:
    assert first("slow", **NO_GPU, speed__threads=1) == "slow-threads"
    found = diagnose(healthy(**NO_GPU), "slow")
    assert [one.cause.name for one in found.verdicts] == ["slow-nothing", "slow-cpu"]
    assert first("slow", bus__shm=64 * 2**20) == "slow-nothing", "only possible, so that it stands below"


# --- hanging ------------------------------------------------------------------------------------------


def tried(**how: str) -> dict[str, Any]:
    return {"job__tries": {name.replace("_", "-"): {"how": one, "value": 0.0} for name, one in how.items()}}


HANG = {
    "hang-program": {},
    "hang-interface": tried(gloo="failed", gloo_loopback="right"),
    "hang-transport": tried(gloo="failed", gloo_loopback="slow"),
    "hang-wrong": tried(gloo="wrong"),
    "hang-copy": tried(gloo="right", copy="wrong", nccl="slow"),
    "hang-nccl": {**tried(gloo="right", copy="right", nccl="slow"), "job__patience": 6.0},
    "hang-world": {"interpreter__environment": {"WORLD_SIZE": "4", "RANK": "0"}},
    "hang-not-finished": tried(gloo="right", copy="right", nccl="slow"),
    "hang-mig": {"nvml__devices": [{"index": 0, "mig": True}]},
    "hang-not-tried": {"job__tries": {}},
}


@pytest.mark.parametrize("cause", HANG)
def test_what_makes_it_hang_is_named(cause: str) -> None:
    assert first("hang", **HANG[cause]) == cause


@pytest.mark.parametrize(
    "cause, more", {"hang-leftover": {"job__port_taken": True}, "hang-shm": {"bus__shm": 64 << 20}}.items()
)
def test_what_may_make_it_hang_stands_below(cause: str, more: dict[str, Any]) -> None:
    found = diagnose(healthy(**more), "hang")
    assert [one.cause.name for one in found.verdicts] == ["hang-program", cause]


def test_every_rule_about_speed_and_hanging_is_tested() -> None:
    assert set(slow.RULES) - set(SLOW) == {"slow-threads", "slow-cpu", "slow-shm"}
    assert set(hang.RULES) - set(HANG) == {"hang-leftover", "hang-shm"}


def test_a_try_ends_as_badly_as_for_its_worst_process() -> None:
    def together(*how: str) -> str:
        return job.worst({rank: {"how": one} for rank, one in enumerate(how)})["how"]

    assert together("right", "right") == "right"
    assert together("right", "slow") == "slow"
    assert together("wrong", "right") == "wrong"
    assert together("slow", "failed") == "failed"


def test_the_small_job_runs_here(real_run: RealRun) -> None:
    """Two real processes: 1 + 100 = 101, on any machine with torch."""
    found = real_run.evidence["job"]
    assert found["ended"] == "answered", found
    assert found["tries"]["gloo"] == {"how": "right", "value": 101.0}
    assert found["port_taken"] is True, "this test listens there"


def test_a_free_port_is_not_called_taken() -> None:
    with job.socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        assert not job.taken(one.getsockname()[1])


# --- never hangs --------------------------------------------------------------------------------------


@LINUX
@pytest.mark.parametrize(
    "question, patience",
    [("cuda", 0.3), ("slow", 0.3), ("hang", 0.3), pytest.param("hang", 1.0, marks=pytest.mark.nightly)],
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
    assert verdict & {"no-answers", "slow-nothing", "hang-not-tried"} and found.kind == "unknown"


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


def test_what_was_said_before_the_time_was_over_counts(tmp_path: Path) -> None:
    probe = tmp_path / "half.py"
    probe.write_text(
        "def probe(root, emit):\n    print('chatter')\n    emit(a=1)\n    import time; time.sleep(80)\n"
    )
    asked = run_probes.Running(
        [sys.executable, "-c", run_probes._BOOT, str(probe), "/", "90"], os.environ, 60
    )
    while not asked.poll():
        asked._limit = 60 if len(asked.out) < 2 else 0  # over as soon as it has said everything
        time.sleep(0.01)
    assert asked.found() | {"seconds": 0} == {"a": 1, "ended": "slow", "seconds": 0}


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
    asked = run_probes.Running(
        [sys.executable, "-c", run_probes._BOOT, str(probe), "/", "90"], os.environ, 60
    )
    while not asked.poll():
        time.sleep(0.01)
    found = asked.found()
    assert (found["a"], found["ended"]) == (1, "failed") and "ZeroDivisionError" in found["exit"]


def test_no_more_time_is_given_than_promised() -> None:
    assert (
        run_probes.TOTAL + run_probes.AFTER_KILL < 10 and max(run_probes.LIMITS.values()) < run_probes.TOTAL
    )
    assert set(run_probes.LIMITS) == set(PROBES) - {"caller"}


# --- the process that asks ----------------------------------------------------------------------------


def test_the_process_that_asks_imports_no_torch(real_run: RealRun) -> None:
    assert "torch_doctor.diagnosis.report" in real_run.modules
    assert not {"torch", "IPython", "matplotlib", "psutil", "numpy"} & set(real_run.modules)


def test_importing_the_package_imports_next_to_nothing() -> None:
    loaded = run_python(
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
    assert not this_process.driver_started(str(tmp_path)) and not this_process.driver_started(
        str(tmp_path / "none")
    )
    (tmp_path / "3").symlink_to("/dev/nvidiactl")  # NVML opens this one too
    assert not this_process.driver_started(str(tmp_path))
    (tmp_path / "4").symlink_to("/dev/nvidia-uvm")
    assert this_process.driver_started(str(tmp_path))


@LINUX
def test_a_variable_that_was_changed_later_is_noticed() -> None:
    code = (
        "import os\n"
        "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
        "from torch_doctor.diagnosis.this_process import state\n"
        "found = state()\n"
        "print(found['visible_at_start'], found['visible_now'])\n"
    )
    assert run_python(code, CUDA_VISIBLE_DEVICES="0") == "0 1"


def test_an_error_that_cuda_keeps_is_reported_and_waiting_is_limited() -> None:
    class Cuda:
        def __init__(self, act: Any) -> None:
            self.synchronize = act

    def broken() -> None:
        raise RuntimeError("CUDA error: device-side assert triggered\nmore")

    torch = type("Torch", (), {})()
    torch.cuda = Cuda(broken)
    assert this_process._last_error(torch) == "RuntimeError: CUDA error: device-side assert triggered"
    for_ever = threading.Event()
    torch.cuda = Cuda(lambda: for_ever.wait(300))
    start = time.monotonic()
    try:
        assert this_process._last_error(torch) == "" and time.monotonic() - start < 60
    finally:
        for_ever.set()


def test_nothing_is_written(real_run: RealRun) -> None:
    # Python itself keeps what it compiled of the command line.
    assert real_run.written and {path.parent.name for path in real_run.written} == {"__pycache__"}


def test_probes_leave_no_compiled_files(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str] = {}
    monkeypatch.setattr(run_probes, "Running", lambda command, environment, limit: given.update(environment))
    run_probes.start("bus", root="/", environment={"HOME": "/home/a", "PYTHONDONTWRITEBYTECODE": ""}, limit=1)
    assert given["PYTHONDONTWRITEBYTECODE"] == "1" and given["HOME"] == "/home/a"


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
        r"python -m pip install uv\n +python -m uv pip install --torch-backend=\w+ .*torch\n", done.stdout
    )


# --- the command line ---------------------------------------------------------------------------------


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "torch_doctor", *arguments], cwd=ROOT, capture_output=True, text=True,
        encoding="utf-8", timeout=400,
    )  # fmt: skip


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs the command line on a made-up diagnosis, and returns what it prints."""
    monkeypatch.setattr(
        command_line, "doctor", lambda question, patience: Report(diagnose(healthy(), question))
    )

    def run(*arguments: str, encoding: str = "utf-8") -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        command_line.main(list(arguments))
        stream.flush()
        return stream.buffer.getvalue().decode(encoding)

    return run


def test_the_command_line_speaks_the_language_that_is_asked_for(
    printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    english, chinese = printed("--language", "en"), printed("--language", "zh")
    assert "Evidence" in english and not re.search(r"[\u4e00-\u9fff]", english)
    assert "證據" in chinese and "Evidence" not in chinese
    assert "\x1b" not in english + chinese, "colours in a file"
    assert "Evidence · 證據" in printed()
    monkeypatch.setenv("TORCH_DOCTOR_LANGUAGE", "zh")
    assert printed() == chinese and printed("--language", "en") == english


def test_evidence_in_words_is_said_in_both_languages() -> None:
    report = Report(diagnose(healthy(driver__cuInit=802, pytorch__available=False, pytorch__count=0)))
    english, chinese = "nv-fabricmanager: not running", "nv-fabricmanager：沒有執行"
    assert english in report.text("en") and chinese not in report.text("en")
    assert chinese in report.text("zh") and english not in report.text("zh")
    assert f"{english} · {chinese}" in report.text("both", 200)
    assert report.html().count(english) == report.html().count(chinese) == 1
    assert ["bus", english] in report.data()["verdicts"][0]["evidence"]
    assert Line("driver", "0 GPU").said("zh") == Line("driver", "0 GPU").said("both") == "0 GPU"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--patience", "0"], ["slow", "train.log"], ["explain", "--json"]]
)
def test_help_and_errors_of_the_command_line_are_in_both_languages(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for encoding in ("utf-8", "cp1252"):  # an old Windows console gets question marks
        shown = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", shown)
        monkeypatch.setattr(sys, "stderr", shown)
        with pytest.raises(SystemExit):
            command_line.main(arguments)
        shown.flush()
        text = shown.buffer.getvalue().decode(encoding)
        assert "torch_doctor" in text and bool(re.search(r"[\u4e00-\u9fff]", text)) == (encoding == "utf-8")


def test_the_answer_to_another_question(printed: Callable[..., str]) -> None:
    assert (
        json.loads(printed("--json", "slow"))["question"]
        == json.loads(printed("slow", "--json"))["question"]
        == "slow"
    )


def test_json_is_for_machines_and_mails(real_run: RealRun) -> None:
    assert real_run.out.isascii()
    data = json.loads(real_run.out)
    assert data["verdicts"] and data["evidence"]["pytorch"]["imported"] is True
    assert data["question"] == "hang" and data["doctor"] == 1
    assert real_run.status == {"fine": 0, "fault": 1}.get(data["kind"], 2)


@pytest.mark.nightly
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered_on_this_machine(question: str) -> None:
    done = command(question, "--json")
    assert done.returncode in (0, 1, 2) and not done.stderr
    assert json.loads(done.stdout)["question"] == question


def test_a_console_without_chinese_gets_question_marks_not_a_traceback(printed: Callable[..., str]) -> None:
    out = printed("--language", "both", encoding="cp1252")
    assert "Evidence" in out and "??" in out


def test_wrong_options_are_explained() -> None:
    assert "invalid choice" in command("fast").stderr
    assert "positive" in command("--patience", "0").stderr


# --- privacy ------------------------------------------------------------------------------------------


@pytest.fixture
def alice(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in {
        "HOME": "/home/alice",
        "USER": "alice",
        "LOGNAME": "alice",
        "HOSTNAME": "gpu07.lab.example",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(privacy.platform, "node", lambda: "gpu07.lab.example")
    privacy._private.cache_clear()
    yield
    privacy._private.cache_clear()


@pytest.mark.usefixtures("alice")
def test_names_of_people_hosts_and_cards_are_not_told() -> None:
    secret = {
        "interpreter__executable": "/home/alice/envs/dl/bin/python",
        "interpreter__others": [
            {"named_by": "VIRTUAL_ENV", "prefix": "/scratch/alice/venv", "torch": "2.13.0"}
        ],
        "interpreter__environment": {"CUDA_VISIBLE_DEVICES": "GPU-8f2a0c31-aaaa-bbbb-cccc-0123456789ab"},
        "job__resolves": "10.20.30.40",
        "smi__text": "connected to gpu07.lab.example",
        "pytorch__warnings": ["cuda: see /home/alice/.cache on gpu07"],
    }
    for question in QUESTIONS:
        made = Report(diagnose(healthy(**secret), question))
        for told in (made.json(), made.text(), made.html()):
            for name in ("alice", "gpu07", "8f2a0c31", "10.20.30.40"):
                assert name not in told, name
    missing = {
        "pytorch": {"ended": "answered", "seconds": 1.0, "error": "No module named 'torch'", "missing": True}
    }
    shown = Report(diagnose({**healthy(**secret), **missing}))
    assert "~/envs/dl/bin/python" in shown.text() + shown.html(), "the path is evidence here"
    assert "alice" not in shown.text() + shown.html()
    data = Report(diagnose(healthy(**secret))).data()
    assert data["evidence"]["interpreter"]["executable"] == "~/envs/dl/bin/python"


@pytest.mark.usefixtures("alice")
def test_addresses_are_not_told() -> None:
    assert clean("connect [2001:db8::5]:29500 from fe80::1ff:fe23:4567:890a%eth0") == (
        "connect [<address>]:29500 from <address>"
    )
    same = "c10::Error at 12:00:00, 0000:01:00.0, [::1]:29500, [::]:29500"
    assert clean(same) == same


def test_an_account_called_ubuntu_breaks_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOME": "/home/ubuntu", "USER": "ubuntu", "LOGNAME": "ubuntu"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(privacy.platform, "node", lambda: "nvidia")
    privacy._private.cache_clear()
    try:
        assert clean("sudo ubuntu-drivers install && sudo modprobe nvidia") == (
            "sudo ubuntu-drivers install && sudo modprobe nvidia"
        )
        assert clean("/home/ubuntu/env") == "~/env"
    finally:
        privacy._private.cache_clear()


@pytest.mark.usefixtures("alice")
def test_what_only_looks_like_a_name_stays() -> None:
    assert clean("malice and alices at 127.0.0.1, driver 580.65.06, cuDNN 9.10.2.21") == (
        "malice and alices at 127.0.0.1, driver 580.65.06, cuDNN 9.10.2.21"
    )


def test_only_variables_of_cuda_are_read() -> None:
    from torch_doctor.diagnosis.probes.interpreter import VARIABLES

    assert not [name for name in VARIABLES if re.search("KEY|TOKEN|SECRET|PASS|^HOME$|^USER", name)]


# --- looks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh", "both"])
@pytest.mark.parametrize("width", [40, 80])
def test_lines_fit_the_terminal(language: str, width: int) -> None:
    for more in (NO_GPU, {"driver__cuInit": 802, "pytorch__available": False, "pytorch__count": 0}):
        diagnosis = diagnose(healthy(**more))
        commands = {
            line
            for one in diagnosis.verdicts
            for commands in (one.cause.check, *[step.run for step in one.cause.steps])
            for line in commands.splitlines()
        }
        text = Report(diagnosis).text(language, width)
        for line in text.splitlines():
            words = line.split()
            # A command or a path is never broken.
            fits = columns(line) <= width or line.strip() in commands or max(map(columns, words)) > width // 2
            assert fits, line
        assert ("證據" in text) == (language != "en") and ("Evidence" in text) == (language != "zh")


def test_colours_only_on_request() -> None:
    report = Report(diagnose(healthy()))
    assert "\x1b" not in report.text("en") and "\x1b[32m[ok]" in report.text("en", colour=True)


def same_everywhere(text: str) -> str:
    """Return `text` as the notebook checks compare it."""
    for pattern, replacement in get_sanitize_patterns(
        (ROOT / "tests/sanitize.cfg").read_text(encoding="ascii")
    ):
        text = re.sub(pattern, replacement, text)
    return text


EVERY = [{}, NO_GPU, {"caller__notebook": True, **NO_GPU}, {"bus__os": "darwin"}, *SLOW.values(),
         {"interpreter__environment": {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}},
         {"driver__cuInit": 999, "pytorch__available": False, "pytorch__count": 0, "nvml__init": 3}]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_notebook_stores_the_same_output_on_every_machine(question: str) -> None:
    shown = [Report(diagnose(healthy(**more), question))._repr_mimebundle_() for more in EVERY]
    assert len({one["text/plain"] for one in shown}) > 2, "these machines are too much alike"
    for kind in ("text/html", "text/plain"):
        assert len({same_everywhere(one[kind]) for one in shown}) == 1
    for one in shown:
        assert_nested(one["text/html"])
        assert one["text/html"].count('lang="en"') == one["text/html"].count('lang="zh-Hant"')


BROKEN = {"driver__cuInit": 999, "pytorch__available": False, "pytorch__count": 0, "usable__devices": {},
          "bus__slept": 900.0, "nvml__count": 1, "interpreter__environment": {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}}  # fmt: skip


def packed(text: str) -> str:
    """Return `text` without white space and backquotes, to search in it."""
    return re.sub(r"[\s`]", "", text)


@pytest.mark.parametrize("more", [BROKEN, {"caller__bad_fork": True}], ids=["broken", "forked"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_text_and_card_show_the_whole_diagnosis(language: str, more: dict[str, Any]) -> None:
    diagnosis = diagnose(healthy(**more))
    first, others = diagnosis.first.cause, [verdict.cause for verdict in diagnosis.verdicts[1:]]
    assert first.steps and (first.why or (others and diagnosis.remarks))
    texts = [
        first.why,
        *[step.text for step in first.steps],
        *[remark.cause.title for remark in diagnosis.remarks],
    ]
    texts += [text for cause in (first, *others) for text in (cause.title, cause.check_text)]
    expected = [plain(getattr(text, language)) for text in texts if text]
    expected += [step.run for step in first.steps] + [cause.check for cause in (first, *others)]
    expected += [line.said(language) for verdict in diagnosis.verdicts for line in verdict.lines]
    text = Report(diagnosis).text(language, 10_000)
    block = Report(diagnosis).html().split('<div class="measured-block"')[{"en": 1, "zh": 2}[language]]
    card = html.unescape(re.sub(r"<[^>]+>", "", block))
    for shown in (packed(text), packed(card)):
        assert not [part for part in expected if packed(part) not in shown]
    assert [f"  {n}. " in text for n in range(1, len(first.steps) + 2)] == [True] * len(first.steps) + [False]


def test_sureness_stands_beside_each_verdict() -> None:
    diagnosis = diagnose(healthy(**BROKEN))
    count = sum(verdict.cause.kind == "fault" for verdict in diagnosis.verdicts)
    text, card = Report(diagnosis).text("en"), Report(diagnosis).html()
    assert len(re.findall(r"^ +\((?:sure|likely|possible)\)$", text, re.M)) == count > 1
    assert len(re.findall(r">\((?:sure|likely|possible)\)<", card)) == count


def test_a_healthy_machine_has_nothing_to_do() -> None:
    report = Report(diagnose(healthy()))
    assert "Nothing to do." in report.html() and "Next step" not in report.text("en")


def test_html_is_escaped_and_shows_the_verdict() -> None:
    card = Report(diagnose(healthy(**NO_GPU, pytorch__cuda="<b>"))).html()
    assert "<b>" not in card
    assert "This machine has no NVIDIA GPU" in card and "這台機器沒有 NVIDIA GPU" in card


# --- this machine -------------------------------------------------------------------------------------


def test_this_machine_gets_an_answer(real_run: RealRun) -> None:
    import torch

    found = diagnose(real_run.evidence)
    assert found.kind == "fine", Report(found).text("en")
    assert (found.first.cause.name == "healthy") == torch.cuda.is_available()


def test_each_probe_of_the_driver_reads_the_shim(machine: Machine, compiled: Path | None) -> None:
    if compiled is None or sys.platform != "linux":
        pytest.skip("needs a C compiler on Linux")
    for code in (100, 802, 803, 804, 999):
        machine.library(FAKE_COUNT=1, FAKE_CUINIT=code, FAKE_DRIVER=12080)
        asked = run_probes.start("driver", root=str(machine.root), environment=machine.environment, limit=60)
        while not asked.poll():
            time.sleep(0.01)
        found = asked.found()
        assert (found["cuInit"], found["version"]) == (code, 12080)
        assert found["path"].endswith("libcuda.so.580.65.06") and str(machine.root) not in found["path"]


def test_the_stand_in_library_gives_the_same_answers(tmp_path: Path, compiled: Path | None) -> None:
    """Where there is no compiler the machines are made without one; both kinds must agree."""
    if compiled is None or sys.platform != "linux":
        pytest.skip("needs a C compiler on Linux, to compare")
    answers = []
    for number, libraries_folder in enumerate((compiled, None)):
        one = Machine(tmp_path / str(number), libraries_folder).gpus(
            2, CUDA_BUILD, FAKE_MODE=3, FAKE_MIG=1, FAKE_PARTS=2
        )
        found = one.set(CUDA_VISIBLE_DEVICES="0", FAKE_VISIBLE=1).found(patience=2)
        answers.append({name: {key: found[name].get(key) for key in keys} for name, keys in {
            "driver": ("cuInit", "version", "count", "devices"), "unmasked": ("cuInit", "count"),
            "nvml": ("init", "count", "devices", "codes", "driver"), "pytorch": ("available", "count"),
        }.items()})  # fmt: skip
    assert answers[0] == answers[1]
    assert answers[0]["unmasked"]["count"] == 2 and answers[0]["driver"]["count"] == 1
