"""What a claim may need of the machine: a GPU, two GPUs, tensor cores, a compiler."""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache
from typing import Any

import torch

from course_utils.fresh_process import run_fresh
from course_utils.gpu_ratings import rating
from torch_doctor.bilingual import Bilingual

# Compute capabilities with one float64 unit for two float32 units; all others have one in 32 or 64.
_FULL_FLOAT64 = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))


@cache
def cpu_features() -> frozenset[str]:
    """Return the names of the CPU's instruction sets, such as ``avx512_bf16``, as PyTorch or /proc/cpuinfo has them.

    Before PyTorch 2.11 only those of x86 for short number formats are known. What ``ONEDNN_MAX_CPU_ISA`` forbids
    is left out: PyTorch multiplies short formats with oneDNN.
    """
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", os.environ.get("DNNL_MAX_CPU_ISA", "ALL")).upper()
    return _instruction_sets() - {
        name for name, allowing in _ALLOWED_BY.items() if not re.search(allowing, limit)
    }


# instruction set -> those values of ONEDNN_MAX_CPU_ISA that allow it
_ALLOWED_BY = {
    "avx512_bf16": "BF16|FP16|AMX|AVX10|ALL|DEFAULT",
    "avx512_fp16": "FP16|AMX|AVX10|ALL|DEFAULT",
    "amx_bf16": "AMX|ALL|DEFAULT",
    "amx_fp16": "AMX_FP16|ALL|DEFAULT",
}


def _instruction_sets() -> frozenset[str]:
    """Return the names of the CPU's instruction sets, whether or not they may be used."""
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


@cache
def works(program: str) -> bool:
    """Return whether `program` succeeds in a fresh Python process within two minutes; asked once per session."""
    try:
        run_fresh(program)
    except RuntimeError:
        return False
    return True


_USE_GPU = 'import torch; torch.ones(1, device="cuda")'
_COMPILE = """
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
compiled = torch.compile(lambda x: torch.erf(x @ x) + 1)  # a product needs more of the compiler
assert compiled(torch.zeros(16, 16, device=device)).sum().item() == 256
"""


def _takes_the_gpu() -> bool:
    """Use the GPU in this process, so that another one which also can proves that both may."""
    return torch.ones(1, device="cuda").is_cuda


def can_compile() -> bool:
    """Return whether ``torch.compile`` works here: it needs a C++ compiler, on a GPU Triton as well.

    On a CPU it needs vector instructions, too: without them it succeeds, but generates slow code. Where something is
    plainly missing, the answer comes at once; elsewhere a tiny function is compiled.
    """
    if not uses_vectors():
        return False
    names = ("cl",) if os.name == "nt" else (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    if not any(name and shutil.which(name) for name in names):
        return False
    if sys.platform == "darwin":
        # Without the command line tools, every compiler in /usr/bin is a stub that opens a window to install them.
        if subprocess.run(["xcode-select", "-p"], capture_output=True).returncode != 0:
            return False
    # torch.compile writes this to stderr on GPUs with fewer than 68 multiprocessors, where it means nothing to learners.
    logging.getLogger("torch._inductor.utils").addFilter(_worth_showing)
    return works(_COMPILE)


def _worth_showing(record: logging.LogRecord) -> bool:
    """Return whether a log record is worth showing."""
    return "Not enough SMs" not in record.getMessage()


def uses_vectors() -> bool:
    """Return whether element-wise operations compute several numbers at a time: all but PyTorch on an old x86 CPU."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return torch.cuda.is_available() or not x86 or torch.backends.cpu.get_cpu_capability() != "DEFAULT"


def has_tensor_cores() -> bool:
    """Return whether the current GPU has half-precision matrix units (tensor cores): all since Volta but some Turing.

    Of Turing (7.5), the RTX cards and the T4 have them; GTX 16, MX and the small T cards do not.
    """
    capability = torch.cuda.get_device_capability()
    if capability == (7, 5):
        return bool(re.search(r"RTX|\bT4G?\b", torch.cuda.get_device_name()))
    return capability >= (7, 0)


NEEDS: dict[str, tuple[Any, Bilingual]] = {
    "cuda": (lambda: torch.cuda.is_available(), Bilingual("a CUDA GPU", "CUDA GPU")),
    "two_gpus": (lambda: torch.cuda.device_count() >= 2, Bilingual("two CUDA GPUs", "兩張 CUDA GPU")),
    "nccl": (
        lambda: torch.cuda.is_available() and torch.distributed.is_nccl_available(),
        Bilingual("a CUDA GPU and NCCL (not available on Windows)", "CUDA GPU 和 NCCL（Windows 沒有）"),
    ),
    "shared_gpu": (
        lambda: torch.cuda.is_available() and _takes_the_gpu() and works(_USE_GPU),
        Bilingual("a CUDA GPU that several processes may use at once", "能讓好幾個行程同時使用的 CUDA GPU"),
    ),
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
    "matrix_units": (
        lambda: has_tensor_cores() if torch.cuda.is_available() else "amx_bf16" in cpu_features(),
        Bilingual(
            "a GPU with half-precision matrix units, or without a GPU a CPU with AMX",
            "有半精度矩陣單元的 GPU；沒有 GPU 的話，要有 AMX 的 CPU",
        ),
    ),
    "vectors": (
        lambda: uses_vectors(),
        Bilingual("a GPU, or a CPU with AVX2", "GPU，或有 AVX2 的 CPU"),
    ),
    "cpu_without_fp16": (
        lambda: (
            "avx2" in cpu_features() and not cpu_features() & {"avx512_fp16", "amx_fp16", "avx_ne_convert"}
        ),
        Bilingual("an x86 CPU without float16 arithmetic", "不能直接計算 float16 的 x86 CPU"),
    ),
    "compiler": (
        lambda: can_compile(),
        Bilingual(
            "a C++ compiler that works with PyTorch, on a GPU also Triton, on an x86 CPU also AVX2",
            "PyTorch 能用的 C++ 編譯器；GPU 還要有 Triton，x86 CPU 還要有 AVX2",
        ),
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
