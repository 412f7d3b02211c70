"""Probe the driver's library (libcuda): cuInit, the driver's CUDA release, and each GPU. Needs no torch."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import runpy
import sys
from collections.abc import Callable
from typing import Any

FILES = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "files.py"))
CAPABILITY = (75, 76)  # CUdevice_attribute in cuda.h: major and minor number

# Where libcuda may lie without being found: GKE and images of that kind, WSL, NixOS, Apptainer, then the usual folders,
# which the linker's cache may not know yet, and those of Jetson.
FOLDERS = (
    "usr/local/nvidia/lib64", "usr/local/nvidia/lib", "usr/lib/wsl/lib", "run/opengl-driver/lib", ".singularity.d/libs",
    "usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "usr/lib/*-linux-gnu/nvidia/current", "usr/lib/*-linux-gnu/tegra",
    "usr/lib/*-linux-gnu/nvidia",
)  # fmt: skip


def number(function: Any, *arguments: Any) -> int | None:
    """Return the number that a function of the driver writes into its first argument, or None if it fails."""
    value = ctypes.c_int(0)
    return value.value if function(ctypes.byref(value), *arguments) == 0 else None


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
    lines = [line.split() for line in FILES["read"](root, "proc/self/mountinfo", 10_000_000).splitlines()]
    points = [line[4] for line in lines if len(line) > 4]
    return any(path == point or path.startswith(point + "/") for point in points) if lines else None


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
    libraries = (path for path in FILES["mapped"]() if os.path.basename(path).startswith("libcuda.so"))
    path = shown(root, next(libraries, ""))
    suffix = re.search(r"libcuda\.so\.(\d{3}\.[\d.]+)$", path)
    hmm = FILES["read"](root, "sys/module/nvidia_uvm/parameters/uvm_disable_hmm")
    emit(
        loaded=True,
        path=path,
        file_version=suffix[1] if suffix else "",
        mounted=mounted(root, path) if path else None,
        windows_library=os.path.exists(os.path.join(root, "usr/lib/wsl/lib/libcuda.so.1")),
        hmm_disabled={"Y": True, "N": False}.get(hmm),
    )
    version = number(cuda.cuDriverGetVersion)  # works even if cuInit fails
    if version is not None:
        emit(version=version)
    code = cuda.cuInit(0)
    emit(cuInit=code)
    if code != 0:
        return
    count = number(cuda.cuDeviceGetCount) or 0
    emit(count=count)
    devices = []
    for index in range(count):
        handle, name = number(cuda.cuDeviceGet, index), ctypes.create_string_buffer(100)
        if handle is None:
            continue
        cuda.cuDeviceGetName(name, len(name), handle)
        major, minor = (number(cuda.cuDeviceGetAttribute, one, handle) or 0 for one in CAPABILITY)
        devices.append({"name": name.value.decode("utf-8", "replace"), "capability": 10 * major + minor})
    emit(devices=devices)
