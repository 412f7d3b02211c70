"""What looks like one fault of the driver and is another one: the doctor must not be sure of the wrong one.

Each machine comes from a public thread or from the review that found a false verdict. The causes themselves are staged
in test_doctor_causes.py; here stand their neighbours, and the steps by place.
"""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_machines import CUDA_BUILD, Machine
from made_up_evidence import NO_GPU
from test_doctor import healthy
from test_doctor_causes import BUSY, NO_CODE, without_library, wsl2

from torch_doctor.diagnosis import probes as probes_package
from torch_doctor.diagnosis.causes import Cause
from torch_doctor.diagnosis.diagnose import Diagnosis, diagnose
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.probes import driver, nvml, pytorch
from torch_doctor.diagnosis.rules.base import LIKELY, POSSIBLE, SURE, hiding_programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")


def broken(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the evidence of a machine with two GPUs on which CUDA does not start; `more` is laid over it."""
    off = {"pytorch__available": False, "pytorch__count": 0, "usable__devices": {}, "driver__count": 0}
    return healthy(**{**off, **more})


def told(found: Diagnosis) -> list[tuple[str, int]]:
    """Return the names of all verdicts, and how sure they are."""
    return [(verdict.cause.name, verdict.sure) for verdict in found.verdicts]


def steps(found: Diagnosis) -> list[str]:
    """Return the commands (or sentences) of the first verdict's steps."""
    return [step.run or step.text.en for step in found.first.cause.steps]


# --- the versions of library and module -----------------------------------------------------------------


def test_804_after_an_update_is_a_pending_restart(machine: Machine, compiled: Path | None) -> None:
    """As in rapidsai/cusignal#398: CUDA says "forward compatibility", and a restart is the cure."""
    if compiled is None:
        pytest.skip("needs a C compiler: the path of the library is evidence")
    found = machine.gpus(1, FAKE_CUINIT=804).module("535.129.03").diagnosis()
    assert told(found) == [("mismatch", SURE)] and steps(found)[0] == "sudo reboot"


def test_804_alone_proves_nothing() -> None:
    found = diagnose(broken(driver__cuInit=804))
    assert found.first.cause.name == "mismatch" and found.first.sure == LIKELY
    unknown_path = diagnose(
        broken(driver__cuInit=804, driver__path="", driver__file_version="", bus__module="")
    )
    assert dict(told(unknown_path))["compat"] == LIKELY


def test_compatibility_libraries_and_a_pending_restart() -> None:
    path = "/usr/local/cuda-13.0/compat/libcuda.so.585.10.01"
    alone = diagnose(broken(driver__cuInit=804, driver__path=path, driver__file_version="585.10.01"))
    assert told(alone) == [("compat", SURE)]
    both = broken(driver__cuInit=804, driver__path=path, driver__file_version="585.10.01", nvml__init=18)
    assert told(diagnose(both))[:2] == [("mismatch", SURE), ("compat", LIKELY)]
    conda = "/opt/conda/envs/x/cuda-compat/libcuda.so.585.10.01"
    assert diagnose(broken(driver__cuInit=803, driver__path=conda)).first.cause.name == "compat"


def test_a_restart_is_not_the_cure_where_the_module_on_the_disk_is_old() -> None:
    old = {"driver__cuInit": 803, "bus__module": "535.129.03", "bus__modinfo": {"version": "535.129.03"}}
    assert told(diagnose(broken(**old))) == [("module-not-rebuilt", LIKELY)]
    # Another kernel may have the new module: then a restart, which boots it, is the better advice.
    other = diagnose(broken(**old, bus__kernel="6.8.0-45", bus__module_files=["6.8.0-45", "6.8.0-47"]))
    assert told(other)[0] == ("mismatch", SURE) and ("module-not-rebuilt", 1) in told(other)


def test_an_older_library_in_front_is_no_pending_restart() -> None:
    old = {"driver__cuInit": 803, "bus__module": "595.10.01", "nvml__init": 18}
    on_disk = {"bus__modinfo": {"version": "595.10.01"}}
    assert told(diagnose(broken(**old, **on_disk))) == [("library-left-over", LIKELY)]
    # The module on the disk is another one: then a restart loads it.
    pending = {"bus__modinfo": {"version": "580.65.06"}}
    assert told(diagnose(broken(**old, **pending))) == [("mismatch", SURE)]


@pytest.mark.parametrize(
    "mounted, cause", [(False, "driver-in-container"), (True, "mismatch"), (None, "mismatch")]
)
def test_a_library_of_the_image_is_told_from_one_of_the_host(mounted: bool | None, cause: str) -> None:
    """The host's library is mounted by the toolkit; an image's own one must be removed, not waited for."""
    apart = {"driver__cuInit": 803, "bus__container": "docker", "bus__module": "535.129.03"}
    found = diagnose(broken(**apart, driver__mounted=mounted))
    assert told(found)[0] == (cause, SURE)
    assert ("purge" in steps(found)[0]) == (cause == "driver-in-container")


def test_a_library_in_an_image_without_a_gpu_is_no_fault_of_the_driver() -> None:
    """Docker shows the host's module version in every container, also without --gpus."""
    nothing = {"bus__nodes": {}, "nvml__init": None, "nvml__count": 0, "nvml__devices": [], "smi__gpus": 0}
    for version in ({"bus__module": "535.129.03"}, {"driver__version": 11040}):
        found = diagnose(broken(driver__cuInit=100, bus__container="docker", **nothing, **version))
        assert found.first.cause.name == "container-without-gpu", told(found)
        assert not {"mismatch", "driver-old", "driver-in-container"} & dict(told(found)).keys()


def test_what_was_mounted_from_outside(tmp_path: Path) -> None:
    path = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"
    assert driver.mounted(str(tmp_path), path) is None
    points = tmp_path / "proc/self"
    points.mkdir(parents=True)
    for point, expected in (
        ("/", False),
        (path, True),
        ("/usr/lib/x86_64-linux-gnu", True),
        ("/usr/lib/x86", False),
    ):
        (points / "mountinfo").write_text(f"36 35 98:0 / {point} rw - overlay overlay rw\n\n")
        assert driver.mounted(str(tmp_path), path) is expected, point


# --- found, but not on the path -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder",
    ["/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/.singularity.d/libs"],
)
def test_a_library_beside_the_path_is_found_and_tried(
    folder: str, machine: Machine, compiled: Path | None
) -> None:
    if compiled is None:
        pytest.skip("needs a C compiler: the library is loaded by its path")
    path = machine.environment["LD_LIBRARY_PATH"]
    without_library(machine.gpus(1).library(folder).set(LD_LIBRARY_PATH=path))
    found = machine.diagnosis()
    assert told(found)[0] == ("library-not-on-path", SURE)
    assert f"export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH" in steps(found)[0]
    assert folder in found.first.cause.title.en


