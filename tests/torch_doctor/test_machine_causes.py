"""Is there a GPU that this process may use: no false "nothing is broken", places with steps of their own, and the probes' facts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_machines import CUDA_BUILD, Machine
from made_up_evidence import healthy

from torch_doctor import explain
from torch_doctor.diagnosis.causes import Cause
from torch_doctor.diagnosis.diagnose import diagnose
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.places import places_of
from torch_doctor.diagnosis.probes import bus, driver, interpreter, job, kernel, place
from torch_doctor.diagnosis.rules.base import LIKELY, SURE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")

BROKEN = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
NVIDIA_KO = "lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko"

# --- no false "nothing is broken" ---------------------------------------------------------------------

# Something of NVIDIA's driver or of a GPU is here, although the bus shows no card.
CONTRARY: dict[str, tuple[str, Callable[[Machine], object]]] = {
    "libcuda was loaded": ("card-not-listed", lambda m: m.library(FAKE_CUINIT=100)),
    "nvidia-smi complains": ("card-not-listed", lambda m: m.smi(BROKEN, 9)),
    "nvidia-smi finds nothing": ("card-not-listed", lambda m: m.smi("No devices were found", 6)),
    "the module is loaded": ("card-not-listed", lambda m: m.module()),
    "the module is built": ("card-not-listed", lambda m: m.file(NVIDIA_KO)),
    "prime-select": ("integrated-mode", lambda m: m.command("prime-select", "echo intel")),
    "envycontrol": (
        "integrated-mode",
        lambda m: m.file("etc/udev/rules.d/50-remove-nvidia.rules").file(
            "etc/modprobe.d/blacklist-nvidia.conf"
        ),
    ),
    "supergfxctl": (
        "integrated-mode",
        lambda m: m.file("etc/supergfxd.conf", '{\n  "mode": "Integrated"\n}'),
    ),
    "system76-power": (
        "integrated-mode",
        lambda m: m.file("etc/modprobe.d/system76-power.conf", "blacklist nouveau\nblacklist nvidia\n"),
    ),
    "ASUS": ("integrated-mode", lambda m: m.file("sys/devices/platform/asus-nb-wmi/dgpu_disable", "1\n")),
    "a Jetson's container": (
        "container-without-gpu",
        lambda m: m.file("proc/sys/kernel/osrelease", "5.10.120-tegra").file(".dockerenv"),
    ),
    "tools of the driver in a container": (
        "container-without-gpu",
        lambda m: m.smi(BROKEN, 9).file(".dockerenv"),
    ),
    "an LXC container": (
        "container-without-gpu",
        lambda m: m.file("run/systemd/container", "lxc\n").cards(1).module().library(FAKE_CUINIT=100),
    ),
}


@pytest.mark.parametrize("name", CONTRARY)
def test_what_speaks_against_it_forbids_nothing_is_broken(name: str, machine: Machine) -> None:
    cause, build = CONTRARY[name]
    build(machine.torch(**CUDA_BUILD))
    found = machine.diagnosis()
    assert found.first.cause.name == cause, [(one.cause.name, one.sure) for one in found.verdicts]
    assert found.kind == "fault"
    assert "no-gpu" not in [one.cause.name for one in found.verdicts]


@pytest.mark.parametrize("video", ["AMD Radeon(TM) Graphics", "Intel(R) Iris(R) Xe Graphics"])
@pytest.mark.parametrize("laptop", [True, False])
def test_windows_with_the_driver_and_without_the_card(video: str, laptop: bool, machine: Machine) -> None:
    machine.torch(**CUDA_BUILD).library(FAKE_CUINIT=100)
    for path, value in {
        "os": "windows",
        "cards": [],
        "nodes": {},
        "pci": None,
        "video": [video],
        "laptop": laptop,
    }.items():
        machine.report(f"bus.{path}", value)
    found = machine.diagnosis()
    assert found.first.cause.name == ("card-off" if laptop else "card-not-listed")
    assert found.first.sure == LIKELY


@pytest.mark.parametrize("kind", ["docker", "podman", "kubernetes", "apptainer", "lxc"])
def test_a_container_is_never_sure_that_there_is_no_gpu(kind: str, machine: Machine) -> None:
    found = machine.torch(**CUDA_BUILD).report("bus.container", kind).diagnosis()
    assert (found.first.cause.name, found.first.sure) == ("no-gpu", LIKELY)
    assert len(found.verdicts) == 1, "one voice"


def test_the_compatibility_libraries_of_an_image_are_no_driver(
    machine: Machine, compiled: Path | None
) -> None:
    if compiled is None:
        pytest.skip("needs a C compiler: the path of a loaded library is evidence")
    machine.torch(**CUDA_BUILD).library("/usr/local/cuda-13.0/compat", FAKE_CUINIT=100)
    assert machine.diagnosis().first.cause.name == "no-gpu"


# --- told apart ---------------------------------------------------------------------------------------


def test_a_card_that_fell_off_the_bus_is_not_one_that_never_started(machine: Machine) -> None:
    machine.gpus(2).set(FAKE_COUNT=1).command(
        "dmesg", "echo 'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26)'"
    )
    assert "card-not-started" in [one.cause.name for one in machine.diagnosis().verdicts]
    machine.command("dmesg", "echo 'NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.'")
    assert "card-not-started" not in [one.cause.name for one in machine.diagnosis().verdicts]


@pytest.mark.parametrize("place", ["a job with one of two GPUs", "one of two may be opened"])
def test_a_process_that_may_use_some_gpus_only_is_no_fault(place: str, machine: Machine) -> None:
    machine.gpus(2).set(FAKE_COUNT=1).command(
        "dmesg", "echo 'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26)'"
    )
    if "job" in place:
        machine.set(SLURM_JOB_ID=1, SLURM_JOB_GPUS=0)
    else:
        machine.report("bus.nodes.nvidia1", "EPERM")
    assert "card-not-started" not in [one.cause.name for one in machine.diagnosis().verdicts]


def test_a_lost_container_and_one_that_never_had_the_gpu(machine: Machine) -> None:
    machine.gpus(1, FAKE_CUINIT=999, FAKE_NVML=999).file(".dockerenv").report("bus.nodes.nvidia0", "EPERM")
    told = [(one.cause.name, one.sure) for one in machine.diagnosis().verdicts]
    assert told[0] == ("container-lost", LIKELY)
    assert ("devices-denied", 1) in told
    machine.file("proc/uptime", "90000.5 1.0\n").file("proc/1/stat", f"1 (a (b) c) S {'0 ' * 18}8999000 0\n")
    told = [(one.cause.name, one.sure) for one in machine.diagnosis().verdicts]
    assert told[0] == ("devices-denied", LIKELY), "started ten seconds ago"
    machine.file("proc/1/stat", f"1 (sh) S {'0 ' * 18}100 0\n")
    assert machine.diagnosis().first.cause.name == "container-lost"
    machine.report("bus.rootless", True).report("bus.container", "lxc")
    assert machine.diagnosis().first.cause.name == "devices-denied"


@pytest.mark.parametrize(
    "label, rights, cause, sure",
    [
        ("system_u:system_r:container_t", "666 0 0", "selinux", SURE),
        ("system_u:system_r:spc_t", "660 0 44", "no-permission", SURE),
        ("", "666 0 0", "no-permission", LIKELY),
        ("system_u:system_r:container_t", "660 0 44", "no-permission", SURE),
    ],
)
def test_selinux_and_rights(label: str, rights: str, cause: str, sure: int, machine: Machine) -> None:
    machine.gpus(1, FAKE_CUINIT=304, FAKE_NVML=4).file("run/.containerenv").report("bus.label", label)
    machine.report("bus.nodes.nvidia0", "EACCES").report("bus.node_owners", {"nvidia0": rights})
    found = machine.diagnosis()
    assert (found.first.cause.name, found.first.sure) == (cause, sure)


def test_the_shell_of_salloc_is_only_likely_a_job_without_gpu(machine: Machine) -> None:
    machine.set(SLURM_JOB_ID=4711).torch(**CUDA_BUILD)
    assert machine.diagnosis().first.sure == LIKELY
    found = machine.set(SLURMD_NODENAME="node7").diagnosis()
    assert (found.first.cause.name, found.first.sure) == ("job-without-gpu", SURE)


@pytest.mark.parametrize(
    "value, opened, verdict",
    [
        ("-1", "ok", ("hidden", SURE)),  # Slurm never writes that
        (
            "",
            "ok",
            ("job-without-gpu", LIKELY),
        ),  # Slurm, or the user on a cluster that does not hand GPUs out
        ("NoDevFiles", "ok", ("job-without-gpu", SURE)),
        (None, "EPERM", ("job-without-gpu", SURE)),
        (None, "EACCES", ("no-permission", SURE)),  # the rights of the file, not Slurm's control group
    ],
)
def test_in_a_job_not_everything_is_done_by_slurm(
    value: str | None, opened: str, verdict: tuple[str, int], machine: Machine
) -> None:
    code = {"FAKE_CUINIT": 100} if value is None else {"FAKE_VISIBLE": 0}
    machine.gpus(1, **code).set(SLURM_JOB_ID=4711).report("bus.nodes.nvidia0", opened)
    machine.report("bus.node_owners", {"nvidia0": "660 0 44"})
    if value is not None:
        machine.set(CUDA_VISIBLE_DEVICES=value)
    found = machine.diagnosis()
    assert (found.first.cause.name, found.first.sure) == verdict


@pytest.mark.parametrize("rights, joins", [("660 0 44", True), ("660 0 0", False), ("600 0 44", False)])
def test_nobody_is_told_to_join_the_group_of_root(rights: str, joins: bool, machine: Machine) -> None:
    machine.gpus(1, FAKE_CUINIT=304, FAKE_NVML=4).report("bus.nodes.nvidia0", "EACCES")
    found = machine.report("bus.node_owners", {"nvidia0": rights}).diagnosis()
    assert found.first.cause.name == "no-permission"
    assert ("usermod" in found.first.cause.steps[0].run) is joins


@pytest.mark.parametrize(
    "lockdown, enforced, signed_only",
    [("none [integrity] confidentiality", "N", True), ("[none] integrity confidentiality", "N", False),
     ("[none] integrity confidentiality", "Y", True), ("", "Y", True), ("", "N", None)],
)  # fmt: skip
def test_whether_the_kernel_wants_signatures(lockdown: str, enforced: str, signed_only: bool | None) -> None:
    files = {"lockdown": lockdown, "sig_enforce": enforced}
    assert kernel.signatures("/", lambda root, path: files[path.rpartition("/")[2]]) is signed_only


@pytest.mark.parametrize(
    "number, license, version, fits",
    [
        ("0x2b85", "NVIDIA", "575.51.03", False),  # RTX 5090, proprietary modules
        ("0x2b85", "Dual MIT/GPL", "575.51.03", True),
        ("0x2b85", "Dual MIT/GPL", "560.35.03", False),  # older than Blackwell
        ("0x1b80", "Dual MIT/GPL", "575.51.03", False),  # GTX 1080, open modules
        ("0x1b80", "NVIDIA", "580.95.05", True),
        ("0x1db1", "NVIDIA", "590.48.01", False),  # V100
        ("0x102d", "NVIDIA", "580.95.05", False),  # K80
        ("0x2684", "NVIDIA", "590.48.01", True),  # RTX 4090
    ],
)
def test_which_driver_serves_which_card(number: str, license: str, version: str, fits: bool) -> None:
    found = {
        "bus": {
            "os": "linux", "kernel": "6.8", "module_files": ["6.8"], "modinfo": {"license": license, "version": version},
            "pci": 9, "cards": [{"vendor": "0x10de", "device": number, "driver": ""}],
        }
    }  # fmt: skip
    told = diagnose(found).first
    assert told.cause.name == ("driver-not-loaded" if fits else "driver-not-for-card")
    assert told.sure == (LIKELY if fits else SURE)


# --- steps for the place ------------------------------------------------------------------------------

FAMILIES = {
    "ubuntu": "apt|ubuntu-drivers|update-initramfs",
    "debian": "apt|update-initramfs|dkms",
    "fedora": "dnf|akmods|dracut|kmodgenca",
    "arch": "pacman|yay|mkinitcpio",
    "suse": "zypper|dracut",
    "nixos": "nixos-rebuild",
}
TOOLS = sorted({tool for tools in FAMILIES.values() for tool in tools.split("|")})
BY_FAMILY = ("driver-absent", "driver-not-built", "driver-not-for-card", "nouveau")


def evidence(**facts: object) -> Evidence:
    """Return evidence about a Linux machine with one NVIDIA card."""
    card = {"vendor": "0x10de", "device": "0x2684", "driver": ""}
    return Evidence(
        {"bus": {"os": "linux", "kernel": "6.8", "pci": 9, "cards": [card], "modinfo": {}} | facts}
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cause", BY_FAMILY)
@pytest.mark.parametrize("number", ["0x2684", "0x2b85", "0x1b80"])
def test_each_distribution_has_commands_of_its_own(family: str, cause: str, number: str) -> None:
    card = {"vendor": "0x10de", "device": number, "driver": ""}
    commands = "\n".join(step.run for step in Cause.of(cause, evidence(family=family, cards=[card])).steps)
    used = {tool for tool in TOOLS if tool in commands.split() or f"sudo {tool}" in commands}
    assert used, (cause, family)
    assert used <= set(FAMILIES[family].split("|")), (cause, family, commands)
    if number == "0x2b85" and "driver-" in cause:
        assert "580xx" not in commands and "proprietary" not in commands
    if number == "0x1b80" and cause in ("driver-absent", "driver-not-for-card"):
        assert "open" not in commands.replace("openSUSE", "").replace("nvidia.open = false", ""), commands


@pytest.mark.parametrize("family", [*FAMILIES, "alpine", ""])
@pytest.mark.parametrize("text", ["machine", "card_start", "driver_module", "access"])
def test_every_cause_has_steps_that_a_shell_can_read(text: str, family: str) -> None:
    """Everywhere at least one step; every command that is one is read by a shell, which runs nothing (``bash -n``)."""
    causes = tomllib.loads(
        resources.files("torch_doctor.diagnosis").joinpath(f"texts/{text}.toml").read_text("utf-8")
    )
    tool = {"integrated-mode": "envycontrol", "no-gpu-runtime": "colab"}
    for name in causes:
        found: dict[str, object] = {"family": family}
        if name in tool:
            found |= {"switched_off": tool[name], tool[name]: True}
        if name.startswith("card-") and name not in ("card-not-listed", "card-not-started"):
            found |= {"os": "windows"}
        if text == "access" and name != "nodes-missing":
            found |= {"container": "docker"}
        cause = Cause.of(name, evidence(**found))
        assert cause.steps, (name, family)
        for step in [*(step.run for step in cause.steps), cause.check]:
            if step and not step.startswith(
                ("--", "#", "nixpkgs", "services.", "hardware.", "gpus:", "resources:")
            ):
                done = subprocess.run(["bash", "-n", "-c", step], capture_output=True, text=True, check=False)
                assert done.returncode == 0, (name, step, done.stderr)


def test_a_driver_from_its_own_installer_is_built_from_its_source(machine: Machine) -> None:
    """Another driver's package over it would mix two drivers."""
    machine.torch(**CUDA_BUILD).cards(1, "")
    machine.file("lib/modules/6.8.0-40-generic/kernel/drivers/video/nvidia.ko").file(
        "etc/os-release", "ID=ubuntu"
    )
    machine.file("usr/src/nvidia-99.1/dkms.conf").file("usr/src/nvidia-515.65.01/dkms.conf")
    runs = [step.run for step in machine.diagnosis().first.cause.steps]
    assert "sudo dkms install nvidia/515.65.01" in runs
    assert not any("ubuntu-drivers" in run for run in runs)
    machine.file("var/lib/dkms/nvidia/515.65.01/source")
    assert "sudo dkms autoinstall" in [step.run for step in machine.diagnosis().first.cause.steps]


