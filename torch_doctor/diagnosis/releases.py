"""Which build of PyTorch fits: the installed release if one of its builds serves driver and card, else another release.

A project that was written for an old release keeps it where that is possible.
"""

from __future__ import annotations

import re

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence

# CUDA releases of the wheels of each release for x86-64. Source: replicate/cog, pkg/config/torch_compatibility.json, for
# 2.0 to 2.12; pytorch.org, "Previous PyTorch versions", agrees for 2.0, 2.6 and 2.9. CUDA 12.9 is never chosen on Windows.
# Recent releases have a table of their own, `PYTORCH_RELEASES_CODE_CC`.
BUILDS = {
    "2.0": ("11.7", "11.8"),
    "2.1": ("11.8", "12.1"),
    "2.2": ("11.8", "12.1"),
    "2.3": ("11.8", "12.1"),
    "2.4": ("11.8", "12.1", "12.4"),
    "2.5": ("11.8", "12.1", "12.4"),
    "2.6": ("11.8", "12.4", "12.6"),
    "2.7": ("11.8", "12.6", "12.8"),
    "2.8": ("12.6", "12.8", "12.9"),
    "2.9": ("12.6", "12.8", "13.0"),
    "2.10": ("12.6", "12.8", "13.0"),
    "2.11": ("12.6", "12.8", "13.0"),
    "2.12": ("12.6", "12.9", "13.0", "13.2"),
}
# Builds before CUDA 12.8 serve Maxwell to Hopper, later ones Turing and newer, as in the tables of cuda_tables. Some
# of 12.8 have code for Volta, too; then this leaves out a build that would do.
_OLD, _NEW = (50, 60, 70, 75, 80, 86, 90), (75, 80, 86, 90, 100, 120)

# The last releases that serve what newer ones do not: drivers before CUDA 12, RTX 50 with a driver before CUDA 13.
LAST = (
    ("2.11.0", "12.8", (10, 14)),
    ("2.7.1", "11.8", (9, 13)),
)  # … and the Pythons (3.N) that they have wheels for
ROCM = "rocm7.2"  # the build for AMD GPUs of 2.13 and 2.14
PYTHONS = (10, 15)  # of release 2.13; on Windows and macOS the last one is missing


def _table(cuda: tuple[str, ...]) -> dict[str, dict[str, tuple[int, ...]]]:
    return {release: {"x86_64": _NEW if release >= "12.8" else _OLD} for release in cuda}


def python_minor(e: Evidence) -> int | None:
    """Return the N of Python 3.N, or None."""
    found = re.match(r"3\.(\d+)", str(e.get("interpreter.python", "")))
    return int(found[1]) if found else None


def wheel_pythons(e: Evidence, to: str = "to") -> str:
    """Return for which Pythons the newest release has wheels: ``"3.10 to 3.15"``, with the word `to` between."""
    return f"3.{PYTHONS[0]} {to} 3.{PYTHONS[1] if e.os == 'linux' else PYTHONS[1] - 1}"


def has_wheels(e: Evidence) -> bool:
    """Return whether the newest release has wheels for this Python."""
    minor = python_minor(e)
    last = PYTHONS[1] if e.os == "linux" else PYTHONS[1] - 1
    return e.get("interpreter.bits", 64) == 64 and (minor is None or PYTHONS[0] <= minor <= last)


def _installed(e: Evidence, arch: str) -> tuple[str, dict[str, dict[str, tuple[int, ...]]]]:
    """Return the installed release (``"2.13.0"``) and the table of its builds; both empty where they are not known."""
    version = str(e.get("pytorch.version", "")).split("+")[0]
    found = re.fullmatch(r"(\d+\.\d+)\.\d+", version)  # not a nightly, and no build of somebody else's
    if not found:
        return "", {}
    own = {cuda: table for cuda, table in (e.get("pytorch.releases") or {}).items() if arch in table}
    if not own and found[1] == cuda_tables.TORCH:
        own = cuda_tables.WHEELS
    return version, own or (_table(BUILDS.get(found[1], ())) if arch == "x86_64" else {})


def package_with(e: Evidence, cuda: str) -> str:
    """Return the installed release (``"torch==2.13.0"``) if it has a build for `cuda`, else ``"torch"``.

    uv then takes the newest release that has one; of CUDA 12.6 that is 2.14.
    """
    version, table = _installed(e, _arch(e))
    return f"torch=={version}" if cuda in table else "torch"


def _arch(e: Evidence) -> str:
    return "aarch64" if str(e.get("bus.arch", "")).lower() in ("aarch64", "arm64") else "x86_64"


def fitting(e: Evidence) -> tuple[str, str]:
    """Return package and tag of the build that fits: ``("torch==2.13.0", "cu130")``.

    The tag is ``"cpu"`` if there is no card, or if no build fits.
    """
    if not e.card_here:
        amd = e.os == "linux" and e.cards("0x1002") and e.nodes.get("kfd")
        return "torch", ROCM if amd else "cpu"
    arch = _arch(e)
    serves = e.driver_cuda // 1000 if e.driver_cuda else None
    version, table = _installed(e, arch)
    choices = [(f"torch=={version}", table)]
    if has_wheels(e) or e.torch == "missing":  # a Python without wheels gets an environment with another one
        choices.append(("torch", cuda_tables.WHEELS))
    minor = python_minor(e)
    for release, cuda, (first, last) in LAST if arch == "x86_64" else ():
        if minor is None or first <= minor <= last:
            choices.append((f"torch=={release}", _table((cuda,))))
    for package, builds in choices:
        if e.os == "windows":
            builds = {cuda: builds[cuda] for cuda in builds if cuda != "12.9"}
        release = cuda_tables.wheel(serves, e.capability, arch, builds) if builds else None
        if release:
            return package, "cu" + release.replace(".", "")
    return "torch", "cpu"