def test_an_empty_file_is_no_library(tmp_path: Path) -> None:
    """Images that were saved from a running container have empty files in place of what was mounted."""
    for folder, content in (("usr/local/nvidia/lib64", ""), ("usr/lib/aarch64-linux-gnu/tegra", "ELF")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libcuda.so.1").write_text(content)
    assert driver.elsewhere(str(tmp_path)) == [str(tmp_path / "usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1")]
    assert driver.start_from(driver.elsewhere(str(tmp_path))[0]) is None, (
        "what is no library cannot be started"
    )


def test_in_wsl_a_library_beside_the_path_is_no_missing_driver() -> None:
    gone = {"driver__loaded": False, "driver__cuInit": None, "bus__wsl": 2, "bus__dxg": True, "bus__cards": [],
            "bus__nodes": {}, "nvml__count": 0, "smi__gpus": 0}  # fmt: skip
    assert told(diagnose(broken(**gone)))[0] == ("wsl-without-driver", LIKELY)
    beside = diagnose(broken(**gone, driver__found_in=["/usr/lib/wsl/lib"], driver__reached=0))
    assert told(beside) == [("library-not-on-path", SURE)]
    listed = diagnose(broken(**{**gone, "smi__gpus": 1}))  # nvidia-smi lists the card: there is a driver
    assert "wsl-without-driver" not in dict(told(listed))


def test_a_library_that_reaches_nothing_is_not_the_answer() -> None:
    """An image may contain libcuda; in a container without a GPU, the folder is not the cause."""
    away = {"driver__loaded": False, "driver__cuInit": None, "driver__found_in": ["/usr/lib"], "driver__reached": 100,
            "bus__container": "docker", "bus__nodes": {}, "nvml__init": None, "nvml__count": 0, "smi__gpus": 0}  # fmt: skip
    assert "library-not-on-path" not in dict(told(diagnose(broken(**away))))


# --- WSL ------------------------------------------------------------------------------------------------


def test_in_a_container_on_wsl_the_path_of_the_library_proves_nothing() -> None:
    """The toolkit mounts the right library into /usr/lib/x86_64-linux-gnu (NVIDIA/nvidia-docker#1551)."""
    inside = {"bus__wsl": 2, "bus__dxg": True, "bus__container": "docker", "bus__cards": [], "bus__nodes": {}}
    assert told(diagnose(broken(**inside, driver__cuInit=500)))[0] == ("docker-desktop-old", LIKELY)
    assert "wsl-shadowed" not in dict(told(diagnose(broken(**inside, driver__cuInit=100))))


@pytest.mark.parametrize(
    "more, shown",
    [
        ({"bus__os": "windows", "bus__cards": [], "bus__nodes": {}, "bus__video": ["NVIDIA RTX 4070"]}, True),
        ({"bus__wsl": 2, "bus__dxg": True, "driver__path": "/usr/lib/wsl/lib/libcuda.so.1.1"}, True),
        ({"bus__wsl": 2, "bus__dxg": True, "bus__container": "docker"}, False),
        ({}, False),
    ],
)
def test_a_driver_of_windows_that_only_fails(more: dict[str, Any], shown: bool) -> None:
    found = diagnose(broken(driver__cuInit=700, nvml__init=9, nvml__count=None, **more))
    assert ("driver-fails" in dict(told(found))) == shown, told(found)


def test_the_name_of_the_linux_in_wsl_stands_in_the_command(machine: Machine) -> None:
    machine.file("proc/version", "Linux version 4.4.0-19041-Microsoft").report(
        "interpreter.environment", {"WSL_DISTRO_NAME": "Debian"}
    )
    assert "wsl --set-version Debian 2" in steps(machine.torch(**CUDA_BUILD).diagnosis())


def test_a_kernel_of_ones_own_is_not_surely_wsl_1() -> None:
    own = {
        "bus__wsl": 1,
        "bus__kernel": "6.6.0-microsoft-mine",
        "driver__loaded": False,
        "driver__cuInit": None,
    }
    assert dict(told(diagnose(broken(**own))))["wsl-1"] == LIKELY
    assert "wsl-1" not in dict(told(diagnose(broken(**own, bus__dxg=True))))


# --- slow or dead ---------------------------------------------------------------------------------------

SILENT = {"ended": "slow", "seconds": 6.0}


def test_three_silent_probes_are_not_yet_a_dead_driver() -> None:
    """As on servers without persistence mode (NVIDIA/nvidia-docker#723): it only needs longer."""
    found = diagnose(broken(driver=SILENT, nvml=SILENT, smi=SILENT))
    assert told(found)[0] == ("hangs", LIKELY)
    assert "--patience 6" in found.first.cause.check and "-pm 1" in steps(found)[0]
    assert found.first.cause.steps[-1].costs, "the restart stands last"


def test_a_driver_is_dead_if_it_is_stuck_or_had_a_minute() -> None:
    for more in ({"ended": "stuck", "seconds": 6.0}, {"ended": "slow", "seconds": 36.0}):
        assert told(diagnose(broken(driver=more)))[0] == ("hangs", SURE)
        assert "36.0" in diagnose(broken(driver=more)).first.cause.title.en or more["ended"] == "stuck"


@pytest.mark.parametrize("code, sure", [(999, SURE), (304, SURE), (100, LIKELY), (2, LIKELY)])
def test_a_missing_uvm_file_is_the_cause_of_its_own_codes(code: int, sure: int) -> None:
    """CUDA makes the file itself where it can; if it stops before that, the file is missing, too."""
    nodes = {"nvidiactl": "ok", "nvidia0": "ok", "nvidia-uvm": "ENOENT"}
    assert dict(told(diagnose(broken(driver__cuInit=code, bus__nodes=nodes))))["uvm-missing"] == sure


@pytest.mark.parametrize("given, sure", [("utility", SURE), ("compute,utility", LIKELY), (None, LIKELY)])
def test_the_list_of_what_to_pass_must_be_there_to_be_sure(given: str | None, sure: int) -> None:
    away = {"driver__loaded": False, "driver__cuInit": None, "bus__container": "docker"}
    variables = {} if given is None else {"NVIDIA_DRIVER_CAPABILITIES": given}
    found = diagnose(broken(**away, interpreter__environment=variables))
    assert dict(told(found))["compute-not-passed"] == sure


# --- the same number, another cause ---------------------------------------------------------------------


def test_802_with_one_gpu_is_not_surely_the_fabric_manager() -> None:
    one = {"bus__cards": [{"vendor": "0x10de", "driver": "nvidia"}], "nvml__count": 1, "driver__cuInit": 802}
    assert told(diagnose(broken(**one)))[0] == ("fabric", LIKELY)
    vm = diagnose(broken(**one, nvml__confidential=True, nvml__ready=False))
    assert told(vm) == [("confidential-vm", SURE)] and steps(vm)[0] == "sudo nvidia-smi conf-compute -srs 1"
    inside = told(diagnose(broken(driver__cuInit=802, bus__container="docker")))
    assert inside[0] == ("fabric", LIKELY), "a container does not show the services of its host"
    running = diagnose(broken(driver__cuInit=802, bus__fabric_manager=True))
    assert told(running)[0] == ("fabric", LIKELY), "it runs: perhaps in another version"


@pytest.mark.parametrize(
    "more, cause",
    [
        ({"hmm_disabled": False}, "uvm-hmm"),
        ({"hmm_disabled": None}, "uvm-hmm"),
        ({"hmm_disabled": True}, "nvml-only"),  # the feature is off already
    ],
)
def test_error_3_is_hmm_unless_it_is_off(more: dict[str, Any], cause: str) -> None:
    keys = {f"driver__{key}": value for key, value in more.items()}
    assert told(diagnose(broken(driver__cuInit=3, **keys)))[0] == (cause, LIKELY)


def test_a_symptom_is_not_told_as_a_cause() -> None:
    """It is said once, as not known, and never beside a cause that explains it."""
    for code in (101, 304, 46, 700):
        assert diagnose(broken(driver__cuInit=code)).kind == "unknown", code
    for more in (
        {"driver__cuInit": 803},
        {"driver__cuInit": 802},
        {"driver__cuInit": 999, "bus__slept": 900.0},
    ):
        assert "nvml-only" not in dict(told(diagnose(broken(**more)))), more


@pytest.mark.parametrize("more", [{"FAKE_MODE": 0}, {"FAKE_VGPU": 2, "FAKE_LICENSED": 1}])
def test_busy_is_not_exclusive_where_nvml_says_otherwise(more: dict[str, int], machine: Machine) -> None:
    found = machine.gpus(1, BUSY, **more).diagnosis()
    assert told(found)[0] == ("unavailable", LIKELY) and found.kind == "unknown"


def test_memory_is_named_where_it_is_missing() -> None:
    full = [{"index": i, "memory": 24 << 30, "used": 24 << 30} for i in range(2)]
    assert told(diagnose(broken(driver__cuInit=2, nvml__devices=full)))[0][0] == "gpu-memory-full"
    half = [full[0], {**full[1], "used": 1 << 30}]
    assert told(diagnose(broken(driver__cuInit=2, nvml__devices=half)))[0][0] == "init-memory"


def test_a_free_gpu_is_offered_in_place_of_a_full_one() -> None:
    gpus = [
        {"index": 0, "memory": 24 << 30, "used": 23 << 30},
        {"index": 1, "memory": 24 << 30, "used": 1 << 30},
    ]
    error = {"0": {"error": "RuntimeError: CUDA error: out of memory"}, "1": {"right": True}}
    found = diagnose(healthy(nvml__devices=gpus, usable__devices=error))
    assert told(found)[0] == ("gpu-memory-full", LIKELY)
    assert "export CUDA_VISIBLE_DEVICES=1" in steps(found)
    alone = diagnose(healthy(nvml__devices=gpus[:1], usable__devices=error))
    assert told(alone)[0] == ("gpu-memory-full", LIKELY)
    assert not [step for step in steps(alone) if step.startswith("export")]
    assert "gpu-memory-full" not in dict(
        told(diagnose(healthy(nvml__devices=gpus[1:], usable__devices=error)))
    )


def test_a_gpu_that_never_started_is_not_called_lost() -> None:
    assert "gpu-lost" not in dict(told(diagnose(broken(driver__cuInit=100, nvml__count=0, nvml__devices=[]))))
    eio = {"nvidiactl": "ok", "nvidia0": "EIO", "nvidia-uvm": "ok"}
    assert "gpu-lost" not in dict(told(diagnose(broken(driver__cuInit=100, nvml__count=0, bus__nodes=eio))))
    gone = [{"vendor": "0x10de", "driver": "nvidia", "gone": True}] * 2
    assert dict(told(diagnose(broken(driver__cuInit=999, bus__cards=gone))))["gpu-lost"] == SURE


# --- no machine code ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "capability, arch, cause",
    [
        (60, ["sm_75", "sm_80", "sm_90", "sm_120"], "card-too-old"),
        (70, ["sm_75", "sm_80", "compute_90"], "card-too-old"),
        (120, ["sm_50", "sm_80", "sm_90", "sm_90a"], "card-too-new"),
        (121, ["sm_80", "sm_100f"], "card-too-new"),
    ],
)
def test_old_cards_are_told_from_new_ones(
    capability: int, arch: list[str], cause: str, machine: Machine
) -> None:
    machine.gpus(1, {**CUDA_BUILD, "arch": arch, "use_error": NO_CODE}, FAKE_CAPABILITY=capability)
    found = machine.diagnosis()
    assert told(found)[0] == (cause, SURE)
    assert f"{capability // 10}.{capability % 10}" in found.first.cause.title.en


