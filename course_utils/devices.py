"""Which machine is this, and which of its devices shall we use?"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from functools import cache
from importlib import resources
from typing import Any

import torch

from course_utils.language import Bilingual, measured

GIB = 2**30


def try_gpu(i: int = 0) -> torch.device:
    """Return GPU number `i` if there is one, otherwise the CPU.

    Args:
        i: Number of the GPU among those that this process may see, counted from 0.

    Raises:
        ValueError: `i` is negative (``cuda:-1`` is no device).
    """
    if i < 0:
        raise ValueError(f"try_gpu({i}): GPUs are counted from 0; pass 0 for the first one.")
    return torch.device(f"cuda:{i}" if torch.cuda.device_count() > i else "cpu")


def try_all_gpus() -> list[torch.device]:
    """Return all GPUs that this process may see, or ``[cpu]`` if there is none."""
    return [torch.device(f"cuda:{i}") for i in range(torch.cuda.device_count())] or [torch.device("cpu")]


def usable_cores() -> int:
    """Return how many hardware threads this process may use (containers and batch systems often give fewer)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_name() -> str:
    try:
        if sys.platform == "linux":
            with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
                found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
                if found:
                    return found.group(1).strip()
        elif sys.platform == "darwin":
            asked = subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5
            )
            if asked.returncode == 0 and asked.stdout.strip():
                return asked.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        pass  # a name is a courtesy; the machine's own word for its CPU will do
    return platform.processor() or platform.machine() or "unknown"


