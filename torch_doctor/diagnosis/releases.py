"""Which build of PyTorch fits: the installed release if one of its builds serves driver and card, else another release.

A project that was written for an old release keeps it where that is possible.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence

BUILDS: dict[str, list[str]] = cuda_tables.TABLES["builds"]
_INSTALL = cuda_tables.TABLES["install"]
RELEASES: list[tuple[str, list[str], int, int]] = _INSTALL["rows"]
ROCM, PYTHONS, NEW_PYTHON = (_INSTALL[key] for key in ("rocm", "pythons", "new-python"))


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


def has_wheels(e: Evidence) -> bool:
    """Return whether the newest release has wheels for this Python."""
    minor = _python_minor(e)
    return minor is None or PYTHONS[0] <= minor <= PYTHONS[1]


def _table(cuda: list[str], arch: str) -> dict[str, dict[str, list[int]]]:
    serves = {release: _INSTALL["since-12-8" if release >= "12.8" else "before-12-8"] for release in cuda}
    return {release: {"x86_64": codes} for release, codes in serves.items() if arch == "x86_64"}


def _installed(e: Evidence, arch: str) -> tuple[str, dict[str, dict[str, list[int]]]]:
    """Return the installed release (``"2.13.0"``) and the table of its builds; both empty where they are not known."""
    version = str(e.get("pytorch.version", "")).split("+")[0]
    found = re.fullmatch(r"(\d+\.\d+)\.\d+", version)  # not a nightly, and no build of somebody else's
    if not found:
        return "", {}
    known = BUILDS.get(found[1])
    own = {
        cuda: table
        for cuda, table in (e.get("pytorch.releases") or {}).items()
        if arch in table and cuda in (known or [cuda])
    }
    return version, own or _table(known or [], arch)


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