def test_on_kaggle_the_step_is_another_accelerator(machine: Machine) -> None:
    """A P100, for which Kaggle's PyTorch has no code: `is_available()` is True (Kaggle/kaggle-cli#1151)."""
    machine.gpus(1, {**CUDA_BUILD, "use_error": NO_CODE}, FAKE_CAPABILITY=60).file(".dockerenv")
    found = machine.set(KAGGLE_KERNEL_RUN_TYPE="Interactive").diagnosis()
    assert found.evidence.get("pytorch.available") is True
    assert told(found)[0] == ("card-too-old", SURE) and "GPU T4 x2" in steps(found)[0]


# --- the program itself ---------------------------------------------------------------------------------

PROGRAM = """import os
os.environ["CUDA_VISIBLE_DEVICES"] = "2"
os.environ['CUDA_VISIBLE_DEVICES'] = str(args.gpu)
if os.environ["CUDA_VISIBLE_DEVICES"] == "3": pass
# os.environ["CUDA_VISIBLE_DEVICES"] = "7"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
"""
SCRIPT = "export CUDA_VISIBLE_DEVICES=0,1\nCUDA_VISIBLE_DEVICES=$1 python x.py\nCUDA_VISIBLE_DEVICES= python y.py\n"


def test_programs_that_hide_gpus_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "run.sh").write_text(SCRIPT)
    (tmp_path / "notes.txt").write_text(PROGRAM)
    (tmp_path / "lesson.ipynb").write_text('{"source": ["os.environ[\\"CUDA_VISIBLE_DEVICES\\"] = \\"5\\""]}')
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    found = [(line["file"], line["line"], line["value"]) for line in pytorch.hides(str(tmp_path))]
    assert found == [("lesson.ipynb", 1, "5"), ("run.sh", 1, "0,1"), ("run.sh", 3, ""), ("train.py", 2, "2"),
                     ("train.py", 6, "")]  # fmt: skip
    assert pytorch.hides(str(tmp_path / "none")) == []
    two = Evidence(healthy(pytorch__hides=pytorch.hides(str(tmp_path))))
    assert [line["value"] for line in hiding_programs(two)] == ["5", "", "2", ""], "0,1 exist here"


