"""Probe the system: cards on the PCI bus, the driver's kernel module and device files, containers, batch systems."""

from __future__ import annotations

import glob
import os
import platform
import re
import runpy
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

TEGRA = ("nvhost-ctrl-gpu", "nvhost-gpu", "nvgpu")  # device files of a Jetson's GPU
# SMBIOS chassis types: portable, laptop, notebook, tablet …
LAPTOPS = set("8 9 10 14 30 31 32".split())


def beside(name: str) -> dict[str, Any]:
    """Return what the file `name` beside this one defines; it cannot be imported where torch_doctor is not installed."""
    return runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), name))


read = beside("files.py")["read"]


def gone(folder: str) -> bool:
    """Return whether a card that the system listed does not answer any more: its registers read as ones."""
    if read(folder, "power/runtime_status") != "active":
        return False
    try:
        with open(os.path.join(folder, "config"), "rb") as file:
            return file.read(4) == b"\xff\xff\xff\xff"
    except OSError:
        return False


def cards(root: str) -> list[dict[str, Any]]:
    """Return the graphics cards and accelerators on the PCI bus: vendor, device, kernel driver, whether it is gone."""
    found = []
    for folder in sorted(glob.glob(os.path.join(root, "sys/bus/pci/devices/*"))):
        kind = read(folder, "class")
        vendor = read(folder, "vendor")
        # 0x03…: display controllers. 0x12…: accelerators.
        if not kind.startswith(("0x03", "0x12")) or vendor not in ("0x10de", "0x1002", "0x8086"):
            continue
        link = os.path.join(folder, "driver")
        driver = os.path.basename(os.path.realpath(link)) if os.path.islink(link) else ""
        found.append(
            {"vendor": vendor, "device": read(folder, "device"), "driver": driver, "gone": gone(folder)}
        )
    return found


def fabric_manager(root: str) -> bool:
    """Return whether the service of NVSwitch runs (Linux cuts names to 15 characters)."""
    files = glob.glob(os.path.join(root, "proc/[0-9]*/comm"))
    return any(read("/", file) == "nv-fabricmanage" for file in files)


def run_command(*command: str, seconds: float = 2.0) -> str | None:
    """Return what a system command prints, or None if it fails or does not exist."""
    path = shutil.which(command[0])
    if not path:
        return None
    try:
        done = subprocess.run(
            [path, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            encoding="utf-8", errors="replace", timeout=seconds,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def cpu_quota(root: str) -> float | None:
    """Return how many CPUs this control group may use, or None if there is no limit."""
    limit = read(root, "sys/fs/cgroup/cpu.max").split()
    if len(limit) == 2 and limit[0].isdigit():
        return int(limit[0]) / int(limit[1])
    old = read(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    if old.isdigit():
        return int(old) / int(read(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us") or 100_000)
    return None


def hardware(root: str) -> dict[str, Any]:
    """Return the cards on the PCI bus, and the state of the driver's kernel module (Linux)."""
    model = read(root, "proc/device-tree/model")
    kernel = read(root, "proc/sys/kernel/osrelease") or platform.release()
    flags = re.search(r"(?m)^flags\s*:.*", read(root, "proc/cpuinfo"))
    loaded = read(root, "proc/driver/nvidia/version")
    module = re.search(r"Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\b", loaded)
    # A container on a Jetson has no such file, but runs on the host's kernel.
    tegra = os.path.exists(os.path.join(root, "etc/nv_tegra_release")) or "-tegra" in kernel
    return {
        "kernel": kernel,
        "pci": len(glob.glob(os.path.join(root, "sys/bus/pci/devices/*"))),
        "cards": cards(root),
        "dxg": os.path.exists(os.path.join(root, "dev/dxg")),
        "jetson": (model or "yes") if tegra else "",
        "tegra_nodes": any(os.path.exists(os.path.join(root, "dev", name)) for name in TEGRA),
        "module": module[1] if module else "",
        "laptop": read(root, "sys/class/dmi/id/chassis_type") in LAPTOPS,
        "vm": bool(flags and " hypervisor" in flags[0]),
        "enforcing": read(root, "sys/fs/selinux/enforce") == "1",
        # SELinux: system_u:system_r:container_t
        "label": read(root, "proc/self/attr/current").partition(":s0")[0],
        "cpu_quota": cpu_quota(root),
        "lspci": shutil.which("lspci") is not None,
        "fabric_manager": fabric_manager(root),
    }


def limits(root: str) -> dict[str, Any]:
    """Return the size of shared memory (bytes), the address space limit, the load, and how long the machine slept."""
    import resource

    load = read(root, "proc/loadavg").split()
    found: dict[str, Any] = {"load": float(load[0]) if load else None}
    shm = os.path.join(root, "dev/shm")
    if os.path.isdir(shm):
        filesystem = os.statvfs(shm)
        found["shm"] = filesystem.f_blocks * filesystem.f_frsize
    address_space = resource.getrlimit(resource.RLIMIT_AS)[0]
    found["address_limit"] = address_space if address_space not in (-1, resource.RLIM_INFINITY) else None
    if hasattr(time, "CLOCK_BOOTTIME"):  # the monotonic clock stops while the machine sleeps
        found["slept"] = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return found


def windows() -> dict[str, Any]:
    """Return the graphics cards that Windows lists, the error codes of its Device Manager, and whether it is a laptop."""
    script = (
        # Without its driver, a card is named "Microsoft Basic Display Adapter"; its number on the bus tells whose it is.
        "Get-CimInstance Win32_VideoController | ForEach-Object { '' + $_.ConfigManagerErrorCode + ' ' + $_.Name +"
        " $(if ($_.PNPDeviceID -match 'VEN_10DE' -and $_.Name -notmatch 'NVIDIA') { ' (NVIDIA)' }) };"
        "'chassis ' + (Get-CimInstance Win32_SystemEnclosure).ChassisTypes"
    )
    text = run_command("powershell", "-NoProfile", "-Command", script, seconds=4.5)
    if text is None:
        return {"video": None}
    cards = re.findall(r"(?m)^(\d*) (.+?)\s*$", text)
    chassis = re.search(r"(?m)^chassis (\d+)", text)
    return {
        "video": [name for _, name in cards],
        "video_errors": {name: int(code) for code, name in cards if code not in ("", "0")},
        "laptop": bool(chassis and chassis[1] in LAPTOPS),
    }


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report what kind of machine and place this is, from files that every user may read."""
    found = beside("place.py")["place"](root, read)
    emit(**found)
    if found["os"] == "windows":
        emit(**windows())
    if found["os"] == "linux":
        found = hardware(root)
        emit(**found)
        emit(**limits(root))
        kernel = beside("kernel.py")
        card = any(card["vendor"] == "0x10de" for card in found["cards"])
        emit(node_owners=kernel["node_owners"](root), **kernel["from_files"](root, read))
        emit(**kernel["from_commands"](root, read, run_command, card))
        # Opening these wakes a sleeping GPU, and may wait for a driver in trouble: last.
        emit(nodes=kernel["nodes"](root))
