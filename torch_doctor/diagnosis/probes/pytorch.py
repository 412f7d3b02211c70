"""Probe torch: does the import work, for which CUDA was it built, and does it find GPUs?

And the programs beside it: which of them hide GPUs from themselves, or slow themselves down?
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import warnings
from collections.abc import Callable
from typing import Any

FILES = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "files.py"))

# `os.environ["CUDA_VISIBLE_DEVICES"] = "2"` in Python (in a notebook's file the quotes have backslashes), `export
# CUDA_VISIBLE_DEVICES=2` in a shell. Only values that are written out: a variable may be anything.
_SETS = (
    re.compile(r"""CUDA_VISIBLE_DEVICES\\?["']\]\s*=\s*\\?["']([\w,. -]*)\\?["']"""),
    re.compile(r"""CUDA_VISIBLE_DEVICES=["']?([\d,-]*)["']?(?=[\s;"\\]|$)"""),
)
# What is for finding errors only, and slows a program down.
_SLOWS = (
    re.compile(r"""(CUDA_LAUNCH_BLOCKING)(?:\\?["']\])?\s*=\s*\\?["']?1"""),
    re.compile(r"(set_detect_anomaly)\((?:mode=)?True"),
)


def settings(patterns: tuple[re.Pattern[str], ...], folder: str = ".") -> list[dict[str, Any]]:
    """Return the lines with one of `patterns` in the programs of `folder`: ``[{"file": "train.py", "line": 3, …}]``.

    `value` is the first group. At most 50 files and 100 000 bytes of each; no subfolders.
    """
    found: list[dict[str, Any]] = []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((".py", ".sh", ".ipynb")))[:50]
    except OSError:
        return found
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):  # opening a named pipe would wait for ever
            continue
        for number, line in enumerate(FILES["read"](folder, name).split("\n"), 1):
            match = next(filter(None, (pattern.search(line) for pattern in patterns)), None)
            if match and not line.lstrip(' \t"').startswith("#"):
                found.append({"file": name, "line": number, "value": match.group(1).strip()})
    return found[:20]


def foreign() -> list[str]:
    """Return the CUDA libraries in this process that do not come from Python packages (Linux)."""
    cuda = re.compile(r"lib(cudart|cublas|cudnn|nccl|cufft|curand|cusparse|cusolver|nvJitLink|cupti)\b")
    loaded = [path for path in FILES["mapped"]() if cuda.match(os.path.basename(path))]
    return sorted(path for path in loaded if "-packages" not in path)


def first_line(error: BaseException) -> str:
    """Return the type of `error` and the beginning of its message."""
    return f"{type(error).__name__}: {error}"[:600]


def attempt(function: Callable[[], Any], otherwise: Any = None) -> Any:
    """Return the result of `function`, or `otherwise` if it raises (older releases lack some functions)."""
    try:
        return function()
    except Exception:
        return otherwise


def _by_arch(codes: Any) -> dict[str, list[int]]:
    """Return torch's table of one CUDA release by CPU architecture; torch 2.11 has it for x86-64 only."""
    by_arch = codes if isinstance(codes, dict) else {"x86_64": codes}
    return {arch: sorted(some) for arch, some in by_arch.items()}


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report step by step: import, build, number of GPUs, is_available(), and the error of the initialization."""
    emit(hides=settings(_SETS), slows=settings(_SLOWS))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import torch
        except BaseException as error:  # also SystemExit: a broken package may raise anything
            missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
            emit(error=first_line(error), missing=missing)
            return
        version, file = getattr(torch, "version", None), getattr(torch, "__file__", None)
        if not hasattr(torch, "__version__") or version is None:
            emit(error=f"module 'torch' has no attribute '__version__' ({file})")
            return
        kinds = {kind: getattr(version, kind, None) for kind in ("cuda", "hip", "xpu")}
        emit(imported=True, version=str(torch.__version__), file=file, foreign=foreign(), **kinds)
        cuda = torch.cuda
        releases = getattr(cuda, "PYTORCH_RELEASES_CODE_CC", None)
        emit(
            arch=attempt(lambda: (torch._C._cuda_getArchFlags() or "").split(), []),
            releases=attempt(lambda: {cuda: _by_arch(codes) for cuda, codes in releases.items()}),
            visible=attempt(lambda: list(cuda._parse_visible_devices())) if "CUDA_VISIBLE_DEVICES" in os.environ else None,
        )  # fmt: skip
        emit(
            mps=bool(attempt(lambda: torch.backends.mps.is_available(), False)),
            xpu_available=bool(attempt(lambda: torch.xpu.is_available(), False)),
        )
        built = kinds["cuda"] or kinds["hip"]
        available = bool(attempt(lambda: cuda.is_available(), False))
        emit(available=available, count=attempt(lambda: cuda.device_count(), 0) if available else 0)
        said = [str(warning.message)[:600] for warning in caught]
        emit(warnings=[text for text in said if "cuda" in text.lower()])
        if built and not available:
            try:
                cuda.init()
            except BaseException as error:
                emit(init_error=first_line(error))
    sys.stdout.flush()
