"""Measure a matrix product on the CPU and on the GPU; report threads, battery, the GPU's link and the folder's disk."""

from __future__ import annotations

import glob
import os
import runpy
import sys
import time
from collections.abc import Callable
from typing import Any

read = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "files.py"))["read"]

# File systems of a network, of a cloud drive, and of Windows as seen from WSL (9p, drvfs).
REMOTE = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "drvfs", "fuse.drive", "fuse.sshfs", "fuse.rclone",
          "fuse.gcsfuse", "fuse.s3fs", "fuse.google-drive-ocamlfuse")  # fmt: skip


def best(function: Callable[[], Any], finish: Callable[[], Any]) -> float:
    """Return the shortest time of five runs in seconds; `finish` waits for the end of the work."""
    function()
    finish()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        function()
        finish()
        times.append(time.perf_counter() - start)
    return min(times)


def on_battery(root: str) -> bool | None:
    """Return whether a laptop runs on its battery; None if that is not known."""
    if sys.platform == "win32":
        import ctypes

        status = (ctypes.c_ubyte * 12)()  # SYSTEM_POWER_STATUS: the first byte is 0 without mains
        known = ctypes.windll.kernel32.GetSystemPowerStatus(status)
        return status[0] == 0 if known and status[0] in (0, 1) else None
    supplies = glob.glob(os.path.join(glob.escape(root), "sys/class/power_supply/*"))
    if not supplies or any(read(supply, "online") == "1" for supply in supplies):
        return None if not supplies else False
    # The battery of a mouse has the scope "Device".
    own = [supply for supply in supplies if read(supply, "scope") != "Device"]
    return any(read(supply, "status") == "Discharging" for supply in own)


def remote_disk(root: str, folder: str) -> str:
    """Return the kind of the file system of `folder` if it is one of :data:`REMOTE`, otherwise ``""``."""
    nearest, kind = "", ""
    for line in read(root, "proc/mounts", 10_000_000).splitlines():
        place, system = (line.split() + ["", "", ""])[1:3]
        place = place.replace("\\040", " ")
        inside = folder == place or folder.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(nearest):
            nearest, kind = place, system
    return kind if kind in REMOTE else ""


def link(root: str, card: str) -> dict[str, float]:
    """Return speed (GT/s for each lane) and width (lanes) of a card's PCIe link, now and at most; ``{}`` if not known.

    Args:
        root: The folder with the machine's files.
        card: The card's address (``"0000:41:00.0"``).
    """
    files = {"speed": "current_link_speed", "max_speed": "max_link_speed",
             "width": "current_link_width", "max_width": "max_link_width"}  # fmt: skip
    said = {
        key: read(root, f"sys/bus/pci/devices/{card}/{file}").split(" ")[0] for key, file in files.items()
    }
    known = all(text.replace(".", "", 1).isdigit() for text in said.values())  # else "Unknown"
    return {key: float(text) for key, text in said.items()} if known else {}


def _link_at_work(root: str, properties: Any, work: Callable[[], Any]) -> dict[str, float]:
    """Return the fastest link of the first GPU within half a second of `work`; without work a GPU slows its link down."""
    names = ("pci_domain_id", "pci_bus_id", "pci_device_id")
    if not all(hasattr(properties, name) for name in names):  # releases before 2.7
        return {}
    domain, bus, device = (int(getattr(properties, name)) for name in names)
    found: list[dict[str, float]] = []
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        work()
        found.append(link(root, f"{domain:04x}:{bus:02x}:{device:02x}.0"))
    return max(found, key=lambda one: one.get("speed", 0) * one.get("width", 0))


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report battery, disk, threads and cores, and the time of a 1024 × 1024 product on the CPU and on the first GPU."""
    emit(battery=on_battery(root), disk=remote_disk(root, os.getcwd()))
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    emit(threads=torch.get_num_threads(), cores=cores)
    n = 1024
    a = torch.ones(n, n)
    on_cpu = best(lambda: a @ a, lambda: None)
    emit(cpu_gflops=2 * n**3 / on_cpu / 1e9)
    if torch.cuda.is_available():
        b = a.cuda()
        on_gpu = best(lambda: b @ b, torch.cuda.synchronize)
        emit(gpu_over_cpu=on_cpu / on_gpu)
        work = [torch.cuda.get_device_properties(0), lambda: best(lambda: b @ b, torch.cuda.synchronize)]
        emit(link=_link_at_work(root, *work))
