"""Probe the driver's library (libcuda): cuInit, the driver's CUDA release, and each GPU. Needs no torch."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable

ATTRIBUTES = {"major": 75, "minor": 76, "compute_mode": 20}  # CUdevice_attribute in cuda.h


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


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report what cuInit returns, which CUDA the driver supports, and its GPUs."""
    try:
        cuda = ctypes.WinDLL("nvcuda.dll") if sys.platform == "win32" else ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        emit(loaded=False, error=str(error))
        return
    path = loaded_from("libcuda.so")
    if root != "/" and path.startswith(root):
        path = "/" + os.path.relpath(path, root)
    suffix = re.search(r"libcuda\.so\.(\d{3}\.[\d.]+)$", path)
    emit(loaded=True, path=path, file_version=suffix[1] if suffix else "")
    number = ctypes.c_int(0)
    if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:  # works even if cuInit fails
        emit(version=number.value)
    emit(started=True)
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
        devices.append(
            {
                "name": name.value.decode("utf-8", "replace"),
                "capability": 10 * values.get("major", 0) + values.get("minor", 0),
                "compute_mode": values.get("compute_mode"),
            }
        )
    emit(devices=devices)
