"""Probe the driver's library (libcuda): cuInit, the driver's CUDA release, and each GPU. Needs no torch."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import sys
from collections.abc import Callable
from typing import Any

ATTRIBUTES = {"major": 75, "minor": 76}  # CUdevice_attribute in cuda.h

# Where libcuda may lie without being found: GKE and images of that kind, WSL, NixOS, Apptainer, then the usual folders,
# which the linker's cache may not know yet, and those of Jetson.
FOLDERS = (
    "usr/local/nvidia/lib64", "usr/local/nvidia/lib", "usr/lib/wsl/lib", "run/opengl-driver/lib", ".singularity.d/libs",
    "usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/lib/*-linux-gnu/nvidia/current", "usr/lib/*-linux-gnu/tegra",
    "usr/lib/*-linux-gnu/nvidia",
)  # fmt: skip


def loaded_from(name: str) -> str:
    """Return the file from which the library `name` was loaded (Linux), or ``""``."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            for line in file:
                path = line.rstrip("\n").split(maxsplit=5)[-1]
                if os.path.basename(path).startswith(name):
                    return path
    except OSError:
        pass
    return ""


def elsewhere(root: str) -> list[str]:
    """Return the files named libcuda.so.1 on this machine, wherever the linker does not look; empty ones do not count."""
    found = [file for top in FOLDERS for file in sorted(glob.glob(os.path.join(root, top, "libcuda.so.1")))]
    # a link may lead nowhere
    return [file for file in found if os.path.isfile(file) and os.path.getsize(file) > 0]


def shown(root: str, path: str) -> str:
    """Return `path` as it is on the machine whose files lie in `root`."""
    return "/" + os.path.relpath(path, root) if root != "/" and path.startswith(root) else path


def mounted(root: str, path: str) -> bool | None:
    """Return whether the file `path` was mounted here from outside (as container toolkits do); None if not known."""
    try:
        with open(os.path.join(root, "proc/self/mountinfo"), encoding="utf-8", errors="replace") as file:
            points = [line.split()[4] for line in file if len(line.split()) > 4]
    except OSError:
        return None
    return any(path == point or path.startswith(point + "/") for point in points)


def parameter(root: str, path: str) -> str:
    """Return the text of a small file below /sys, or ``""``."""
    try:
        with open(os.path.join(root, path), encoding="ascii", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def start_from(file: str) -> int | None:
    """Return what cuInit returns if the library is loaded from `file`, or None if it cannot be loaded."""
    try:
        return int(ctypes.CDLL(file).cuInit(0))
    except (OSError, AttributeError):
        return None


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report what cuInit returns, which CUDA the driver supports, and its GPUs."""
    try:
        cuda: Any = ctypes.WinDLL("nvcuda.dll") if sys.platform == "win32" else ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        emit(loaded=False, error=str(error))
        files = elsewhere(root) if sys.platform != "win32" else []
        if files:
            emit(found_in=[shown(root, os.path.dirname(file)) for file in files])
            emit(reached=start_from(files[0]))
        return
    path = shown(root, loaded_from("libcuda.so"))
    suffix = re.search(r"libcuda\.so\.(\d{3}\.[\d.]+)$", path)
    hmm = parameter(root, "sys/module/nvidia_uvm/parameters/uvm_disable_hmm")
    emit(
        loaded=True,
        path=path,
        file_version=suffix[1] if suffix else "",
        mounted=mounted(root, path) if path else None,
        windows_library=os.path.exists(os.path.join(root, "usr/lib/wsl/lib/libcuda.so.1")),
        hmm_disabled={"Y": True, "N": False}.get(hmm),
    )
    number = ctypes.c_int(0)
    if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:  # works even if cuInit fails
        emit(version=number.value)
    code = cuda.cuInit(0)
    emit(cuInit=code)
    if code != 0:
        return
    count = ctypes.c_int(0)
    emit(count=count.value if cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0)
    devices = []
    for index in range(count.value):
        handle, name = ctypes.c_int(0), ctypes.create_string_buffer(100)
        if cuda.cuDeviceGet(ctypes.byref(handle), index) != 0:
            continue
        cuda.cuDeviceGetName(name, len(name), handle)
        values = {}
        for key, attribute in ATTRIBUTES.items():
            value = ctypes.c_int(0)
            if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle) == 0:
                values[key] = value.value
        capability = 10 * values.get("major", 0) + values.get("minor", 0)
        devices.append({"name": name.value.decode("utf-8", "replace"), "capability": capability})
    emit(devices=devices)
