"""Which build of PyTorch fits: the installed release if one of its builds serves driver and card, else another release.

A project that was written for an old release keeps it where that is possible.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence

# CUDA releases of the wheels of each release for x86-64. Source: replicate/cog, pkg/config/torch_compatibility.json, for
# 2.0 to 2.12; pytorch.org, "Previous PyTorch versions", agrees for 2.0, 2.6 and 2.9; torch's own table for 2.13; pytorch#190355
# for 2.14; pytorch#190385 for 2.15, whose own table still names 12.6, and 13.4, which uv 0.13 does not know.
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
    "2.13": ("12.6", "12.9", "13.0", "13.2"),
    "2.14": ("12.6", "13.0", "13.2"),
    "2.15": ("13.0", "13.2"),
}
# Builds before CUDA 12.8 serve Maxwell to Hopper, later ones Turing and newer, as in the tables of cuda_tables. Some
# of 12.8 have code for Volta, too; then this leaves out a build that would do.
_OLD, _NEW = (50, 60, 70, 75, 80, 86, 90), (75, 80, 86, 90, 100, 120)

# What to install, best first: the package, its CUDA releases, and for which Pythons (3.N, first and last) there are wheels.
# Without a number, uv takes the newest release with that build. 2.11 is the last for RTX 50 with a driver before CUDA 13 on
# Windows, 2.8 and 2.4 for Python 3.9 and 3.8, 2.7 for drivers before CUDA 12. CUDA 12.9 is never chosen on Windows.
RELEASES = (
    ("torch", ("13.0", "13.2"), 10, 15),
    ("torch", ("12.6", "12.9"), 10, 14),
    ("torch==2.11.0", ("12.8",), 10, 14),
    ("torch==2.8.0", BUILDS["2.8"], 9, 13),
    ("torch==2.7.1", ("11.8",), 9, 13),
    ("torch==2.4.1", BUILDS["2.4"], 8, 12),
)
ROCM = "rocm7.2"  # the newest build for AMD GPUs that uv knows
PYTHONS = (11, 15)  # of release 2.15, on every system
NEW_PYTHON = 12  # for a new environment where this Python has no wheels


class Build(NamedTuple):
    """A build of PyTorch.

    Attributes:
        package: ``"torch"`` or ``"torch==2.13.0"``.
        tag: ``"cu130"``; ``"cpu"`` if there is no card, or if no build fits.
        new_python: Whether it has no wheel for this Python, so that it goes into a new environment with another one.
    """

    package: str
    tag: str
    new_python: bool = False


def _python_minor(e: Evidence) -> int | None:
    """Return the N of Python 3.N, or None; 0 for a Python of 32 bits, for which there are no wheels."""
    found = re.match(r"3\.(\d+)", str(e.get("interpreter.python", "")))
    return 0 if e.get("interpreter.bits", 64) != 64 else int(found[1]) if found else None


def wheel_pythons(to: str) -> str:
    """Return for which Pythons the newest release has wheels: ``"3.11 to 3.15"``, with the word `to` between."""
    return f"3.{PYTHONS[0]} {to} 3.{PYTHONS[1]}"


def has_wheels(e: Evidence) -> bool:
    """Return whether the newest release has wheels for this Python."""
    minor = _python_minor(e)
    return minor is None or PYTHONS[0] <= minor <= PYTHONS[1]


def _table(cuda: tuple[str, ...], arch: str) -> dict[str, dict[str, tuple[int, ...]]]:
    return {release: {"x86_64": _NEW if release >= "12.8" else _OLD} for release in cuda if arch == "x86_64"}


def _installed(e: Evidence, arch: str) -> tuple[str, dict[str, dict[str, tuple[int, ...]]]]:
    """Return the installed release (``"2.13.0"``) and the table of its builds; both empty where they are not known."""
    version = str(e.get("pytorch.version", "")).split("+")[0]
    found = re.fullmatch(r"(\d+\.\d+)\.\d+", version)  # not a nightly, and no build of somebody else's
    if not found:
        return "", {}
    known = BUILDS.get(found[1])
    own = {
        cuda: table
        for cuda, table in (e.get("pytorch.releases") or {}).items()
        if arch in table and cuda in (known or (cuda,))
    }
    return version, own or _table(known or (), arch)


def package_with(e: Evidence, cuda: str) -> str:
    """Return the installed release (``"torch==2.13.0"``) if it has a build for `cuda`, else ``"torch"``.

    uv then takes the newest release that has one; of CUDA 12.6 that is 2.14.
    """
    version, table = _installed(e, _arch(e))
    return f"torch=={version}" if cuda in table else "torch"


def _arch(e: Evidence) -> str:
    return "aarch64" if str(e.get("bus.arch", "")).lower() in ("aarch64", "arm64") else "x86_64"


def _build_for(e: Evidence, minor: int | None) -> Build | None:
    """Return the best build for driver, card and Python 3.`minor` (None: not known), or None."""
    rows = [row for row in RELEASES if minor is None or row[2] <= minor <= row[3]]
    if not e.card_here:
        if e.os == "linux" and e.cards("0x1002") and e.nodes.get("kfd"):
            return Build("torch", ROCM) if rows and rows[0][0] == "torch" else None
        return Build(rows[0][0], "cpu") if rows else None
    arch, serves = _arch(e), e.driver_cuda // 1000 if e.driver_cuda else None
    version, table = _installed(e, arch)
    choices = [(f"torch=={version}", table)]
    for package, cuda, _, _ in rows:
        newest = {one: cuda_tables.WHEELS[one] for one in cuda} if package == "torch" else _table(cuda, arch)
        choices.append((package, newest))
    for package, builds in choices:
        if e.os == "windows":
            builds = {cuda: builds[cuda] for cuda in builds if cuda != "12.9"}
        release = cuda_tables.wheel(serves, e.capability, arch, builds) if builds else None
        if release:
            return Build(package, "cu" + release.replace(".", ""))
    return None


def build_here(e: Evidence) -> Build | None:
    """Return the best build that has a wheel for this very Python, or None."""
    return _build_for(e, _python_minor(e))


def fitting(e: Evidence) -> Build:
    """Return the build that fits, for this Python if there is one; where no PyTorch is installed, best the newest."""
    here, new = build_here(e), _build_for(e, NEW_PYTHON)
    if here and not (new and e.torch == "missing" and not has_wheels(e)):
        return here
    return new._replace(new_python=True) if new else Build("torch", "cpu", not has_wheels(e))