@pytest.mark.parametrize(
    "kind", ["docker", "podman", "apptainer", "kubernetes", "lxc", "flatpak", "systemd-nspawn"]
)
@pytest.mark.parametrize("cause", ["container-without-gpu", "no-permission", "devices-denied"])
def test_each_kind_of_container_has_steps_of_its_own(kind: str, cause: str) -> None:
    steps = Cause.of(cause, evidence(container=kind)).steps
    assert steps
    text = " ".join(step.run for step in steps)
    foreign = {
        "docker": "--gpus|--runtime",
        "podman": "nvidia.com/gpu=|keep-groups",
        "apptainer": "--nv",
        "lxc": "lxc ",
    }
    for other, signs in foreign.items():
        if other != kind:
            assert not any(sign in text.replace("nvidia.com/gpu: 1", "") for sign in signs.split("|")), (
                kind,
                text,
            )


@pytest.mark.parametrize("tool", ["prime-select", "envycontrol", "supergfxctl", "system76-power", "asus-wmi"])
def test_each_tool_switches_the_card_on_again(tool: str) -> None:
    (step,) = Cause.of("integrated-mode", evidence(switched_off=tool)).steps
    assert step.costs and (tool in step.run or "dgpu_disable" in step.run)


def test_the_lines_that_forbid_the_module_become_comments(tmp_path: Path) -> None:
    steps = Cause.of("driver-not-loaded", evidence(forbidden=["/etc/modprobe.d/no.conf"])).steps
    file = tmp_path / "no.conf"
    file.write_text("blacklist nvidia\nblacklist nvidiafb\nalias nvidia off\noptions nvidia NVreg_X=1\n")
    command = steps[0].run.replace("sudo ", "").replace("/etc/modprobe.d", str(tmp_path))
    subprocess.run(["bash", "-c", command], check=True)
    assert (
        file.read_text()
        == "# blacklist nvidia\nblacklist nvidiafb\n# alias nvidia off\noptions nvidia NVreg_X=1\n"
    )