def test_a_working_machine_says_where_the_program_hides_its_gpus() -> None:
    found = diagnose(healthy(pytorch__hides=[{"file": "train.py", "line": 2, "value": "2"}]))
    assert [remark.cause.name for remark in found.remarks] == ["program-hides"]
    assert "`train.py:2`" in found.remarks[0].cause.title.en and '"2"' in found.remarks[0].cause.title.en
    assert not diagnose(healthy(pytorch__hides=[{"file": "a.py", "line": 1, "value": "1"}])).remarks
    why = found.first.cause.why
    assert why is not None and "torch_doctor.doctor()" in why.en


def test_the_line_that_hides_every_gpu_is_evidence() -> None:
    here = {"interpreter__environment": {"CUDA_VISIBLE_DEVICES": "-1"}, "unmasked__cuInit": 0, "unmasked__count": 2,
            "driver__cuInit": 100, "pytorch__hides": [{"file": "run.sh", "line": 4, "value": "-1"}]}  # fmt: skip
    found = diagnose(broken(**here))
    assert told(found)[0] == ("hidden", SURE)
    assert any(line.fact.startswith("run.sh:4") for line in found.first.lines)


# --- not known ------------------------------------------------------------------------------------------


def test_not_known_shows_what_did_not_work() -> None:
    error = "libcuda.so.1: cannot open shared object file: No such file or directory"
    gone = {"driver__loaded": False, "driver__cuInit": None, "driver__error": error, "nvml__init": None,
            "nvml__error": "libnvidia-ml.so.1: cannot open", "bus__module": "", "bus__container": "kubernetes",
            "bus__nodes": {"nvidiactl": "ok", "nvidia0": "ok", "nvidia-uvm": "ENXIO"}, "smi__code": 9}  # fmt: skip
    found = diagnose(broken(**gone, usable={"ended": "failed", "exit": "status -11: Segmentation fault"}))
    assert found.first.cause.name == "unknown", told(found)
    facts = "\n".join(line.fact for line in found.first.lines)
    for part in (error, "libnvidia-ml.so.1", "ENXIO", "kubernetes", "status -11"):
        assert part in facts, part
    assert "None" not in facts.replace("cuda = None", ""), "what was not asked is left out"


