"""Tables that must be updated: which wheels of PyTorch exist, for which GPUs, and which driver they need.

If the installed torch has tables of its own, these are used instead (``PYTORCH_RELEASES_CODE_CC`` and
``_code_compatible_with_device`` in ``torch.cuda``; older releases have neither).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

AS_OF = "2026-11"

# CUDA release of a wheel → CPU architecture → compute capabilities (times ten) that it has machine code for.
# Source: torch/cuda/__init__.py of release 2.13, and of 2.15, which no longer has 12.9.
WHEELS: dict[str, dict[str, tuple[int, ...]]] = {
    "12.6": {"x86_64": (50, 60, 70, 75, 80, 86, 90), "aarch64": (80, 90)},
    "12.9": {"x86_64": (75, 80, 86, 90, 100, 120), "aarch64": (80, 90, 100, 120)},
    "13.0": {"x86_64": (75, 80, 86, 90, 100, 120), "aarch64": (80, 90, 100, 110, 120)},
    "13.2": {"x86_64": (75, 80, 86, 90, 100, 120), "aarch64": (80, 90, 100, 110, 120)},
}

# GPUs that are part of a larger chip (Jetson) run only code for their own capability.
# Source: DEVICE_REQUIREMENT, the same file.
OWN_CODE_ONLY = {53: {53}, 62: {62}, 72: {72}, 87: {87}, 101: {101, 110}}
NOT_COMPATIBLE = {50: {53}, 52: {53}, 60: {62}, 61: {62}, 70: {72}, 80: {87}, 86: {87}, 100: {101}}

# CUDA's major release → the first driver that supports it. Source: CUDA's release notes, "minor version compatibility".
DRIVER_FOR_CUDA = {11: 450, 12: 525, 13: 580}
WINDOWS_DRIVER_FOR_CUDA = {11: 452, 12: 528, 13: 580}  # also in WSL

# What cuInit and the CUDA runtime return. Source: cuda.h, driver_types.h.
CUDA_CODES = {
    0: "success",
    1: "invalid value",
    2: "out of memory",
    3: "initialization error",
    34: "stub library",
    35: "driver too old",
    46: "devices unavailable",
    100: "no device",
    101: "invalid device",
    209: "no kernel image for this GPU",
    222: "unsupported PTX version",
    214: "uncorrectable memory error",
    304: "operating system call failed",
    500: "a symbol was not found",
    700: "illegal address",
    710: "device-side assert",
    716: "misaligned address",
    719: "launch failure",
    800: "not permitted",
    801: "not supported",
    802: "system not ready",
    803: "driver and library do not match",
    804: "forward compatibility not supported here",
    805: "MPS: connection failed",
    806: "MPS: RPC failure",
    807: "MPS: server not ready",
    999: "unknown error",
}

# What nvmlInit returns. Source: nvml.h.
NVML_CODES = {
    0: "success",
    3: "not supported",
    4: "no permission",
    9: "driver not loaded",
    12: "library not found",
    15: "GPU is lost",
    16: "reset required",
    17: "operating system call failed",
    18: "driver and library do not match",
    999: "unknown error",
}


def runs(code: int, device: int) -> bool:
    """Return whether machine code for capability `code` runs on a device of capability `device` (both times ten).

    The major numbers must be equal and the minor number of the code not greater; Jetsons are exceptions.
    """
    if code in OWN_CODE_ONLY:
        return device in OWN_CODE_ONLY[code]
    return code // 10 == device // 10 and code <= device and device not in NOT_COMPATIBLE.get(code, ())


def has_code_for(device: int, arch_list: Iterable[str]) -> bool:
    """Return whether a build with this `arch_list` (``["sm_80", "compute_90"]``) runs on capability `device`.

    An entry ``compute_90`` is intermediate code (PTX), which the driver compiles for capability 9.0 and newer.
    """
    for entry in arch_list:
        found = re.fullmatch(r"(sm|compute)_(\d+)[a-z]*", entry)
        if not found:
            continue
        code = int(found[2])
        if found[1] == "sm" and runs(code, device) or found[1] == "compute" and code <= device:
            return True
    return False


def wheel(
    cuda_major: int | None,
    device: int | None,
    arch: str = "x86_64",
    wheels: Mapping[str, Mapping[str, Iterable[int]]] | None = None,
) -> str | None:
    """Return the newest CUDA release (``"13.0"``) whose wheel runs with this driver and this GPU, or None.

    Args:
        cuda_major: The newest major CUDA release that the driver supports; None if it is not known.
        device: Compute capability times ten; None if it is not known.
        arch: ``"x86_64"`` or ``"aarch64"``.
        wheels: torch's own table; default: the one of this file.
    """
    fitting = [
        release
        for release, by_arch in (wheels or WHEELS).items()
        if (cuda_major is None or int(release.split(".")[0]) <= cuda_major)
        and (device is None or any(runs(code, device) for code in by_arch.get(arch, ())))
    ]
    return max(fitting, key=lambda release: tuple(map(int, release.split("."))), default=None)
