"""``doctor("slow")`` and ``doctor("hang")``: their steps, and the real measurement and job of two processes. Answers: cases/questions.toml."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_up_evidence import healthy

from torch_doctor.diagnosis.causes import Cause, catalogue
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.places import places_of
from torch_doctor.diagnosis.probes import job, speed

# --- steps ------------------------------------------------------------------------------------------


PLACES: dict[str, dict[str, Any]] = {
    "linux": {},
    "notebook": {"caller__notebook": True},
    "windows": {"bus__os": "windows", "bus__cards": []},
    "macos": {"bus__os": "darwin"},
    "windows notebook": {"bus__os": "windows", "bus__cards": [], "caller__notebook": True},
    "wsl": {"bus__wsl": 2, "bus__dxg": True},
    "docker": {"bus__container": "docker"},
    "colab": {"bus__container": "docker", "bus__colab": True, "caller__notebook": True},
    "slurm": {"bus__slurm": True},
}
OURS = [name for name in catalogue() if name.startswith(("slow-", "hang-")) and name != "slow-smi"]


@pytest.mark.parametrize("place", PLACES)
def test_there_are_one_to_four_steps_and_they_suit_the_place(place: str) -> None:
    e = Evidence(healthy(**PLACES[place]))
    shells, cells = r"\b(unset|export|ss -|lsof|df -)", r"(nvidia-smi|ps|df|ss|ls|lsof|unset|export|env) "
    for name in OURS:
        cause = Cause.of(name, e)
        assert 1 <= len(cause.steps) <= 4, (name, len(cause.steps))
        for command in [cause.check, *[step.run for step in cause.steps]]:
            what = (name, command)
            filled = command.replace("{medium: Memory, sizeLimit: 8Gi}", "")
            assert not re.search(r"\{[a-z_]+\}", filled), what
            if "windows" in places_of(e) and name not in ("hang-copy", "hang-nccl", "hang-p2p"):  # Linux only
                assert not re.search(shells, command), what
            if "notebook" in places_of(e) and re.match(cells, command):
                announced = [step.text.en for step in cause.steps if step.run == command]
                assert any("terminal" in text for text in announced), what


def python_lines() -> Iterator[str]:
    """Yield the commands that are lines of a Python program."""
    slow = {"interpreter__environment": {"CUDA_LAUNCH_BLOCKING": "1"}, "speed__cores": 2}
    e = Evidence(healthy(**slow, **PLACES["windows notebook"]))
    for name in OURS:
        for step in Cause.of(name, e).steps:
            if re.match(r"import |torch\.|device = |num_workers|timeout=", step.run) and "!" not in step.run:
                yield step.run


@pytest.mark.nightly
def test_lines_of_a_program_run() -> None:
    """All lines that are to be put into a program run in one program."""
    lines = sorted(set(python_lines()))
    assert len(lines) >= 8
    arguments = {
        "timeout": "import datetime; dict({})",
        "num_wor": "list(DataLoader([torch.zeros(1)] * 2, {}))",
    }
    whole = [arguments.get(line[:7], "{}").replace("{}", line) for line in lines]
    script = "\n".join(["import torch", "from torch.utils.data import DataLoader", *whole, "print('done')"])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "done\n", (script, done.stderr)


def test_the_line_against_hanging_shows_where_a_program_waits() -> None:
    line = next(step.run for step in Cause.of("hang-program", Evidence(healthy())).steps)
    program = f"def waits():\n    {line.replace('120', '0.2')}\n    import time; time.sleep(300)\nwaits()"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert any("in waits" in told for told in process.stderr)
        assert process.poll() is None, "it shows the place, and lets the program go on"
    finally:
        process.kill()
        process.communicate()


# --- the measurement and the job --------------------------------------------------------------------


def test_a_battery_is_noticed_only_where_it_supplies_the_machine(tmp_path: Path) -> None:
    def supply(name: str, **files: str) -> None:
        folder = tmp_path / "sys/class/power_supply" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file).write_text(text + "\n")

    if sys.platform == "win32":
        pytest.skip("asks the system")
    assert speed.on_battery(str(tmp_path)) is None
    supply("hidpp_battery_0", scope="Device", status="Discharging")  # a mouse
    assert speed.on_battery(str(tmp_path)) is False
    supply("BAT0", status="Discharging")
    assert speed.on_battery(str(tmp_path)) is True
    supply("AC", online="1")
    assert speed.on_battery(str(tmp_path)) is False


def test_a_remote_disk_is_known_by_the_longest_mount(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    lines = (
        "tmpfs /data/local tmpfs rw 0 0",
        "C:\\134 /mnt/c 9p rw 0 0",
        "host:/x /data nfs4 rw 0 0",
        "/dev/sdc / ext4 rw 0 0",
    )
    (tmp_path / "proc/mounts").write_text("\n".join(lines))
    kinds = {"/mnt/c/me": "9p", "/mnt/cd": "", "/data/x": "nfs4", "/data/local/x": ""}
    assert {folder: speed.remote_disk(str(tmp_path), folder) for folder in kinds} == kinds
    assert speed.remote_disk(str(tmp_path / "none"), "/") == ""


def test_a_try_ends_as_badly_as_for_its_worst_process() -> None:
    tries = {"right right": "right", "right slow": "slow", "wrong right": "wrong", "slow failed": "failed"}
    for how, worst in tries.items():
        assert job.worst({rank: {"how": one} for rank, one in enumerate(how.split())})["how"] == worst


def test_a_free_port_is_not_called_taken() -> None:
    with job.socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        assert not job.taken(one.getsockname()[1])


def test_what_nccl_and_a_failing_worker_print_is_kept() -> None:
    found: dict[str, Any] = {}
    watcher = job._Watcher(lambda **more: found.update(more))
    lines = ["7", "[]", '"x"', '{"port": 4000}', "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
             '{"nccl": {"how": "slow"}}', '{"error": "RuntimeError: no libuv"}']  # fmt: skip
    watcher.read(SimpleNamespace(stdout=[f"{line}\n" for line in lines]), 0)
    assert found["nccl_says"] == "P2P" and found["error"] == "RuntimeError: no libuv"
    assert found["tries"] == {"nccl": {"how": "slow"}} and watcher.port == 4000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name their interfaces otherwise")
@pytest.mark.nightly
def test_an_interface_that_does_not_exist_is_found_by_the_real_job() -> None:
    """Two real processes, which the variable keeps apart; the doctor shows it, and the way inside of the machine works."""
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "eth9"}
    code = "import sys; from torch_doctor.__main__ import main; sys.exit(main(['hang', '--json', '--patience', '6']))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    data = json.loads(done.stdout)
    assert data["verdicts"][0]["cause"] == "hang-ifname" and done.returncode == 1, data["verdicts"]
    assert data["evidence"]["job"]["tries"]["gloo-loopback"]["how"] == "right"