# --- steps by place -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cause, place, command",
    [
        ("uvm-missing", {"bus__container": "podman"}, "nvidia-ctk cdi generate"),
        ("uvm-missing", {"bus__container": "docker"}, "--gpus all"),
        ("library-missing", {"bus__family": "arch"}, "sudo pacman -S nvidia-utils"),
        ("library-missing", {"bus__family": "debian"}, "sudo apt install --reinstall libcuda1"),
        ("library-missing", {"bus__family": "nixos"}, "sudo nixos-rebuild switch"),
        ("driver-old", {"bus__wsl": 2, "bus__dxg": True}, "wsl --shutdown"),
        ("driver-old", {"bus__family": "ubuntu"}, "sudo ubuntu-drivers install"),
        ("module-not-rebuilt", {"bus__family": "fedora"}, "sudo akmods --force"),
        ("fabric", {"bus__family": "ubuntu"}, "sudo apt install nvidia-fabricmanager-580"),
        ("hidden", {"caller__notebook": True}, "os.environ.pop"),
        ("hidden", {"bus__os": "windows"}, "Remove-Item"),
        (
            "compat",
            {"bus__container": "docker"},
            "export LD_LIBRARY_PATH=/usr/lib/$(uname -m)-linux-gnu:/usr/lib64",
        ),
        ("mig-empty", {"bus__slurm": True}, "sudo nvidia-smi mig -cgi 0 -C"),
        ("init-memory", {"bus__wsl": 2, "bus__dxg": True}, "CUDA_VISIBLE_DEVICES=0"),
    ],
)
def test_the_step_fits_the_place(cause: str, place: dict[str, Any], command: str) -> None:
    shown = Cause.of(cause, Evidence(healthy(**place))).steps
    assert any(command in f"{step.run} {step.text.en}" for step in shown), [step.run for step in shown]
    wrong = {"arch": "apt", "fedora": "apt", "nixos": "apt", "debian": "pacman"}.get(
        place.get("bus__family", ""), "\0"
    )
    assert not any(f"sudo {wrong}" in step.run for step in shown)