def test_debian_opens_the_part_with_the_driver(tmp_path: Path) -> None:
    steps = Cause.of("driver-absent", evidence(family="debian")).steps
    (tmp_path / "sources.list.d").mkdir()
    new, old = tmp_path / "sources.list.d/debian.sources", tmp_path / "sources.list"
    new.write_text("Types: deb\nSuites: trixie\nComponents: main\n")
    old.write_text("deb https://mirror/debian trixie main non-free-firmware\n# the main part\n")
    subprocess.run(
        ["bash", "-c", steps[0].run.replace("sudo ", "").replace("/etc/apt", str(tmp_path))], check=True
    )
    assert "Components: main contrib non-free non-free-firmware\n" in new.read_text()
    assert old.read_text().startswith(
        "deb https://mirror/debian trixie main contrib non-free non-free-firmware\n#"
    )


def test_suse_names_the_repository_of_its_edition(tmp_path: Path) -> None:
    command = Cause.of("driver-absent", evidence(family="suse")).steps[0].run
    for name, edition in {"openSUSE Leap": "Leap", "openSUSE Tumbleweed": "Tumbleweed"}.items():
        (tmp_path / "os-release").write_text(f'NAME="{name}"\n')
        shown = command.replace("sudo zypper install", "echo").replace(
            "/etc/os-release", str(tmp_path / "os-release")
        )
        done = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"openSUSE-repos-{edition}-NVIDIA"


