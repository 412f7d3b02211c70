"""The commands that work on this machine: for this very Python, environment, shell and system."""

from __future__ import annotations

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence


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
