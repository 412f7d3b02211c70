"""Probe the Python environment: interpreter, packages, environment variables, and other environments."""

from __future__ import annotations

import glob
import json
import os
import re
import sys
from collections.abc import Callable

# Environment variables that change what CUDA and its libraries do. No others are read.
VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "HIP_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "PYTORCH_NVML_BASED_CUDA_CHECK", "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF", "NVIDIA_TF32_OVERRIDE", "TORCH_DISTRIBUTED_DEBUG", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
    "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "WORLD_SIZE", "RANK", "LOCAL_RANK",
    "MASTER_PORT", "TORCHELASTIC_RUN_ID", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG",
    "GLOO_SOCKET_IFNAME", "VIRTUAL_ENV", "CONDA_PREFIX",
)  # fmt: skip


def torch_in(prefix: str) -> dict[str, str]:
    """Return the version of torch and of its CUDA in the environment `prefix`, read from its files."""
    for folder in ("lib/python3*/site-packages", "Lib/site-packages"):
        for file in glob.glob(os.path.join(prefix, folder, "torch", "version.py")):
            with open(file, encoding="utf-8", errors="replace") as source:
                text = source.read(4000)
            version = re.search(r"__version__ = '([^']+)'", text)
            cuda = re.search(r"^cuda\b[^=]*= '([^']+)'", text, re.M)
            return {"torch": version[1] if version else "?", "cuda": cuda[1] if cuda else ""}
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
                with open(file, encoding="utf-8") as source:
                    first = json.load(source)["argv"][0]
            except (OSError, ValueError, KeyError, IndexError, TypeError):
                continue
            if (
                isinstance(first, str)
                and os.path.isabs(first)
                and "python" in os.path.basename(first).lower()
            ):
                found.append(first)
    return found


def others() -> list[dict[str, str]]:
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
                name, _, version = os.path.basename(file).removesuffix(kind).partition("-")
                found.append((name.lower().replace("_", "-"), version.partition("-")[0]))
    return found


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report the running Python, its packages and variables, without importing torch."""
    emit(
        executable=sys.executable,
        python=sys.version.split()[0],
        prefix=sys.prefix,
        environment={name: os.environ[name] for name in VARIABLES if name in os.environ},
        others=others(),
    )
    import importlib.util

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
        emit(torch_file=file, torch_is_real=real)
    known = installed()
    packages = {
        name: version
        for name, version in known
        if name.startswith("nvidia-") or name in ("torch", "triton", "jax", "tensorflow")
    }
    conda = [
        os.path.basename(file).removesuffix(".json")
        for pattern in ("pytorch-[0-9]*", "libtorch-[0-9]*")
        for file in glob.glob(os.path.join(sys.prefix, "conda-meta", pattern + ".json"))
    ]
    emit(packages=packages, torch_copies=[version for name, version in known if name == "torch"], conda_torch=sorted(conda),
         conda=os.path.isdir(os.path.join(sys.prefix, "conda-meta")))  # fmt: skip