# --- the probes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["driver", "nvml", "usable", "pytorch"])
def test_probes_are_written_for_old_pythons(name: str) -> None:
    """Another Python may run them, which may be as old as 3.8."""
    source = (Path(probes_package.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 8))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]
    for node in ast.walk(tree):  # `dictionary |= …` came with 3.9
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
            assert not isinstance(node.value, ast.Dict), ast.unparse(node)
    assert "removeprefix" not in source and "removesuffix" not in source


def test_a_driver_without_the_newer_functions_is_no_obstacle() -> None:
    class Old:
        """A driver from before vGPU licences, fabrics and confidential computing."""

    assert nvml.licensed(Old(), None) is nvml.fabric(Old(), None) is None
    assert nvml.confidential(Old()) == {}


def test_the_state_of_a_virtual_gpu_is_read(machine: Machine) -> None:
    found = machine.gpus(1, FAKE_VGPU=2, FAKE_FABRIC=2, FAKE_CONFIDENTIAL=1, FAKE_READY=1).found()["nvml"]
    gpu = found["devices"][0]
    assert (gpu["virtual"], gpu["licensed"], gpu["fabric"]) == (True, False, 2)
    assert (found["confidential"], found["ready"]) == (True, True)


def test_a_linux_driver_in_wsl_hides_nothing_where_windows_has_no_driver() -> None:
    inside = {"bus__wsl": 2, "bus__dxg": True, "bus__cards": [], "bus__nodes": {}, "bus__module": "",
              "nvml__init": 9, "nvml__count": 0, "nvml__devices": [], "smi__gpus": 0, "smi__text": ""}  # fmt: skip
    shadowed = diagnose(broken(**inside, driver__cuInit=100, driver__windows_library=True))
    assert told(shadowed)[0] == ("wsl-shadowed", SURE)
    without = dict(told(diagnose(broken(**inside, driver__cuInit=100, driver__windows_library=False))))
    assert (without["wsl-without-driver"], without["wsl-shadowed"]) == (LIKELY, POSSIBLE)