# --- what the probes read -----------------------------------------------------------------------------

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


def test_a_module_that_the_distribution_signed_is_not_refused(machine: Machine) -> None:
    machine.cards(1, "").file(NVIDIA_KO).torch(**CUDA_BUILD)
    machine.report("bus.secure_boot", True)
    for signer, cause in {
        "Canonical Ltd. Kernel Module Signing": "driver-not-loaded",
        "a key of this machine": "driver-not-signed",
    }.items():
        machine.report("bus.modinfo", {"version": "580.65.06", "license": "NVIDIA", "signer": signer})
        found = machine.diagnosis().first
        assert (found.cause.name, found.sure) == (cause, LIKELY)


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


def test_windows_names_cards_with_their_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "0 Intel(R) UHD Graphics\r\n43 NVIDIA GeForce RTX 3060 Laptop GPU\r\nchassis 10\r\n"
    monkeypatch.setattr(bus, "run_command", lambda *command, seconds: text)
    assert bus.windows() == {
        "video": ["Intel(R) UHD Graphics", "NVIDIA GeForce RTX 3060 Laptop GPU"],
        "video_errors": {"NVIDIA GeForce RTX 3060 Laptop GPU": 43},
        "laptop": True,
    }


def test_a_slow_command_costs_the_probe_its_answer_only(machine: Machine) -> None:
    """`dmesg` is stopped at its own limit, and everything else is reported."""
    if not shutil.which("sleep"):
        pytest.skip("needs sleep")
    machine.gpus(1).command("dmesg", "exec /bin/sleep 60")
    found = machine.found(patience=6.0)["bus"]
    assert found["ended"] == "answered" and found["kernel_log"] == {} and found["nodes"]


