"""Probe the system: cards on the PCI bus, the driver's kernel module and device files, containers, batch systems."""

from __future__ import annotations

import errno
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
LAPTOPS = {
    "8",
    "9",
    "10",
    "14",
    "30",
    "31",
    "32",
}  # SMBIOS chassis types: portable, laptop, notebook, tablet …


def read(root: str, path: str) -> str:
    """Return the text of the file `path` in the folder `root`, or ``""``."""
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read(100_000).decode("utf-8", "replace").strip("\0\n ")
    except OSError:
        return ""


def opened(path: str) -> str:
    """Open a device file and return ``"ok"``, or the name of the error (``"EACCES"``)."""
    try:
        os.close(os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)))
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))


def cards(root: str) -> list[dict[str, str]]:
    """Return the graphics cards and accelerators on the PCI bus: vendor, device, kernel driver, power."""
    found = []
    for folder in sorted(glob.glob(os.path.join(root, "sys/bus/pci/devices/*"))):
        kind = read(folder, "class")
        vendor = read(folder, "vendor")
        # 0x03…: display controllers. 0x12…: accelerators.
        if not kind.startswith(("0x03", "0x12")) or vendor not in ("0x10de", "0x1002", "0x8086"):
            continue
        link = os.path.join(folder, "driver")
        found.append(
            {
                "vendor": vendor,
                "device": read(folder, "device"),
                "driver": os.path.basename(os.path.realpath(link)) if os.path.islink(link) else "",
                "power": read(folder, "power/runtime_status"),
            }
        )
    return found


def container(root: str) -> str:
    """Return what kind of container this is, or ``""``."""
    if os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if os.path.exists(os.path.join(root, "run/.containerenv")):
        return "podman"
    groups = read(root, "proc/1/cgroup")
    if os.path.exists(os.path.join(root, ".dockerenv")) or re.search(r"docker|containerd", groups):
        return "docker"
    if re.search(r"kubepods", groups):
        return "kubernetes"
    return "docker" if re.search(r"/lxc/|libpod", groups) or os.environ.get("container") else ""


def module_files(root: str) -> list[str]:
    """Return the Linux kernels that have a compiled driver (``nvidia.ko``, on Debian ``nvidia-current.ko``)."""
    found = []
    for folder in sorted(glob.glob(os.path.join(root, "lib/modules/*"))):
        places = ("updates", "extra*", "weak-updates", "kernel/drivers/video", "kernel/nvidia*")
        for top in (top for place in places for top in glob.glob(os.path.join(folder, place))):
            ready = r"nvidia(?:-current|-tesla[\w-]*)?\.ko"
            if any(re.match(ready, file) for _, _, files in os.walk(top) for file in files):
                found.append(os.path.basename(folder))
                break
    return found


def services(root: str) -> set[str]:
    """Return the names of the driver's running services (Linux cuts them to 15 characters)."""
    found = set()
    for file in glob.glob(os.path.join(root, "proc/[0-9]*/comm")):
        name = read(os.path.dirname(file), "comm")
        if name.startswith(("nv-fabricmanage", "nvidia-cuda-mps")):
            found.add(name)
    return found


def run_command(*command: str) -> str | None:
    """Return what a system command prints, or None if it fails or does not exist."""
    if not shutil.which(command[0]):
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=4, stdin=subprocess.DEVNULL)
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


def secure_boot(root: str) -> bool:
    """Return whether Secure Boot is on: the last byte of the EFI variable is 1."""
    try:
        with open(os.path.join(root, SECURE_BOOT), "rb") as file:
            return file.read()[-1:] == b"\x01"
    except OSError:
        return False


