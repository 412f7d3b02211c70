"""Probe NVML, the driver's management library (behind nvidia-smi): its state and that of each GPU."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from typing import Any


def _numbers(function: Any, *arguments: Any, count: int, kind: Any = ctypes.c_uint) -> list[int] | None:
    """Return the numbers in the structure that an NVML function fills in; None if it fails or does not exist.

    Args:
        function: The function, or None; the structure is its last argument.
        arguments: Its other arguments.
        count: How many numbers the structure has; more do no harm.
        kind: Their type.
    """
    values = (kind * count)()
    return list(values) if function and function(*arguments, ctypes.byref(values)) == 0 else None


def _number(function: Any, *arguments: Any, kind: Any = ctypes.c_uint) -> int | None:
    """Return the one value that an NVML function writes into its last argument, or None."""
    return (_numbers(function, *arguments, count=1, kind=kind) or [None])[0]


def licensed(nvml: Any, handle: Any) -> bool | None:
    """Return whether a virtual GPU (vGPU) has its licence; None if it needs none, or the driver cannot say.

    The structure begins with: licence supported, number of features, then per feature its code and its state.
    """
    function = getattr(nvml, "nvmlDeviceGetGridLicensableFeatures_v4", None)
    answer = _numbers(function, handle, count=1024)  # larger than the structure of any release
    return bool(answer[3]) if answer and answer[0] and answer[1] else None


def fabric(nvml: Any, handle: Any) -> int | None:
    """Return the state of a GPU in an NVSwitch fabric: 0 none, 1 not started, 2 in progress, 3 completed; or None."""
    # After 16 bytes for the cluster: status, clique, and in the lowest byte the state.
    answer = _numbers(getattr(nvml, "nvmlDeviceGetGpuFabricInfo", None), handle, count=7)
    return answer[6] & 0xFF if answer else None


def confidential(nvml: Any) -> dict[str, Any]:
    """Return whether confidential computing is on, and whether its GPUs accept work (``nvidia-smi conf-compute``)."""
    answer = _numbers(getattr(nvml, "nvmlSystemGetConfComputeState", None), count=3)
    if not answer:
        return {}
    _environment, feature, _tools = answer
    ready = _number(getattr(nvml, "nvmlSystemGetConfComputeGpusReadyState", None))
    return {"confidential": bool(feature), "ready": None if ready is None else bool(ready)}


def _newest(nvml: Any, name: str, *endings: str) -> Any:
    """Return the function `name` with the first of the `endings`, the newest one first, that this NVML has, or None."""
    return next((getattr(nvml, name + end) for end in endings if hasattr(nvml, name + end)), None)


def partitions(nvml: Any, handle: Any) -> dict[str, Any]:
    """Return whether a GPU is divided (MIG), and how many parts it has; nothing for one that is not."""
    current, pending = ctypes.c_uint(0), ctypes.c_uint(0)
    mig = getattr(nvml, "nvmlDeviceGetMigMode", None)
    if not mig or mig(handle, ctypes.byref(current), ctypes.byref(pending)) != 0 or current.value != 1:
        return {}
    part, most = ctypes.c_void_p(), _number(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    get = nvml.nvmlDeviceGetMigDeviceHandleByIndex
    parts = sum(get(handle, ctypes.c_uint(i), ctypes.byref(part)) == 0 for i in range(most))
    return {"mig": True, "mig_parts": parts}


def device(nvml: Any, index: int) -> tuple[int, dict[str, Any]]:
    """Return NVML's return code for one GPU, and the state of the GPU (memory in bytes, temperature in °C)."""
    handle = ctypes.c_void_p()
    code = nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle))
    if code != 0:
        return code, {"index": index}
    values: dict[str, Any] = {"index": index}
    name = ctypes.create_string_buffer(96)
    if nvml.nvmlDeviceGetName(handle, name, ctypes.c_uint(len(name))) == 0:
        values["name"] = name.value.decode("utf-8", "replace")
    values["compute_mode"] = _number(nvml.nvmlDeviceGetComputeMode, handle)
    values.update(partitions(nvml, handle))
    memory = _numbers(nvml.nvmlDeviceGetMemoryInfo, handle, count=3, kind=ctypes.c_ulonglong)
    if memory:
        values["memory"], _free, values["used"] = memory
    rates = _numbers(nvml.nvmlDeviceGetUtilizationRates, handle, count=2)  # of the GPU, of its memory
    if rates:
        values["busy"] = rates[0]
    values["temperature"] = _number(nvml.nvmlDeviceGetTemperature, handle, ctypes.c_int(0))
    reasons = _newest(nvml, "nvmlDeviceGetCurrentClocks", "EventReasons", "ThrottleReasons")
    if reasons:
        values["throttle"] = _number(reasons, handle, kind=ctypes.c_ulonglong) or 0
    running = _newest(nvml, "nvmlDeviceGetComputeRunningProcesses", "_v3", "_v2")
    count = ctypes.c_uint(0)  # an array of length 0: only the number of processes is returned
    if running and running(handle, ctypes.byref(count), None) in (0, 7):
        values["processes"] = count.value
    virtual = _number(getattr(nvml, "nvmlDeviceGetVirtualizationMode", None), handle)
    if virtual == 2:  # NVML_GPU_VIRTUALIZATION_MODE_VGPU: a part of a card, in a virtual machine
        values.update(virtual=True, licensed=licensed(nvml, handle))
    state = fabric(nvml, handle)
    if state:
        values["fabric"] = state
    return 0, values


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report what nvmlInit returns, the driver's version, and the state of each GPU."""
    try:
        name = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
        nvml = ctypes.WinDLL(name) if sys.platform == "win32" else ctypes.CDLL(name)
    except OSError as error:
        emit(loaded=False, error=str(error))
        return
    emit(loaded=True)
    code = nvml.nvmlInit_v2()
    emit(init=code)
    if code != 0:
        return
    try:
        text = ctypes.create_string_buffer(80)
        if nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(len(text))) == 0:
            emit(driver=re.sub(r"[^\d.]", "", text.value.decode("ascii", "replace")))
        count = _number(nvml.nvmlDeviceGetCount_v2)
        emit(count=count or 0, **confidential(nvml))
        answers = [device(nvml, index) for index in range(count or 0)]
        emit(devices=[values for code, values in answers if code == 0], codes=[code for code, _ in answers])
    finally:
        nvml.nvmlShutdown()