@pytest.mark.parametrize("error", ["FileNotFoundError", "ImportError", "OSError"])
def test_a_broken_pytorch_is_not_fine_because_there_is_no_gpu(error: str, machine: Machine) -> None:
    machine.torch(raises=[error, "Could not find module 'torch/lib/c10.dll' (or one of its dependencies)."])
    assert machine.diagnosis().kind == "fault"


@pytest.mark.parametrize(
    "rights, command", [("644 0 0", "chmod a+rw"), ("600 0 0", "chmod"), ("660 0 44", "usermod")]
)
def test_nobody_joins_the_group_of_root(rights: str, command: str) -> None:
    e = Evidence(healthy(bus__node_owners={"nvidia0": rights}))
    steps = Cause.of("no-permission", e).steps
    assert command in steps[0].run and ("usermod" in steps[-1].run) == (command == "usermod")


def test_a_link_to_a_library_that_is_gone_is_no_library(machine: Machine) -> None:
    folder = machine.root / "usr/lib64"
    folder.mkdir(parents=True)
    (folder / "libcuda.so.1").symlink_to(folder / "libcuda.so.580.65.06")
    assert driver.elsewhere(str(machine.root)) == []


def test_the_rights_of_the_device_files_are_reported(machine: Machine) -> None:
    machine.nodes("nvidia0", "nvidiactl", "kfd")
    for name, mode in (("nvidia0", 0o660), ("kfd", 0o600)):
        (machine.root / "dev" / name).chmod(mode)
    owners = kernel.node_owners(str(machine.root))
    assert {name: rights.split()[0] for name, rights in owners.items()} == {"nvidia0": "660", "kfd": "600"}


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


def test_lines_that_are_not_of_a_worker_do_not_stop_the_watcher() -> None:
    worker = SimpleNamespace(stdout=["7\n", "[]\n", '"x"\n', '{"port": 4}\n'])
    watcher = job._Watcher(lambda **_: None)
    watcher.read(worker, 0)
    assert watcher.port == 4
