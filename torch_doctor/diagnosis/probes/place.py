"""What kind of place this is: system, distribution, container, cloud notebook, batch system.

No probe of its own: the probe ``bus`` loads this file, also in a Python that has no torch_doctor.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from typing import Any

# The names that a family's distributions use as ID or ID_LIKE, besides that of the family.
FAMILIES = {
    "ubuntu": "", "debian": "raspbian", "fedora": "rhel centos rocky almalinux ol amzn", "arch": "manjaro", "nixos": "",
    "suse": "opensuse sles opensuse-leap opensuse-tumbleweed", "alpine": "",
}  # fmt: skip


def family(root: str, read: Any) -> str:
    """Return the family of Linux distributions (``"ubuntu"``, ``"fedora"`` …), from ``/etc/os-release``, or ``""``.

    A derivative names its ancestors, nearest first: Linux Mint has ``ID=linuxmint`` and ``ID_LIKE="ubuntu debian"``.
    """
    fields = dict(re.findall(r"(?m)^(ID|ID_LIKE)=[\"']?([^\"'\n]*)", read(root, "etc/os-release")))
    for name in f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".lower().split():
        for known, names in FAMILIES.items():
            if name in (known, *names.split()):
                return known
    return ""


def container(root: str, read: Any) -> str:
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
    # With control groups of version 2 the path is "/". systemd records the container's kind for everyone, and the first
    # process has a variable that only root may read. LXD offers a socket, but to its virtual machines as well.
    init = re.search(r"(?:^|\0)container=([\w-]+)", read(root, "proc/1/environ"))
    kinds = {read(root, "run/systemd/container"), init[1] if init else "", os.environ.get("container", "")}
    if kinds & {"lxc", "lxc-libvirt"} or re.search(r"[/.]lxc[/.]", groups):
        return "lxc"
    socket = any(os.path.exists(os.path.join(root, "dev", name)) for name in ("lxd", ".lxc", "incus"))
    if socket and not os.path.exists(os.path.join(root, "run/systemd/system")):
        return "lxc"
    if "podman" in kinds or "libpod" in groups:
        return "podman"
    other = sorted(kinds - {"", "wsl"})  # "flatpak", "systemd-nspawn" …
    return {"oci": "docker", "buildah": "docker"}.get(other[0], other[0]) if other else ""


def container_age(root: str, read: Any) -> float | None:
    """Return for how many seconds this container has been running, or None if that is not known."""
    # starttime, counted from the start of the machine
    ticks = read(root, "proc/1/stat").rpartition(")")[2].split()[19:20]
    uptime = read(root, "proc/uptime").split()
    if not ticks or not uptime:
        return None
    age = float(uptime[0]) - int(ticks[0]) / os.sysconf("SC_CLK_TCK")
    return age if age >= 0 else None


def rootless(root: str, read: Any) -> bool:
    """Return whether user 0 in here is an ordinary user outside (a user namespace)."""
    first = read(root, "proc/self/uid_map").split()
    return len(first) >= 3 and first[:3] != ["0", "0", "4294967295"]


def place(root: str, read: Any) -> dict[str, Any]:
    """Return the operating system, and whether this is WSL, a container, a cloud notebook or a batch system."""
    version, kaggle = read(root, "proc/version"), bool(os.environ.get("KAGGLE_KERNEL_RUN_TYPE"))
    microsoft = "microsoft" in version.lower()
    system = {"win32": "windows", "cygwin": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    return {
        "os": system,
        "arch": platform.machine(),
        "release": platform.release() if system != "linux" else "",
        "wsl": 0 if not microsoft else 2 if re.search(r"WSL2|microsoft-standard", version) else 1,
        "container": container(root, read) if system == "linux" else "",
        "container_age": container_age(root, read) if system == "linux" else None,
        "rootless": rootless(root, read),
        "family": family(root, read) if system == "linux" else "",
        # Kaggle's machines are made from Colab's, their variables included.
        "colab": bool(os.environ.get("COLAB_RELEASE_TAG") or os.environ.get("COLAB_GPU")) and not kaggle,
        "kaggle": kaggle,
        "slurm": bool(os.environ.get("SLURM_JOB_ID")),
        "slurm_node": bool(os.environ.get("SLURMD_NODENAME")),  # missing in the shell that `salloc` opens
        "slurm_tools": next((name for name in ("sbatch", "srun") if shutil.which(name)), ""),
        "jupyterhub": bool(os.environ.get("JUPYTERHUB_API_URL")),
        "docker": bool(shutil.which("docker")),
        "container_toolkit": bool(shutil.which("nvidia-ctk") or shutil.which("nvidia-container-cli")),
        "cores": os.cpu_count(),
    }
