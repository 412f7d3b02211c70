"""The steps of all causes: they suit the place, a shell can read them, and they do what they say. Single ones: cases/steps.toml."""

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
from made_up_evidence import healthy
from tabled import tabled, tables

from torch_doctor.diagnosis.causes import Cause, catalogue
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.places import places_of

SHELL = pytest.mark.skipif(sys.platform != "linux", reason="the commands are typed into a shell of Linux")

# --- everywhere -------------------------------------------------------------------------------------


ONLY = {name: set(places.split()) for places, names in tables("test_steps")["only"].items() for name in names}


@tabled
def test_every_cause_has_a_next_step_everywhere(place: dict[str, object]) -> None:
    e = Evidence(healthy(**place))
    for name in catalogue():
        if ONLY.get(name, set()) <= places_of(e):
            has_a_next_step(Cause.of(name, e), e)


def has_a_next_step(cause: Cause, e: Evidence) -> None:
    if cause.kind == "fault":
        assert cause.steps, (cause.name, sorted(places_of(e)))
    steps = [text for step in cause.steps for text in (step.text, step.then)]
    for text in filter(None, (cause.title, cause.why, cause.check_text, *steps)):
        assert not re.search(r"\{[a-z_]+\}", text.en + text.zh), "a gap that nobody filled"
    for command in [cause.check, *[step.run for step in cause.steps]]:
        assert not re.search(r"\{[a-z_]+\}", command), command
        assert "…" not in command and "" not in command.split("\n")[1:], "a line of a command is empty"
    if {"macos", "windows"} & places_of(e):
        assert not [step.run for step in cause.steps if "sudo apt" in step.run], cause.name


# --- distributions and containers -------------------------------------------------------------------


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
        assert other == kind or not re.search(signs, text.replace("nvidia.com/gpu: 1", "")), (kind, text)


# --- typed into a shell -----------------------------------------------------------------------------


@cache
def complaint(command: str) -> str:
    """Return what a shell that reads `command` and runs nothing (``bash -n``) complains about."""
    return subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False).stderr


@SHELL
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
                assert not complaint(step), (name, step)


@SHELL
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


@SHELL
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


@SHELL
def test_suse_names_the_repository_of_its_edition(tmp_path: Path) -> None:
    command = Cause.of("driver-absent", evidence(family="suse")).steps[0].run
    for name, edition in {"openSUSE Leap": "Leap", "openSUSE Tumbleweed": "Tumbleweed"}.items():
        (tmp_path / "os-release").write_text(f'NAME="{name}"\n')
        shown = command.replace("sudo zypper install", "echo").replace(
            "/etc/os-release", str(tmp_path / "os-release")
        )
        done = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"openSUSE-repos-{edition}-NVIDIA"
