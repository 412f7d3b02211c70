"""Probe the Python environment: interpreter, packages, environment variables, and other environments."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import pathlib
import re
import runpy
import shutil
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

read = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "files.py"))["read"]

# Environment variables that change what CUDA and its libraries do. No others are read.
VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "HIP_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "PYTORCH_NVML_BASED_CUDA_CHECK", "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF", "NVIDIA_TF32_OVERRIDE", "TORCH_DISTRIBUTED_DEBUG", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
    "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "WORLD_SIZE", "RANK", "LOCAL_RANK",
    "MASTER_PORT", "TORCHELASTIC_RUN_ID", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG",
    "GLOO_SOCKET_IFNAME", "VIRTUAL_ENV", "CONDA_PREFIX", "WSL_DISTRO_NAME",
)  # fmt: skip


def nccl_files(root: str) -> dict[str, list[str]]:
    """Return what NCCL reads from its own files, whose first one counts: ``{"NCCL_DEBUG": ["/etc/nccl.conf", "INFO"]}``.

    A variable comes before both of them.
    """
    found: dict[str, list[str]] = {}
    for file in (os.environ.get("NCCL_CONF_FILE") or "~/.nccl.conf", "/etc/nccl.conf"):
        for line in read(root, os.path.abspath(os.path.expanduser(file)).lstrip("/")).splitlines():
            name, equals, value = line.strip().partition("=")
            if equals and name in VARIABLES:
                found.setdefault(name, [file, value])
    return found


def torch_in(prefix: str) -> dict[str, Any]:
    """Return the version of torch and of its CUDA in the environment `prefix`, read from its files, and its Python."""
    pythons = [
        os.path.join(prefix, *path.split("/")) for path in ("bin/python", "Scripts/python.exe", "python.exe")
    ]
    python = next((path for path in pythons if os.path.exists(path)), pythons[0])
    for folder in ("lib/python3*/site-packages", "Lib/site-packages"):
        for file in glob.glob(os.path.join(glob.escape(prefix), folder, "torch", "version.py")):
            text = read("/", file)
            if not text:  # another user's
                continue
            version = re.search(r"__version__ = '([^']+)'", text)
            cuda = re.search(r"^cuda\b[^=]*= '([^']+)'", text, re.M)
            kernel = os.path.isdir(os.path.join(os.path.dirname(os.path.dirname(file)), "ipykernel"))
            torch = version[1] if version else "?"
            return {"python": python, "torch": torch, "cuda": cuda[1] if cuda else "", "ipykernel": kernel}
    return {}


def kernels() -> list[str]:
    """Return the Python interpreters of Jupyter's kernelspecs."""
    home = os.path.expanduser("~")
    folders = [os.path.join(sys.prefix, "share", "jupyter"), os.path.join(home, ".local", "share", "jupyter"),
               os.path.join(home, "Library", "Jupyter"), os.path.join(os.environ.get("APPDATA", home), "jupyter"),
               *os.environ.get("JUPYTER_PATH", "").split(os.pathsep)]  # fmt: skip
    found = []
    for folder in filter(None, folders):
        for file in sorted(glob.glob(os.path.join(folder, "kernels", "*", "kernel.json"))):
            try:
                first = json.loads(read("/", file))["argv"][0]
            except (ValueError, KeyError, IndexError, TypeError):
                continue
            if isinstance(first, str):
                found.append(first)
    return [path for path in found if os.path.isabs(path) and "python" in os.path.basename(path).lower()]