def smi_query(fields: str) -> str | None:
    """Return what ``nvidia-smi --query-gpu=fields`` prints (CSV without header), or None if it cannot be asked.

    A driver in trouble can make ``nvidia-smi`` hang, so it gets five seconds.
    """
    try:
        asked = subprocess.run(
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=5,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 and asked.stdout.strip() else None


def rated_bandwidth(properties: Any) -> float | None:
    """Return a GPU's rated memory bandwidth in bytes per second, or None where torch does not tell.

    Memory clock (kHz) × bus width (bits) / 8 × 2, since double-data-rate memory moves two words per clock.
    """
    clock, width = getattr(properties, "memory_clock_rate", 0), getattr(properties, "memory_bus_width", 0)
    return clock * 1e3 * width / 8 * 2 if clock and width else None


@cache
def ratings() -> dict[str, dict[str, float]]:
    """Return the published figures of well-known GPUs by the name that PyTorch reports (see ``hardware.toml``)."""
    return tomllib.loads(
        resources.files("course_utils").joinpath("hardware.toml").read_text(encoding="utf-8")
    )


def rating(quantity: str) -> float | None:
    """Return what the current GPU is rated at, or None without a GPU or where the rating is not known.

    Args:
        quantity: ``"bandwidth"`` (bytes per second) or ``"half"`` (dense half-precision operations per second).
    """
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    told = rated_bandwidth(properties) if quantity == "bandwidth" else None
    return told or ratings().get(properties.name, {}).get(quantity)


def machine_facts() -> dict[str, Any]:
    """Return what this machine is, as plain data: CPU, memory (bytes), GPUs, versions."""
    import psutil

    gpus = []
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        gpus.append(
            {
                "name": properties.name,
                "capability": f"{properties.major}.{properties.minor}",
                "memory": properties.total_memory,
                "multiprocessors": properties.multi_processor_count,
                "rated_bandwidth": rated_bandwidth(properties),
            }
        )
    driver = smi_query("driver_version") if gpus else None
    return {
        "cpu": _cpu_name(),
        "cores": usable_cores(),
        "memory": psutil.virtual_memory().total,
        "gpus": gpus,
        "driver": driver.splitlines()[0] if driver else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def other_accelerator() -> str | None:
    """Return the type of an accelerator that is not CUDA (``"mps"``, ``"xpu"`` …), or None."""
    if hasattr(torch, "accelerator") and torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator().type
        return None if kind == "cuda" else kind
    return None


def _same(value: object) -> Bilingual:
    """Return something that reads the same in both languages, so that it stands once where both are shown."""
    return Bilingual(measured(value), measured(value))


def machine_rows(facts: dict[str, Any]) -> list[tuple[Bilingual, tuple[Bilingual, ...]]]:
    """Return the lines of the machine badge for `facts` (see :func:`machine_facts`): label, and what stands there."""
    threads, driver = measured(facts["cores"]), facts["driver"] or "-"
    gpus = [
        f"{g['name']} ({g['memory'] / GIB:.0f} GiB, sm_{g['capability'].replace('.', '')})"
        for g in facts["gpus"]
    ]
    count = len(gpus)
    rows = [
        (
            Bilingual("CPU", "CPU"),
            (
                _same(facts["cpu"]),
                _same(f"{facts['memory'] / GIB:.0f} GiB"),
                Bilingual(
                    f"{threads} hardware threads for this process", f"這個行程可用 {threads} 個硬體執行緒"
                ),
            ),
        ),
        (Bilingual("CUDA GPU", "CUDA GPU"), (_same("; ".join(gpus) or 0),)),
        (
            Bilingual("Software", "軟體"),
            (
                _same(f"PyTorch {facts['torch']}"),
                _same(f"CUDA {facts['cuda'] or '-'}"),
                Bilingual(measured(f"driver {driver}"), measured(f"驅動程式 {driver}")),
                _same(f"Python {facts['python']}"),
                _same(facts["system"]),
            ),
        ),
    ]
    plan = {
        0: Bilingual(
            "Everything runs on the CPU and is measured there. What only a GPU can show is shown as recorded on one.",
            "全部在 CPU 上執行、量測；只有 GPU 才看得到的部分，顯示在別台機器上錄下的結果。",
        ),
        1: Bilingual(
            "Everything about one GPU is measured on yours. What needs two GPUs is rehearsed and labelled so.",
            "單張 GPU 的內容，都在你的 GPU 上量；需要兩張以上的，改用演練代替，並且註明。",
        ),
    }.get(
        count,
        Bilingual("Everything is measured on your GPUs.", "全部在你的 GPU 上量。"),
    )
    other = other_accelerator()
    if not count and other:
        # In the same line: every machine's badge has the same elements, and only their texts differ.
        plan = Bilingual(
            f"{plan.en} (The {other} accelerator here is not used: the course teaches CUDA.)",
            f"{plan.zh}（還有 {other} 加速器；本課程教的是 CUDA，不會用到它。）",
        )
    rows.append((Bilingual("In this course", "在本課程"), (Bilingual(measured(plan.en), measured(plan.zh)),)))
    return rows


class Machine:
    """The machine badge: what this machine is and what the course will do on it."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def html(self) -> str:
        """Return the badge as HTML."""
        rows = "".join(
            f"<dt>{label.html()}</dt><dd>{' · '.join(part.html() for part in parts)}</dd>"
            for label, parts in machine_rows(self.facts)
        )
        return f'<div class="course-badge"><dl class="course-badge-rows">{rows}</dl></div>'

    def __str__(self) -> str:
        return "\n".join(
            f"{label}: {' · '.join(map(str, parts))}" for label, parts in machine_rows(self.facts)
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        # The number of lines may differ between machines, so the plain form is one marked block.
        return {"text/html": self.html(), "text/plain": measured(self)}


def machine() -> Machine:
    """Return the machine badge: CPU, GPUs, versions, and what will be measured here or shown as recorded."""
    return Machine(machine_facts())


# Compute capabilities with float64 units by the half or the third; all others have one in 32 or 64.
_FULL_FLOAT64 = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))


@cache
def cpu_features() -> frozenset[str]:
    """Return which of the CPU's instruction sets for short number formats there are, by the names in /proc/cpuinfo.

    Empty on anything that is not x86.
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


def settle_cuda() -> None:
    """Let PyTorch look for CUDA's compiler now, silently, where it has CUDA but finds no GPU.

    Otherwise it does so when ``torch.compile`` or ``torch.utils.benchmark`` is first used, and where there is a
    toolkit it says "No CUDA runtime is found", on stderr, in the middle of a lesson that is about something else.
    """
    if torch.version.cuda is not None and not torch.cuda.is_available():
        _import_without_a_word("torch.utils.cpp_extension")


def _import_without_a_word(module: str) -> None:
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            importlib.import_module(module)
    finally:
        logging.disable(before)


def has_matrix_units() -> bool:
    """Return whether the current GPU has half-precision matrix units (tensor cores): all since Volta but some Turing.

    Of Turing (7.5), the RTX cards and the T4 have them; GTX 16, MX and the small T cards do not.
    """
    capability = torch.cuda.get_device_capability()
    if capability == (7, 5):
        return bool(re.search(r"RTX|\bT4\b", torch.cuda.get_device_name()))
    return capability >= (7, 0)


_NEEDS: dict[str, tuple[Any, Bilingual]] = {
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
    "half_units": (
        lambda: torch.cuda.is_available() and has_matrix_units(),
        Bilingual(
            "a GPU with half-precision matrix units (compute capability 7.0)",
            "有半精度矩陣單元的 GPU（運算能力 7.0 以上）",
        ),
    ),
    "tf32": (
        lambda: torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0),
        Bilingual("a GPU with TF32 (compute capability 8.0)", "支援 TF32 的 GPU（運算能力 8.0 以上）"),
    ),
    "dear_float64": (
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
    if need not in _NEEDS:
        raise ValueError(f"needs={need!r} is not known; choose one of {', '.join(sorted(_NEEDS))}.")
    met, name = _NEEDS[need]
    return None if met() else name