def place(root: str) -> dict[str, Any]:
    """Return the operating system, and whether this is WSL, a container, a cloud notebook or a batch system."""
    version = read(root, "proc/version")
    microsoft = "microsoft" in version.lower()
    system = {"win32": "windows", "cygwin": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    return {
        "os": system,
        "arch": platform.machine(),
        "release": platform.release() if system != "linux" else "",
        "wsl": 0 if not microsoft else 2 if re.search(r"WSL2|microsoft-standard", version) else 1,
        "container": container(root) if system == "linux" else "",
        "colab": bool(os.environ.get("COLAB_RELEASE_TAG") or os.environ.get("COLAB_GPU")),
        "kaggle": bool(os.environ.get("KAGGLE_KERNEL_RUN_TYPE")),
        "slurm": bool(os.environ.get("SLURM_JOB_ID")),
        "slurm_tools": next((name for name in ("sbatch", "srun") if shutil.which(name)), ""),
        "jupyterhub": bool(os.environ.get("JUPYTERHUB_API_URL")),
        "docker": bool(shutil.which("docker")),
        "container_toolkit": bool(shutil.which("nvidia-ctk") or shutil.which("nvidia-container-cli")),
        "cores": os.cpu_count(),
    }


def hardware(root: str) -> dict[str, Any]:
    """Return the cards on the PCI bus, and the state of the driver's kernel module (Linux)."""
    model = read(root, "proc/device-tree/model")
    module = re.search(
        r"Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\b", read(root, "proc/driver/nvidia/version")
    )
    return {
        "kernel": read(root, "proc/sys/kernel/osrelease") or platform.release(),
        "pci": len(glob.glob(os.path.join(root, "sys/bus/pci/devices/*"))),
        "cards": cards(root),
        "dxg": os.path.exists(os.path.join(root, "dev/dxg")),
        "jetson": (model or "yes") if os.path.exists(os.path.join(root, "etc/nv_tegra_release")) else "",
        "module": module[1] if module else "",
        "module_files": module_files(root),
        "secure_boot": secure_boot(root),
        "laptop": read(root, "sys/class/dmi/id/chassis_type") in LAPTOPS,
        "cpu_quota": cpu_quota(root),
        "fabric_manager": "nv-fabricmanage" in services(root),
    }


def limits(root: str) -> dict[str, Any]:
    """Return the size of shared memory (bytes), the address space limit, the load, and how long the machine slept."""
    import resource

    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    shm = os.path.join(root, "dev/shm")
    if os.path.isdir(shm):
        filesystem = os.statvfs(shm)
        found["shm"] = filesystem.f_blocks * filesystem.f_frsize
    address_space = resource.getrlimit(resource.RLIMIT_AS)[0]
    found["address_limit"] = address_space if address_space not in (-1, resource.RLIM_INFINITY) else None
    if hasattr(time, "CLOCK_BOOTTIME"):  # the monotonic clock stops while the machine sleeps
        found["slept"] = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return found


def nodes(root: str) -> dict[str, str]:
    """Open the driver's device files, and return how that ended: ``{"nvidiactl": "ok", "nvidia0": "EACCES"}``."""
    names = {"nvidiactl", "nvidia-uvm"} if glob.glob(os.path.join(root, "dev/nvidia*")) else set()
    names |= {os.path.basename(file) for file in glob.glob(os.path.join(root, "dev/nvidia[0-9]*"))}
    if os.path.exists(os.path.join(root, "dev/kfd")):
        names.add("kfd")
    return {name: opened(os.path.join(root, "dev", name)) for name in sorted(names)}


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report what kind of machine and place this is, from files that every user may read."""
    found = place(root)
    emit(**found)
    if found["os"] == "windows":
        names = run_command(
            "powershell", "-NoProfile", "-Command", "(Get-CimInstance Win32_VideoController).Name"
        )
        emit(video=names.splitlines() if names is not None else None)
    if found["os"] == "linux":
        emit(**hardware(root))
        emit(**limits(root))
        emit(prime=run_command("prime-select", "query"))
        # Opening these wakes a sleeping GPU, and may wait for a driver in trouble: last.
        emit(nodes=nodes(root))
