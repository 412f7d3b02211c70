"""What the probes read, on made-up machines: each fact of the evidence, and no failure where something is missing."""

import ast
import os
import shutil
import sys
from pathlib import Path

import pytest
from fake_machines import Machine
from made_up_evidence import healthy

from torch_doctor import explain
from torch_doctor.diagnosis import probes as probes_package
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.places import places_of
from torch_doctor.diagnosis.probes import bus, driver, interpreter, kernel, nvml, place, pytorch, speed
from torch_doctor.diagnosis.rules.base import hiding_programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")

# --- the rights of files, the kernel, its log -------------------------------------------------------


@pytest.mark.parametrize(
    "lockdown, enforced, signed_only",
    [("none [integrity] confidentiality", "N", True), ("[none] integrity confidentiality", "N", False),
     ("[none] integrity confidentiality", "Y", True), ("", "Y", True), ("", "N", None)],
)  # fmt: skip
def test_whether_the_kernel_wants_signatures(lockdown: str, enforced: str, signed_only: bool | None) -> None:
    files = {"lockdown": lockdown, "sig_enforce": enforced}
    assert kernel.signatures("/", lambda root, path: files[path.rpartition("/")[2]]) is signed_only


def test_one_message_of_the_driver_has_several_lines() -> None:
    text = (
        "[    8.1] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1381)\n"
        "[    8.1] NVRM: installed in this system is supported through the\n"
        "[    8.1] NVRM: NVIDIA 580.xx Legacy drivers. Please visit\n"
    )
    found = kernel.log(lambda *command: text if command == ("dmesg",) else None)
    assert found == {"legacy": "supported through the NVIDIA 580.xx Legacy drivers"}


def test_the_journal_is_asked_where_dmesg_is_forbidden(machine: Machine) -> None:
    machine.cards(1).command("dmesg", "echo 'dmesg: read kernel buffer failed' >&2; exit 1")
    machine.command("journalctl", "echo 'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x65:1792)'")
    assert machine.found()["bus"]["kernel_log"] == {"not-started": "RmInitAdapter failed! (0x62:0x65:1792)"}


@pytest.mark.parametrize(
    "signer, told",
    {
        "ada-laptop Secure Boot Module Signature key": "a key of this machine",
        "Canonical Ltd. Kernel Module Signing": "Canonical Ltd. Kernel Module Signing",
    }.items(),
)
def test_the_signer_does_not_tell_the_name_of_the_host(signer: str, told: str) -> None:
    text = (
        f"version:        580.65.06\nlicense:        NVIDIA\nsigner:         {signer}\nsig_key:        AB\n"
    )
    assert kernel.modinfo(lambda *command: text) == {
        "version": "580.65.06",
        "license": "NVIDIA",
        "signer": told,
    }


def test_the_flavour_of_the_loaded_module(machine: Machine) -> None:
    machine.cards(1).file(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n",
    )
    found = machine.found()["bus"]
    assert (found["module"], found["module_open"]) == ("580.65.06", True)


def test_a_lost_card_reads_as_ones(machine: Machine) -> None:
    machine.cards(2)
    folders = sorted((machine.root / "sys/bus/pci/devices").glob("0000:de:*"))
    (folders[0] / "config").write_bytes(b"\xde\x10\x84\x26")
    (folders[1] / "config").write_bytes(b"\xff" * 64)
    assert [card["gone"] for card in machine.found()["bus"]["cards"]] == [False, True]


def test_the_module_of_nixos_is_found(machine: Machine) -> None:
    machine.file("run/booted-system/kernel-modules/lib/modules/6.8.0-45-generic/misc/nvidia.ko.xz")
    assert machine.found()["bus"]["module_files"] == ["6.8.0-45-generic"]


def test_the_rights_of_the_device_files_are_reported(machine: Machine) -> None:
    machine.nodes("nvidia0", "nvidiactl", "kfd")
    for name, mode in (("nvidia0", 0o660), ("kfd", 0o600)):
        (machine.root / "dev" / name).chmod(mode)
    owners = kernel.node_owners(str(machine.root))
    assert {name: rights.split()[0] for name, rights in owners.items()} == {"nvidia0": "660", "kfd": "600"}


def test_a_slow_command_costs_the_probe_its_answer_only(machine: Machine) -> None:
    """`dmesg` is stopped at its own limit, and everything else is reported."""
    if not shutil.which("sleep"):
        pytest.skip("needs sleep")
    machine.gpus(1).command("dmesg", "exec /bin/sleep 60")
    found = machine.found(patience=6.0)["bus"]
    assert found["ended"] == "answered" and found["kernel_log"] == {} and found["nodes"]


# --- the place --------------------------------------------------------------------------------------


OS_RELEASE = {
    "ID=ubuntu\nID_LIKE=debian\n": "ubuntu",
    'ID=linuxmint\nID_LIKE="ubuntu debian"\n': "ubuntu",
    'ID=pop\nID_LIKE="ubuntu debian"\n': "ubuntu",
    "ID=debian\n": "debian",
    "ID=kali\nID_LIKE=debian\n": "debian",
    "ID=fedora\n": "fedora",
    'ID="rocky"\nID_LIKE="rhel centos fedora"\n': "fedora",
    'ID="amzn"\nID_LIKE="fedora"\n': "fedora",
    "ID=cachyos\nID_LIKE=arch\n": "arch",
    "ID=manjaro\nID_LIKE=arch\n": "arch",
    'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n': "suse",
    'ID="sles"\nID_LIKE="suse"\n': "suse",
    "ID=nixos\n": "nixos",
    "ID=alpine\n": "alpine",
    "ID=void\n": "",
    "": "",
}


