"""The texts about each cause, from ``causes.toml``, with their ``{placeholders}`` filled in for this machine."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from torch_doctor.bilingual import Bilingual
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Return all causes of ``causes.toml`` by name."""
    return tomllib.loads(
        resources.files("torch_doctor.diagnosis").joinpath("causes.toml").read_text(encoding="utf-8")
    )


@dataclass(frozen=True)
class Step:
    """One thing to do next: a command (or ``""``), and what it does."""

    run: str
    text: Bilingual


def _dotted(version: int | None) -> str:
    """Return the CUDA release of a driver's version number: 12080 → ``"12.8"``."""
    return f"{version // 1000}.{version % 1000 // 10}" if version else "?"


def _install(e: Evidence, package: str, tag: str) -> str:
    """Return the commands that replace the installed PyTorch by a build for `tag` (``"cu126"``).

    uv finds the package index of each build by itself; ``python -m uv`` installs for the Python that runs it.
    """
    python = "py" if e.os == "windows" else "python"
    command = f"-m uv pip install --torch-backend={tag} --reinstall-package torch {package}"
    if e.get("caller.notebook"):
        return f'%pip install uv\nimport sys\n!"{{sys.executable}}" {command}'
    return f"{python} -m pip install uv\n{python} {command}"


def placeholders(e: Evidence) -> dict[str, object]:
    """Return the values of the ``{placeholders}`` on this machine."""
    package, tag = e.wheel()
    wants = str(e.get("pytorch.cuda") or "?")
    major = wants.split(".")[0]
    python = "py" if e.os == "windows" else "python"
    other = next((other for other in e.get("interpreter.others", []) if other.get("torch")), {})
    folder = other.get("prefix", "")
    driver = str(e.get("bus.module") or e.get("nvml.driver") or "")
    table = cuda_tables.WINDOWS_DRIVER_FOR_CUDA if e.os == "windows" or e.wsl else cuda_tables.DRIVER_FOR_CUDA
    conda = {build.split("-")[0] for build in e.get("interpreter.conda_torch", [])}
    quota = int(e.get("bus.cpu_quota", 0))
    return {
        "works": e.works,
        "visible": e.visible,
        "devices": e.devices,
        "pip": "%pip" if e.get("caller.notebook") else f"{python} -m pip",
        "conda": "%conda" if e.get("caller.notebook") else "conda",
        "command": f"{python} -m torch_doctor",
        "package": package,
        "tag": tag,
        "install": _install(e, package, tag),
        "install_12_6": _install(e, "torch", "cu126"),
        "other": f"{folder}\\Scripts\\python" if e.os == "windows" else f"{folder}/bin/python",
        "driver_major": driver.split(".")[0] or "XXX",
        "driver_cuda": _dotted(e.driver_cuda),
        "torch_cuda": wants,
        "torch_major": major,
        "needed": table.get(int(major), "?") if major.isdigit() else "?",
        "conda_packages": " ".join(sorted(conda, reverse=True)) or "pytorch",
        "quota": max(quota, 1),
        "cores": e.get("speed.cores", "?"),
        "threads": e.get("speed.threads", "?"),
        "shm": f"{(e.get('bus.shm') or 0) / 2**20:.0f}",
        "port": e.get("job.port") or "29500",
    }


def _fill(text: str, values: dict[str, object]) -> str:
    """Fill in the ``{placeholders}`` that are known; other braces are code and stay."""
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), text)


@dataclass(frozen=True)
class Cause:
    """The texts about one cause on one machine.

    Attributes:
        name: Its name in ``causes.toml``.
        kind: ``"fault"``, ``"fine"``, ``"unknown"`` or ``"remark"``.
        title: The cause in one sentence.
        why: The reason, or None.
        check: Commands that confirm the cause, or ``""``.
        check_text: How to read their output, or None.
        steps: What to do next.
    """

    name: str
    kind: str
    title: Bilingual
    why: Bilingual | None
    check: str
    check_text: Bilingual | None
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, name: str, e: Evidence) -> Cause:
        """Return the texts about the cause `name` for the machine with the evidence `e`."""
        entry, values, places = catalogue()[name], placeholders(e), e.places

        def text(prefix: str, table: dict[str, Any] = entry) -> Bilingual | None:
            if f"{prefix}en" not in table:
                return None
            return Bilingual(_fill(table[f"{prefix}en"], values), _fill(table[f"{prefix}zh"], values))

        steps = [
            Step(_fill(step.get("run", ""), values), text("", step))  # type: ignore[arg-type]
            for step in entry.get("step", [])
            if (not step.get("on") or places & set(step["on"])) and not places & set(step.get("off", ()))
        ]
        title = text("")
        assert title is not None, name
        # Windows and macOS may have a check of their own, or (with an empty command) none.
        check = next((f"check_{place}" for place in ("windows", "macos") if place in places
                      and f"check_{place}" in entry), "check")  # fmt: skip
        return cls(name, entry.get("kind", "fault"), title, text("why_"),
                   _fill(entry.get(check, ""), values), text(f"{check}_"), tuple(steps))  # fmt: skip