@pytest.mark.parametrize(
    "place, cause", [({}, "card-not-listed"), ({"bus__slurm_tools": "sbatch"}, "login-node")]
)
def test_without_a_gpu_an_old_driver_is_not_the_answer(place: dict[str, Any], cause: str) -> None:
    old = {**NO_GPU, "driver__loaded": True, "driver__cuInit": 100, "driver__version": 12020}
    found = told(diagnose(healthy(**{**old, **place})))
    assert found[0] == (cause, LIKELY) and ("driver-old", POSSIBLE) in found


@pytest.mark.parametrize(
    "error, sure", [("cannot open shared object file", SURE), ("file too short", LIKELY)]
)
def test_a_damaged_library_is_not_surely_missing(error: str, sure: int) -> None:
    away = {"driver__loaded": False, "driver__cuInit": None, "driver__error": f"libcuda.so.1: {error}"}
    assert told(diagnose(broken(**away)))[0] == ("library-missing", sure)


def test_apptainer_shows_the_files_of_a_gpu_that_it_did_not_get() -> None:
    """Its containers have the host's /dev; the option --nv adds the libraries only."""
    bare = {"driver__loaded": False, "driver__cuInit": None, "nvml__init": None, "nvml__count": 0, "nvml__devices": [],
            "smi__ended": "absent", "smi__gpus": 0, "smi__text": ""}  # fmt: skip
    found = diagnose(broken(**bare, bus__container="apptainer"))
    assert told(found) == [("container-without-gpu", LIKELY)] and steps(found) == ["--nv"]
    assert "/.singularity.d/libs" in found.first.cause.check


