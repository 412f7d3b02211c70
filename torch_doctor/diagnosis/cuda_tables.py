"""Which wheels of PyTorch exist, for which GPUs, and which driver they need; the tables are in ``tables/cuda.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from torch_doctor.data import read_folder

TABLES = read_folder("torch_doctor", "tables")["cuda"]
AS_OF: str = TABLES["as-of"]
WHEELS: dict[str, dict[str, list[int]]] = TABLES["wheels"]


def numbered(table: str) -> dict[int, Any]:
    """Return a table whose keys are numbers, which TOML and JSON write as texts."""
    return {int(key): value for key, value in TABLES[table].items()}


OWN_CODE_ONLY, NOT_COMPATIBLE = numbered("own-code-only"), numbered("not-compatible")
DRIVER_FOR_CUDA, WINDOWS_DRIVER_FOR_CUDA = numbered("driver"), numbered("windows-driver")
CUDA_CODES, NVML_CODES = numbered("cuda-codes"), numbered("nvml-codes")


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
    known = filter(None, (re.fullmatch(r"(sm|compute)_(\d+)[a-z]*", entry) for entry in arch_list))
    codes = [(kind, int(code)) for kind, code in (entry.groups() for entry in known)]
    return any(runs(code, device) if kind == "sm" else code <= device for kind, code in codes)


def wheel(
    cuda_major: int | None, device: int | None, arch: str, wheels: Mapping[str, Mapping[str, Iterable[int]]]
) -> str | None:
    """Return the newest CUDA release (``"13.0"``) whose wheel runs with this driver and this GPU, or None.

    Args:
        cuda_major: The newest major CUDA release that the driver supports; None if it is not known.
        device: Compute capability times ten; None if it is not known.
        arch: ``"x86_64"`` or ``"aarch64"``.
        wheels: The table of the wheels, such as :data:`WHEELS`.
    """
    fitting = [
        release
        for release, by_arch in wheels.items()
        if (cuda_major is None or int(release.split(".")[0]) <= cuda_major)
        and (device is None or any(runs(code, device) for code in by_arch.get(arch, ())))
    ]
    return max(fitting, key=lambda release: tuple(map(int, release.split("."))), default=None)
