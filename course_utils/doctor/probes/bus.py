"""What the system says: cards on the bus, the driver's module, its files in /dev, containers and batch systems."""

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
    """Return the text of a small file below `root`, or ``""``."""
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read(100_000).decode("utf-8", "replace").strip("\0\n ")
    except OSError:
        return ""


def opened(path: str) -> str:
    """Return ``"ok"``, or the name of the error with which opening a device file fails."""
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
        # 0x03…: display controllers. 0x12…: accelerators without a display.
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
    """Return the Linux kernels for which a compiled driver (``nvidia.ko``, on Debian ``nvidia-current.ko``) is there."""
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
    """Return which of the driver's own services run, by the beginnings of their names."""
    found = set()
    for file in glob.glob(os.path.join(root, "proc/[0-9]*/comm")):
        name = read(os.path.dirname(file), "comm")
        if name.startswith(("nv-fabricmanage", "nvidia-cuda-mps")):
            found.add(name)
    return found


def asked(*command: str) -> str | None:
    """Return what a small system command prints, or None."""
    if not shutil.which(command[0]):
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=4, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def cpu_quota(root: str) -> float | None:
    """Return how many CPUs this control group may use, or None where there is no limit."""
    limit = read(root, "sys/fs/cgroup/cpu.max").split()
    if len(limit) == 2 and limit[0].isdigit():
        return int(limit[0]) / int(limit[1])
    old = read(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    if old.isdigit():
        return int(old) / int(read(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us") or 100_000)
    return None


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report what kind of machine and place this is, from files that anybody may read."""
    version = read(root, "proc/version")
    microsoft = "microsoft" in version.lower()
    wsl = 0 if not microsoft else 2 if re.search(r"WSL2|microsoft-standard", version) else 1
    system = {"win32": "windows", "cygwin": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    emit(
        os=system,
        arch=platform.machine(),
        release=platform.release() if system != "linux" else "",
        wsl=wsl,
        container=container(root) if system == "linux" else "",
        colab=bool(os.environ.get("COLAB_RELEASE_TAG") or os.environ.get("COLAB_GPU")),
        kaggle=bool(os.environ.get("KAGGLE_KERNEL_RUN_TYPE")),
        slurm=bool(os.environ.get("SLURM_JOB_ID")),
        slurm_tools=next((name for name in ("sbatch", "srun") if shutil.which(name)), ""),
        jupyterhub=bool(os.environ.get("JUPYTERHUB_API_URL")),
        docker=bool(shutil.which("docker")),
        container_toolkit=bool(shutil.which("nvidia-ctk") or shutil.which("nvidia-container-cli")),
        cores=os.cpu_count(),
    )
    if system == "windows":
        names = asked("powershell", "-NoProfile", "-Command", "(Get-CimInstance Win32_VideoController).Name")
        emit(video=names.splitlines() if names is not None else None)
        return
    if system == "darwin":
        return
    model = read(root, "proc/device-tree/model")
    module = re.search(
        r"Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\b", read(root, "proc/driver/nvidia/version")
    )
    secure = os.path.join(root, SECURE_BOOT)
    emit(
        kernel=read(root, "proc/sys/kernel/osrelease") or platform.release(),
        pci=len(glob.glob(os.path.join(root, "sys/bus/pci/devices/*"))),
        cards=cards(root),
        dxg=os.path.exists(os.path.join(root, "dev/dxg")),
        jetson=(model or "yes") if os.path.exists(os.path.join(root, "etc/nv_tegra_release")) else "",
        module=module[1] if module else "",
        module_files=module_files(root),
        secure_boot=os.path.exists(secure) and _last_byte(secure) == 1,
        laptop=read(root, "sys/class/dmi/id/chassis_type") in LAPTOPS,
        cpu_quota=cpu_quota(root),
        fabric_manager="nv-fabricmanage" in services(root),
    )
    shm = os.path.join(root, "dev/shm")
    if os.path.isdir(shm):
        told = os.statvfs(shm)
        emit(shm=told.f_blocks * told.f_frsize)
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    emit(address_limit=limit if limit not in (-1, resource.RLIM_INFINITY) else None, load=os.getloadavg()[0])
    if hasattr(time, "CLOCK_BOOTTIME"):  # one of the two clocks stands still while the machine sleeps
        emit(slept=time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC))
    emit(prime=asked("prime-select", "query"))
    # Opening these wakes a sleeping GPU, and may wait for a driver in trouble: last.
    nodes = {"nvidiactl", "nvidia-uvm"} if glob.glob(os.path.join(root, "dev/nvidia*")) else set()
    nodes |= {os.path.basename(file) for file in glob.glob(os.path.join(root, "dev/nvidia[0-9]*"))}
    if os.path.exists(os.path.join(root, "dev/kfd")):
        nodes.add("kfd")
    emit(nodes={name: opened(os.path.join(root, "dev", name)) for name in sorted(nodes)})


def _last_byte(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return (file.read() or b"\0")[-1]
    except OSError:
        return 0
