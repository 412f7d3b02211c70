"""What a claim may need of the machine: a GPU, two GPUs, tensor cores, a compiler."""

import logging
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import torch

from bilingual import Bilingual, texts
from course_utils.fresh_process import run_fresh


def has_amx() -> bool:
    """Return whether this CPU has matrix units for bfloat16 (AMX), and ``ONEDNN_MAX_CPU_ISA`` does not forbid them."""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", os.environ.get("DNNL_MAX_CPU_ISA", "ALL")).upper()
    if not re.search("AMX|ALL|DEFAULT", limit):
        return False
    if hasattr(torch.cpu, "get_capabilities"):  # PyTorch 2.11
        return torch.cpu.get_capabilities().get("amx_bf16") is True
    return getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)()


@cache
def works(program: str, **environment: str) -> bool:
    """Return whether `program` succeeds in a fresh Python process within two minutes; asked once per session."""
    try:
        run_fresh(program, **environment)
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


def can_compile() -> bool:
    """Return whether ``torch.compile`` works here: it needs a C++ compiler, on a GPU Triton as well.

    On a CPU it needs vector instructions, too: without them it succeeds, but generates slow code. Where something is
    plainly missing, the answer comes at once; elsewhere a tiny function is compiled.
    """
    names = ("cl",) if os.name == "nt" else (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    if not uses_vectors() or not any(name and shutil.which(name) for name in names):
        return False
    # Without the command line tools, every compiler in a Mac's /usr/bin is a stub that opens a window to install them.
    if sys.platform == "darwin" and subprocess.run(["xcode-select", "-p"], capture_output=True).returncode:
        return False
    # torch.compile writes this to stderr on GPUs with fewer than 68 multiprocessors, where it means nothing to learners.
    inductor = logging.getLogger("torch._inductor.utils")
    inductor.addFilter(lambda record: "Not enough SMs" not in record.getMessage())
    # If the best vector instructions of a CPU work, PyTorch need not compile a test for each set that the CPU has.
    best = not torch.cuda.is_available() and works(_COMPILE, TORCHINDUCTOR_VEC_ISA_OK="1")
    torch._inductor.config.cpp.vec_isa_ok = best or None
    return best or works(_COMPILE)


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


NEEDS: dict[str, Callable[[], bool]] = {
    "cuda": lambda: torch.cuda.is_available(),
    "two_gpus": lambda: torch.cuda.device_count() >= 2,
    # This process takes the GPU first, so that another one which also can proves that both may.
    "shared_gpu": lambda: torch.cuda.is_available() and torch.ones(1).cuda().is_cuda and works(_USE_GPU),
    "tensor_cores": lambda: torch.cuda.is_available() and has_tensor_cores(),
    "tf32": lambda: torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0),
    "matrix_units": lambda: has_tensor_cores() if torch.cuda.is_available() else has_amx(),
    "vectors": lambda: uses_vectors(),
    "compiler": lambda: can_compile(),
}
NAMES: dict[str, Bilingual] = texts(__file__)  # what each of them is called


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
    return None if NEEDS[need]() else NAMES[need]
