"""What a claim may need of the machine: a GPU, two GPUs, tensor cores, a compiler."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from typing import Any

import torch

from course_utils.gpu_ratings import rating
from torch_doctor.bilingual import Bilingual

# Compute capabilities with one float64 unit for two float32 units; all others have one in 32 or 64.
_FULL_FLOAT64 = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))


@cache
def cpu_features() -> frozenset[str]:
    """Return the names of the CPU's instruction sets, such as ``avx512_bf16``, as PyTorch or /proc/cpuinfo has them.

    Before PyTorch 2.11 only those of x86 for short number formats are known.
    """
    if hasattr(torch.cpu, "get_capabilities"):  # PyTorch 2.11
        return frozenset(name for name, there in torch.cpu.get_capabilities().items() if there is True)
    asked = {
        "avx2": "_is_avx2_supported",
        "avx512_bf16": "_is_avx512_bf16_supported",
        "amx_bf16": "_is_amx_tile_supported",  # every CPU with tiles so far multiplies bfloat16 with them
    }
    found = {name for name, function in asked.items() if getattr(torch.cpu, function, lambda: False)()}
    if sys.platform == "linux" and found:  # older releases do not ask for float16
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found |= set(file.read().split()) & {"avx512_fp16", "amx_fp16"}
    return frozenset(found)


def can_compile() -> bool:
    """Return whether ``torch.compile`` finds what it needs here: a C++ compiler, on a GPU Triton as well."""
    names = ("cl",) if os.name == "nt" else (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    if not any(name and shutil.which(name) for name in names):
        return False
    # What is generated, for the CPU and by Triton, includes it; Debian and Ubuntu ship it in a package of its own.
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return False
    if sys.platform == "darwin":
        # Without the command line tools, every compiler in /usr/bin is a stub that asks to install them.
        return subprocess.run(["xcode-select", "-p"], capture_output=True).returncode == 0
    if not torch.cuda.is_available():
        return True
    # Triton supports no GPU before Volta.
    return torch.cuda.get_device_capability() >= (7, 0) and importlib.util.find_spec("triton") is not None


def has_tensor_cores() -> bool:
    """Return whether the current GPU has half-precision matrix units (tensor cores): all since Volta but some Turing.

    Of Turing (7.5), the RTX cards and the T4 have them; GTX 16, MX and the small T cards do not.
    """
    capability = torch.cuda.get_device_capability()
    if capability == (7, 5):
        return bool(re.search(r"RTX|\bT4\b", torch.cuda.get_device_name()))
    return capability >= (7, 0)


NEEDS: dict[str, tuple[Any, Bilingual]] = {
    "cuda": (lambda: torch.cuda.is_available(), Bilingual("a CUDA GPU", "CUDA GPU")),
    "two_gpus": (lambda: torch.cuda.device_count() >= 2, Bilingual("two CUDA GPUs", "兩張 CUDA GPU")),
    "native_bf16": (
        lambda: torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False),
        Bilingual("a GPU with bfloat16 in hardware", "硬體支援 bfloat16 的 GPU"),
    ),
    "emulated_bf16": (
        lambda: (
            torch.cuda.is_available()
            and torch.cuda.is_bf16_supported()
            and not torch.cuda.is_bf16_supported(including_emulation=False)
        ),
        Bilingual("a GPU that only emulates bfloat16", "只能模擬 bfloat16 的 GPU"),
    ),
    "tensor_cores": (
        lambda: torch.cuda.is_available() and has_tensor_cores(),
        Bilingual(
            "a GPU with half-precision matrix units (compute capability 7.0)",
            "有半精度矩陣單元的 GPU（運算能力 7.0 以上）",
        ),
    ),
    "tf32": (
        lambda: torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0),
        Bilingual("a GPU with TF32 (compute capability 8.0)", "支援 TF32 的 GPU（運算能力 8.0 以上）"),
    ),
    "slow_float64": (
        lambda: torch.cuda.is_available() and torch.cuda.get_device_capability() not in _FULL_FLOAT64,
        Bilingual(
            "a GPU with few float64 units (GeForce, T4, L4 …)", "float64 單元很少的 GPU（GeForce、T4、L4 等）"
        ),
    ),
    "full_float64": (
        lambda: torch.cuda.is_available() and torch.cuda.get_device_capability() in _FULL_FLOAT64,
        Bilingual(
            "a GPU with many float64 units (V100, A100, H100 …)",
            "float64 單元很多的 GPU（V100、A100、H100 等）",
        ),
    ),
    "cpu_bf16": (
        lambda: bool(cpu_features() & {"avx512_bf16", "amx_bf16"}),
        Bilingual(
            "a CPU with bfloat16 instructions (AVX512_BF16 or AMX)",
            "有 bfloat16 指令的 CPU（AVX512_BF16 或 AMX）",
        ),
    ),
    "cpu_matrix_units": (
        lambda: "amx_bf16" in cpu_features(),
        Bilingual("a CPU with matrix units (AMX)", "有矩陣單元的 CPU（AMX）"),
    ),
    "cpu_without_fp16": (
        lambda: (
            "avx2" in cpu_features() and not cpu_features() & {"avx512_fp16", "amx_fp16", "avx_ne_convert"}
        ),
        Bilingual("an x86 CPU without float16 arithmetic", "不能直接計算 float16 的 x86 CPU"),
    ),
    "compiler": (
        lambda: can_compile(),
        Bilingual("a C++ compiler, and on a GPU also Triton", "C++ 編譯器，GPU 還要有 Triton"),
    ),
    "x86_cuda": (
        lambda: torch.cuda.is_available() and platform.machine().lower() in ("x86_64", "amd64"),
        Bilingual("a CUDA GPU on an x86-64 machine", "裝在 x86-64 機器上的 CUDA GPU"),
    ),
    "rated_bandwidth": (
        lambda: rating("bandwidth") is not None,
        Bilingual("a CUDA GPU with a known memory bandwidth", "已知記憶體頻寬的 CUDA GPU"),
    ),
    "rated_gpu": (
        lambda: rating("half") is not None,
        Bilingual("a CUDA GPU whose rated speed is in the course's table", "課程規格表裡有列的 CUDA GPU"),
    ),
    "cpu_only": (
        lambda: not torch.cuda.is_available(),
        Bilingual(
            "a machine without CUDA (here the GPU itself is measured)", "沒有 CUDA 的機器（這裡直接量測 GPU）"
        ),
    ),
    "x86_cpu_only": (
        lambda: not torch.cuda.is_available() and platform.machine().lower() in ("x86_64", "amd64"),
        Bilingual("an x86-64 machine without CUDA", "沒有 CUDA 的 x86-64 機器"),
    ),
}


def missing(need: str | None) -> Bilingual | None:
    """Return what this machine lacks to meet `need`, or None if it has it.

    Args:
        need: ``None`` (nothing needed), or a name such as ``"cuda"``; an unknown one is answered with the list.

    Raises:
        ValueError: `need` is not known.
    """
    if need is None:
        return None
    if need not in NEEDS:
        raise ValueError(f"needs={need!r} is not known; choose one of {', '.join(sorted(NEEDS))}.")
    met, name = NEEDS[need]
    return None if met() else name
