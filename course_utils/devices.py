"""Which machine is this, and which of its devices shall we use?"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
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