@pytest.mark.parametrize("text", OS_RELEASE)
def test_the_family_of_distributions(text: str, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(text)
    assert place.family(str(tmp_path), bus.read) == OS_RELEASE[text]


@pytest.mark.parametrize(
    "file, text, kind",
    [
        (".dockerenv", "", "docker"),
        ("run/.containerenv", "", "podman"),
        ("run/systemd/container", "lxc\n", "lxc"),
        ("proc/1/environ", "TERM=linux\0container=lxc\0", "lxc"),
        ("proc/1/cgroup", "0::/lxc.payload.c1/init.scope\n", "lxc"),
        ("dev/lxd/sock", "", "lxc"),
        ("proc/1/cgroup", "12:pids:/kubepods/burstable/pod1\n", "kubernetes"),
        ("run/systemd/container", "wsl\n", ""),
        ("run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("proc/1/environ", "container=oci\0", "docker"),
        ("proc/1/cgroup", "0::/init.scope\n", ""),
    ],
)
def test_the_kind_of_container(file: str, text: str, kind: str, machine: Machine) -> None:
    found = machine.file(file, text).found()["bus"]
    assert found["container"] == kind


def test_a_virtual_machine_of_lxd_is_no_container(machine: Machine) -> None:
    assert machine.file("dev/lxd/sock").file("run/systemd/system/x").found()["bus"]["container"] == ""


def test_a_container_in_a_user_namespace(machine: Machine) -> None:
    assert (
        machine.file("proc/self/uid_map", "         0          0 4294967295\n").found()["bus"]["rootless"]
        is False
    )
    found = machine.file("proc/self/uid_map", "         0       1000          1\n").file(".dockerenv").found()
    assert "rootless" in places_of(Evidence(found))


def test_windows_names_cards_with_their_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "0 Intel(R) UHD Graphics\r\n43 NVIDIA GeForce RTX 3060 Laptop GPU\r\nchassis 10\r\n"
    monkeypatch.setattr(bus, "run_command", lambda *command, seconds: text)
    assert bus.windows() == {
        "video": ["Intel(R) UHD Graphics", "NVIDIA GeForce RTX 3060 Laptop GPU"],
        "video_errors": {"NVIDIA GeForce RTX 3060 Laptop GPU": 43},
        "laptop": True,
    }


def test_a_folder_that_was_deleted_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found: dict[str, object] = {}
    interpreter.probe("/", lambda **more: found.update(more))
    assert (found["folder"], found["project"]) == ("", {}) and "packages" in found
    assert "CUDA out of memory" in str(
        explain("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
    )


# --- the driver -------------------------------------------------------------------------------------


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


def test_an_empty_file_is_no_library(tmp_path: Path) -> None:
    """Images that were saved from a running container have empty files in place of what was mounted."""
    for folder, content in (("usr/local/nvidia/lib64", ""), ("usr/lib/aarch64-linux-gnu/tegra", "ELF")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libcuda.so.1").write_text(content)
    assert driver.elsewhere(str(tmp_path)) == [str(tmp_path / "usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1")]
    assert driver.start_from(driver.elsewhere(str(tmp_path))[0]) is None, (
        "what is no library cannot be started"
    )


def test_a_link_to_a_library_that_is_gone_is_no_library(machine: Machine) -> None:
    folder = machine.root / "usr/lib64"
    folder.mkdir(parents=True)
    (folder / "libcuda.so.1").symlink_to(folder / "libcuda.so.580.65.06")
    assert driver.elsewhere(str(machine.root)) == []


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


# --- the program itself -----------------------------------------------------------------------------


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
    lines = pytorch.settings(pytorch._SETS, str(tmp_path))
    found = [(line["file"], line["line"], line["value"]) for line in lines]
    assert found == [("lesson.ipynb", 1, "5"), ("run.sh", 1, "0,1"), ("run.sh", 3, ""), ("train.py", 2, "2"),
                     ("train.py", 6, "")]  # fmt: skip
    assert pytorch.settings(pytorch._SETS, str(tmp_path / "none")) == []
    two = Evidence(healthy(pytorch__hides=lines))
    assert [line["value"] for line in hiding_programs(two)] == ["5", "", "2", ""], "0,1 exist here"


@pytest.mark.parametrize(
    "line, slow",
    [
        ('os.environ["CUDA_LAUNCH_BLOCKING"] = "1"', True),
        ("export CUDA_LAUNCH_BLOCKING=1", True),
        ("torch.autograd.set_detect_anomaly(True)", True),
        ('if os.environ["CUDA_LAUNCH_BLOCKING"] == "1": pass', False),
        ("# torch.autograd.set_detect_anomaly(True)", False),
        ("torch.autograd.set_detect_anomaly(False)", False),
    ],
)
def test_a_line_for_finding_errors_is_noticed(tmp_path: Path, line: str, slow: bool) -> None:
    (tmp_path / "train.py").write_text(f"import torch\n{line}\n")
    assert [one["line"] for one in pytorch.settings(pytorch._SLOWS, str(tmp_path))] == [2] * slow


def test_the_link_of_a_card_is_read_and_unknown_values_are_not_guessed(tmp_path: Path) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:41:00.0"
    folder.mkdir(parents=True)
    for name, text in (("current_link_speed", "5.0 GT/s PCIe"), ("max_link_speed", "32.0 GT/s PCIe"),
                       ("current_link_width", "16"), ("max_link_width", "16")):  # fmt: skip
        (folder / name).write_text(text + "\n")
    found = speed.link(str(tmp_path), "0000:41:00.0")
    assert found == {"speed": 5.0, "max_speed": 32.0, "width": 16.0, "max_width": 16.0}
    (folder / "current_link_speed").write_text("Unknown\n")
    assert speed.link(str(tmp_path), "0000:41:00.0") == {} == speed.link(str(tmp_path), "0000:42:00.0")