def others() -> list[dict[str, Any]]:
    """Return the other environments that variables and kernelspecs name, each with its torch."""
    named = [(name, os.environ.get(name, "")) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    named += [("kernelspec", os.path.dirname(os.path.dirname(python))) for python in kernels()]
    found, seen = [], {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    for name, prefix in named:
        if prefix and os.path.realpath(prefix) not in seen:
            seen.add(os.path.realpath(prefix))
            found.append({"named_by": name, "prefix": prefix, **torch_in(prefix)})
    return found


def installed() -> list[tuple[str, str]]:
    """Return name and version of the installed packages, by the names of their metadata folders.

    ``nvidia_nccl_cu12-2.27.3.dist-info`` → ``("nvidia-nccl-cu12", "2.27.3")``. That is much faster than
    :mod:`importlib.metadata`, which reads a file for each package.
    """
    found = []
    for folder in dict.fromkeys(map(os.path.realpath, sys.path)):
        for kind in (".dist-info", ".egg-info"):
            for file in sorted(glob.glob(os.path.join(glob.escape(folder), "*" + kind))):
                name, _, version = os.path.basename(file)[: -len(kind)].partition("-")
                found.append((name.lower().replace("_", "-"), version.partition("-")[0]))
    return found


def word() -> str:
    """Return the name on the path that is this very Python (``"python"``, ``"python3"``), or ``""``.

    Environments link to one interpreter, so the same file is not enough: it must lie in the same folder.
    """
    folder = os.path.realpath(os.path.dirname(sys.executable))
    for name in ("python", "python3"):
        found = shutil.which(name)
        there = found and os.path.realpath(os.path.dirname(found)) == folder
        if found and there and os.path.samefile(found, sys.executable):
            return name
    return ""


def shell() -> str:
    """Return which kind of shell has started this process: ``"posix"``, ``"powershell"`` or ``"cmd"``."""
    if sys.platform != "win32" or os.environ.get("MSYSTEM"):  # Git Bash sets MSYSTEM
        return "posix"
    # PowerShell adds the user's own folder to the two of the system, and hands the variable to what it starts.
    return "powershell" if os.environ.get("PSModulePath", "").count(";") >= 2 else "cmd"


def managed() -> bool:
    """Return whether the system's package manager owns this Python, so that pip and uv refuse to install (PEP 668)."""
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(marker)


def current() -> str:
    """Return the current folder, or ``""`` if somebody has deleted it."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def project() -> dict[str, str]:
    """Return the tool whose lock file decides what is installed in this environment, and the project's folder."""
    prefix, here = os.path.realpath(sys.prefix), current()
    below = pathlib.Path(os.path.realpath(here)) if here else None
    for folder in [below, *below.parents] if below else []:
        inside = prefix.startswith(os.path.join(folder, ""))
        for tool in ("uv", "poetry", "pixi"):
            mine = inside or (tool == "poetry" and "pypoetry" in prefix)
            if mine and (folder / f"{tool}.lock").exists():
                return {"tool": tool, "folder": str(folder)}
    return {}


def tools() -> dict[str, Any]:
    """Return what can install packages here."""

    def there(name: str) -> bool:
        return importlib.util.find_spec(name) is not None

    def program(name: str) -> bool:
        # pyenv has a script for each version, also where that version is not switched on.
        path = shutil.which(name)
        return path is not None and not os.path.realpath(path).endswith(os.path.join("shims", name))

    names = ("uv", "conda", "mamba", "micromamba", "pixi", "poetry")
    pythons = [f"3.{minor}" for minor in range(20, 7, -1)]
    return {
        "pip": there("pip"),
        "ensurepip": there("ensurepip"),
        "tools": [name for name in names if shutil.which(name)],
        "pythons": [version for version in pythons if program("python" + version)],
    }


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report the running Python, its packages and variables, without importing torch."""
    emit(
        executable=sys.executable,
        python=sys.version.split()[0],
        prefix=sys.prefix,
        bits=64 if sys.maxsize > 2**32 else 32,
        word=word(),
        shell=shell(),
        home=os.path.expanduser("~"),
        folder=current(),
        environment={name: os.environ[name] for name in VARIABLES if name in os.environ},
        others=others(),
        nccl_files=nccl_files(root),
    )
    emit(managed=managed(), project=project(), **tools())
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        spec = None
    if spec is not None:
        file = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        folder = os.path.dirname(file) if spec.origin else file
        real = spec.origin is not None and bool(spec.submodule_search_locations) and (
            bool(glob.glob(os.path.join(folder, "_C*"))) or os.path.exists(os.path.join(folder, "version.py"))
        )  # fmt: skip
        # PyTorch's own source code, which is no PyTorch until it is built.
        source = all(os.path.exists(os.path.join(folder, *path)) for path in (("..", "setup.py"), ("nn",)))
        emit(torch_file=file, torch_is_real=real, torch_source=source)
    known = installed()
    names = ("torch", "torchvision", "torchaudio", "triton", "jax", "tensorflow")
    packages = {name: version for name, version in known if name.startswith("nvidia-") or name in names}
    meta = os.path.join(sys.prefix, "conda-meta")
    conda = [glob.glob(os.path.join(meta, f"{name}-[0-9]*.json")) for name in ("pytorch", "libtorch")]
    emit(packages=packages, torch_copies=[version for name, version in known if name == "torch"],
         conda_torch=sorted(os.path.basename(file)[: -len(".json")] for file in sum(conda, [])),
         conda=os.path.isdir(meta))  # fmt: skip
