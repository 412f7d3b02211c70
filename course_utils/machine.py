"""Which machine is this, and which of its devices does a lesson use?"""

import contextlib
import importlib
import io
import logging
import os
import platform
import re
import subprocess
import sys
from typing import Any

import torch

from bilingual import Bilingual, Block, measured, measured_both, texts
from course_utils import lesson_gpus, recordings
from course_utils.gpu_ratings import rated_bandwidth

_TEXTS = texts(__file__)
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
        pass  # fall back to platform.processor()
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
    if torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator().type
        return None if kind in ("cuda", "practice") else kind
    return None


def _same(value: object) -> Bilingual:
    """Return something that reads the same in both languages, so that it appears once where both are shown."""
    return Bilingual(measured(value), measured(value))


def machine_rows(facts: dict[str, Any]) -> list[tuple[Bilingual, tuple[Bilingual, ...]]]:
    """Return the lines of the machine badge for `facts` (see :func:`machine_facts`): label and contents."""
    gpus = [
        f"{g['name']} ({g['memory'] / GIB:.0f} GiB, sm_{g['capability'].replace('.', '')})"
        for g in facts["gpus"]
    ]
    driver = _TEXTS["driver"].format(version=facts["driver"] or "-")
    cpu = _same(facts["cpu"]), _same(f"{facts['memory'] / GIB:.0f} GiB")
    software = (
        (f"PyTorch {facts['torch']}", f"CUDA {facts['cuda'] or '-'}"),
        (f"Python {facts['python']}", facts["system"]),
    )
    before, behind = (map(_same, part) for part in software)
    # Recorded runs are mentioned only where a GPU is recorded; published values always stand there.
    recorded = any(run["machine"]["gpus"] for run in recordings.runs())
    plans = "none_recorded" if recorded else "none", "one", "several"
    plan = lesson_gpus.plan() or _TEXTS["plan"][plans[min(len(gpus), 2)]]
    other = other_accelerator()
    if not gpus and other:
        # In the same line: every machine's badge has the same elements, and only their texts differ.
        plan = _TEXTS["other_accelerator"].format(plan=plan, kind=other)
    rows = {
        "cpu": (*cpu, _TEXTS["threads"].format(count=measured(facts["cores"]))),
        "gpu": (_same("; ".join(gpus) or 0),),
        "software": (*before, measured_both(driver), *behind),
        "course": (measured_both(plan),),
    }
    return [(_TEXTS["label"][name], parts) for name, parts in rows.items()]


def badge() -> Block:
    """Return the badge of this machine: CPU, GPUs, versions, and what is measured here."""
    rows = machine_rows(machine_facts())
    page = "".join(
        f"<dt>{label.html()}</dt><dd>{' · '.join(part.html() for part in parts)}</dd>"
        for label, parts in rows
    )
    text = "\n".join(f"{label}: {' · '.join(map(str, parts))}" for label, parts in rows)
    # As plain text one measured block, since the number of lines differs between machines.
    return Block(f'<div class="course-badge"><dl class="course-badge-rows">{page}</dl></div>', measured(text))


def silence_cuda_toolkit_warning() -> None:
    """Import PyTorch's extension builder without its warning, where PyTorch has CUDA but finds no GPU.

    ``torch.compile`` and ``torch.utils.benchmark`` import it when they are first used. Where a CUDA toolkit is installed
    it then writes "No CUDA runtime is found" to stderr, in the middle of a lesson about something else.
    """
    if torch.version.cuda is None or torch.cuda.is_available():
        return
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            importlib.import_module("torch.utils.cpp_extension")
    finally:
        logging.disable(before)
