"""What the doctor knows and what ages: which wheels there are, for which GPUs, and what driver they need.

One place, one date. Where the installed torch has a table of its own, that one is used instead
(``PYTORCH_RELEASES_CODE_CC`` and ``_code_compatible_with_device`` in ``torch.cuda``; older releases have neither).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

AS_OF = "2026-11"
TORCH = "2.13"  # the release whose tables these are

# CUDA release of a wheel → CPU architecture → compute capabilities it holds machine code for (times ten).
# Source: torch/cuda/__init__.py of release 2.13.
WHEELS: dict[str, dict[str, tuple[int, ...]]] = {
    "12.6": {"x86_64": (50, 60, 70, 75, 80, 86, 90), "aarch64": (80, 90)},
    "12.9": {"x86_64": (75, 80, 86, 90, 100, 120), "aarch64": (80, 90, 100, 120)},
    "13.0": {"x86_64": (75, 80, 86, 90, 100, 120), "aarch64": (80, 90, 100, 110, 120)},
    "13.2": {"x86_64": (75, 80, 86, 90, 100, 120), "aarch64": (80, 90, 100, 110, 120)},
}

# Devices that are built into a larger chip run only code made for them, and none made for their relatives.
# Source: DEVICE_REQUIREMENT, the same file.
OWN_CODE_ONLY = {53: {53}, 62: {62}, 72: {72}, 87: {87}, 101: {101, 110}}
NOT_BY_RELATIVES = {50: {53}, 52: {53}, 60: {62}, 61: {62}, 70: {72}, 80: {87}, 86: {87}, 100: {101}}

# CUDA's major release → first driver that serves it. Source: CUDA's release notes, "minor version compatibility".
DRIVER_FOR_CUDA = {11: 450, 12: 525, 13: 580}
WINDOWS_DRIVER_FOR_CUDA = {11: 452, 12: 528, 13: 580}  # also that of WSL

# What cuInit and the CUDA runtime return. These do not age. Source: cuda.h, driver_types.h.
NUMBERS = {
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
    304: "operating system call failed",
    700: "illegal address",
    710: "device-side assert",
    716: "misaligned address",
    719: "launch failure",
    802: "system not ready",
    803: "driver and library do not match",
    804: "forward compatibility not supported here",
    805: "MPS: connection failed",
    806: "MPS: RPC failure",
    807: "MPS: server not ready",
    999: "unknown error",
}

# What nvmlInit returns. Source: nvml.h.
NVML_NUMBERS = {
    0: "success",
    4: "no permission",
    9: "driver not loaded",
    12: "library not found",
    15: "GPU is lost",
    18: "driver and library do not match",
    999: "unknown error",
}


def runs(code: int, device: int) -> bool:
    """Return whether machine code for capability `code` runs on a device of capability `device` (both times ten).

    The same major number, and not a newer minor one; chips that are built in are exceptions.
    """
    if code in OWN_CODE_ONLY:
        return device in OWN_CODE_ONLY[code]
    return code // 10 == device // 10 and code <= device and device not in NOT_BY_RELATIVES.get(code, ())


def has_code_for(device: int, arch_list: Iterable[str]) -> bool:
    """Return whether a build with this `arch_list` (``["sm_80", "compute_90"]``) runs on capability `device`.

    An entry ``compute_90`` is intermediate code, from which a driver makes code for that generation and newer ones.
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
    """Return the newest CUDA release with a wheel that this driver serves and this GPU runs, or None.

    Args:
        cuda_major: The newest major CUDA release that the driver serves; None if it is not known.
        device: Compute capability times ten; None if it is not known.
        arch: ``"x86_64"`` or ``"aarch64"``.
        wheels: torch's own table; this file's if it has none.
    """
    fitting = [
        release
        for release, by_arch in (wheels or WHEELS).items()
        if (cuda_major is None or int(release.split(".")[0]) <= cuda_major)
        and (device is None or any(runs(code, device) for code in by_arch.get(arch, ())))
    ]
    return max(fitting, key=lambda release: tuple(map(int, release.split("."))), default=None)
