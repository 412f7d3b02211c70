"""What the probes read, on made-up machines: each fact of the evidence, and no failure where something is missing."""

import ast
import os
import sys
from pathlib import Path

import pytest
from fake_machines import Machine
from made_up_evidence import healthy
from tabled import tabled

from torch_doctor import explain
from torch_doctor.diagnosis import probes as probes_package
from torch_doctor.diagnosis.evidence import Evidence
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


def test_the_signer_does_not_tell_the_name_of_the_host() -> None:
    canonical = "Canonical Ltd. Kernel Module Signing"
    for signer, told in (
        ("ada-laptop Secure Boot Module Signature key", "a key of this machine"),
        (canonical, canonical),
    ):
        text = f"version:        580.65.06\nlicense:        NVIDIA\nsigner:         {signer}\nsig_key:        AB\n"
        expected = {"version": "580.65.06", "license": "NVIDIA", "signer": told}
        assert kernel.modinfo(lambda *_, text=text: text) == expected


def test_the_flavour_of_the_loaded_module(machine: Machine) -> None:
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
    root = str(machine.file("proc/driver/nvidia/version", version).root)
    assert bus.hardware(root)["module"] == "580.65.06" and kernel.from_files(root, bus.read)["module_open"]


def test_the_module_of_nixos_is_found(machine: Machine) -> None:
    machine.file("run/booted-system/kernel-modules/lib/modules/6.8.0-45-generic/misc/nvidia.ko.xz")
    assert kernel.module_files(str(machine.root)) == ["6.8.0-45-generic"]


def test_the_rights_of_the_device_files_are_reported(machine: Machine) -> None:
    machine.nodes("nvidia0", "nvidiactl", "kfd")
    for name, mode in (("nvidia0", 0o660), ("kfd", 0o600)):
        (machine.root / "dev" / name).chmod(mode)
    owners = kernel.node_owners(str(machine.root))
    assert {name: rights.split()[0] for name, rights in owners.items()} == {"nvidia0": "660", "kfd": "600"}


def test_a_slow_command_costs_the_probe_its_answer_only(machine: Machine) -> None:
    """`dmesg` is stopped at its own limit, and everything else is reported."""
    machine.gpus(1).command("dmesg", "exec /bin/sleep 60")
    found = machine.found(patience=6.0)["bus"]
    assert found["ended"] == "answered" and found["kernel_log"] == {} and found["nodes"]


# --- the place --------------------------------------------------------------------------------------


@tabled
def test_the_family_of_distributions(text: str, family: str) -> None:
    assert place.family("/", lambda root, path: text) == family


@tabled
def test_the_kind_of_container(
    file: str, text: str, kind: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("container", "KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        monkeypatch.delenv(variable, raising=False)
    root = str(machine.file(file, text).root)
    assert place.container(root, bus.read) == kind
    if file == "dev/lxd/sock":
        machine.file("run/systemd/system/x")
        assert place.container(root, bus.read) == "", "a virtual machine of LXD"


def test_a_container_in_a_user_namespace(machine: Machine) -> None:
    for text, expected in (("0          0 4294967295\n", False), ("0       1000          1\n", True)):
        assert place.rootless(str(machine.file("proc/self/uid_map", text).root), bus.read) is expected


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
    assert "CUDA out of memory" in str(explain("CUDA out of memory. Tried to allocate 2 GiB"))


# --- the driver -------------------------------------------------------------------------------------


def test_what_was_mounted_from_outside(tmp_path: Path) -> None:
    path = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"
    assert driver.mounted(str(tmp_path), path) is None
    points = tmp_path / "proc/self"
    points.mkdir(parents=True)
    mounts = {"/": False, path: True, "/usr/lib/x86_64-linux-gnu": True, "/usr/lib/x86": False}
    for point, expected in mounts.items():
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
    (tmp_path / "usr/lib64").mkdir(parents=True)
    (tmp_path / "usr/lib64/libcuda.so.1").symlink_to(tmp_path / "usr/lib64/libcuda.so.580.65.06")  # gone
    assert len(driver.elsewhere(str(tmp_path))) == 1


def test_cuda_libraries_from_elsewhere_than_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, packages = "/usr/local/cuda/lib64/libcudart.so.12", "/env/lib/python3.12/site-packages/nvidia"
    loaded = ["/lib/libc.so.6", f"{packages}/cublas/lib/libcublas.so.12", elsewhere]
    monkeypatch.setitem(pytorch.FILES, "mapped", lambda: loaded)
    assert pytorch.foreign() == [elsewhere]


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


@pytest.mark.parametrize("name", ["files", "driver", "nvml", "usable", "pytorch"])
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


@tabled
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