def test_an_exclusive_gpu_beside_a_shared_one_is_not_surely_the_taken_one() -> None:
    modes = [{"index": 0, "compute_mode": 0, "processes": 0}, {"index": 1, "compute_mode": 3, "processes": 1}]
    busy = {"0": {"error": BUSY}}
    assert told(diagnose(broken(usable__devices=busy, nvml__devices=modes)))[0] == ("taken", LIKELY)
    assert told(diagnose(broken(usable__devices=busy, nvml__devices=modes[1:])))[0] == ("taken", SURE)


def test_a_gpu_that_came_back_is_not_lost() -> None:
    log = {"off-the-bus": "GPU has fallen off the bus"}
    assert told(diagnose(healthy(bus__kernel_log=log))) == [("healthy", SURE)]
    away = healthy(bus__kernel_log=log, bus__cards=[{"vendor": "0x10de", "driver": "nvidia"}] * 3)
    assert told(diagnose(away))[0] == ("gpu-lost", SURE), "two of three are left"


@pytest.mark.parametrize(
    "message, cause",
    [
        ("/lib64/libm.so.6: version `GLIBC_2.27' not found (required by libtorch_cpu.so)", "torch-broken"),
        ("libgomp.so.1: cannot open shared object file: No such file or directory", "torch-broken"),
        ("libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4", "foreign-libraries"),
        ("libcudnn.so.9: cannot open shared object file: No such file or directory", "two-cudas"),
    ],
)
def test_what_the_system_lacks_is_no_other_cuda(message: str, cause: str) -> None:
    other = {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}
    found = broken(pytorch__imported=False, pytorch__error=f"ImportError: {message}", interpreter__environment=other,
                   interpreter__packages={"nvidia-nccl-cu11": "2", "nvidia-nccl-cu12": "2"})  # fmt: skip
    assert told(diagnose(found))[0][0] == cause


def test_a_mig_instance_is_only_likely_gone_where_nothing_else_is_found() -> None:
    parts = {"nvml__devices": [{"index": 0, "mig": True, "mig_parts": 2}], "driver__cuInit": 100}
    named = {"CUDA_VISIBLE_DEVICES": "MIG-0f5f6d2c"}
    assert dict(told(diagnose(broken(**parts, interpreter__environment=named))))["mig-gone"] == LIKELY


def test_wsl_without_a_container_keeps_its_own_cause(machine: Machine, compiled: Path | None) -> None:
    if compiled is None:
        pytest.skip("needs a C compiler: the path of the library is evidence")
    wsl2(machine).file("usr/lib/wsl/lib/libcuda.so.1", "of Windows").library(FAKE_CUINIT=100)
    assert machine.diagnosis().first.cause.name == "wsl-shadowed"
