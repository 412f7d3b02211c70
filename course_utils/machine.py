"""Which machine is this, which of its devices can a lesson use, and which does it use?"""

import contextlib
import importlib
import io
import logging
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from bilingual import Bilingual, Block, measured, measured_both, texts
from course_utils import lesson_gpus, recordings
from course_utils.needs import works
from torch_doctor.diagnosis.cuda_tables import has_code_for

_TEXTS = texts(__file__)
GIB = 2**30
# In a process of its own: once CUDA has started in this one, a GPU can no longer be hidden.
_PRODUCT = """
import torch

def computes(index):
    try:
        x = torch.ones(8, 8, device=f"cuda:{index}")
        return (x @ x).sum().item() == 512
    except RuntimeError:
        return False

assert any(computes(index) for index in range(torch.cuda.device_count()))
"""


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


def _answer(*command: str) -> str:
    """Return what a program prints; "" if it is missing, fails, or takes more than five seconds."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _cpu_name() -> str:
    name = ""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
            found = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
            name = found[1].strip() if found else ""
    elif sys.platform == "darwin":
        name = _answer("sysctl", "-n", "machdep.cpu.brand_string")
    return name or platform.processor() or platform.machine() or "unknown"


def smi_query(fields: str) -> str | None:
    """Return what ``nvidia-smi --query-gpu=fields`` prints (CSV without header), or None if it cannot be asked.

    A driver in trouble can make ``nvidia-smi`` hang, so it gets five seconds.
    """
    return _answer("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader") or None


def machine_facts() -> dict[str, Any]:
    """Return what this machine is, as plain data: CPU, memory (bytes), GPUs, versions."""
    import psutil

    gpus = [
        {
            "name": gpu.name,
            "capability": f"{gpu.major}.{gpu.minor}",
            "memory": gpu.total_memory,
            "multiprocessors": gpu.multi_processor_count,
        }
        for gpu in map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    ]
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


def _same(value: object) -> Bilingual:
    """Return something that reads the same in both languages, so that it appears once where both are shown."""
    return Bilingual(measured(value), measured(value))


def badge() -> Block:
    """Return the badge of this machine: CPU, GPUs, versions, and what is measured here."""
    facts = machine_facts()
    gpus = [
        f"{g['name']} ({g['memory'] / GIB:.0f} GiB, sm_{g['capability'].replace('.', '')})"
        for g in facts["gpus"]
    ]
    driver = _TEXTS["driver"].format(version=facts["driver"] or "-")
    cpu = facts["cpu"], f"{facts['memory'] / GIB:.0f} GiB"
    before = f"PyTorch {facts['torch']}", f"CUDA {facts['cuda'] or '-'}"
    behind = f"Python {facts['python']}", facts["system"]
    # Recorded runs are mentioned only where a GPU is recorded; published values always stand there.
    recorded = any(run["machine"]["gpus"] for run in recordings.runs())
    plans = "none_recorded" if recorded else "none", "one", "several"
    plan = lesson_gpus.plan() or _TEXTS["plan"][plans[min(len(gpus), 2)]]
    other = torch.accelerator.is_available() and torch.accelerator.current_accelerator().type
    if not gpus and other and other != "practice":
        # In the same line: every machine's badge has the same elements, and only their texts differ.
        plan = _TEXTS["other_accelerator"].format(plan=plan, kind=other)
    rows = {
        "cpu": (*map(_same, cpu), _TEXTS["threads"].format(count=measured(facts["cores"]))),
        "gpu": (_same("; ".join(gpus) or 0),),
        "software": (*map(_same, before), measured_both(driver), *map(_same, behind)),
        "course": (measured_both(plan),),
    }
    labelled = [(_TEXTS["label"][name], parts) for name, parts in rows.items()]
    page = "".join(
        f"<dt>{label.html()}</dt><dd>{' · '.join(part.html() for part in parts)}</dd>"
        for label, parts in labelled
    )
    text = "\n".join(f"{label}: {' · '.join(map(str, parts))}" for label, parts in labelled)
    # As plain text one measured block, since the number of lines differs between machines.
    return Block(f'<div class="course-badge"><dl class="course-badge-rows">{page}</dl></div>', measured(text))


def _without_code() -> list[str]:
    """Return the names of this machine's GPUs for whose generation PyTorch has no code.

    It asks the driver and starts no CUDA. On AMD, where the code has other names, there are none.
    """
    if not torch.cuda.device_count() or torch.cuda.is_initialized() or torch.version.hip:
        return []
    rows = [line.rsplit(", ", 1) for line in (smi_query("name,compute_cap") or "").splitlines()]
    # Otherwise PyTorch 2.11 asks CUDA here, and once CUDA has counted the GPUs, none can be hidden any more.
    with patch.dict(os.environ, {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}):
        compiled = torch.cuda.get_arch_list()
    known = [(name, told.replace(".", "")) for name, told in rows]
    return [name for name, told in known if told.isdigit() and not has_code_for(int(told), compiled)]


def hide_unusable() -> Bilingual | None:
    """Hide the GPUs of this machine if a small product fails on each of them.

    The product is tried only where PyTorch has no code for one of them: it takes some seconds.

    Returns:
        What to tell the learner; None if nothing was hidden.
    """
    names = _without_code()
    if not names or works(_PRODUCT):
        return None
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return _TEXTS["hidden"].format(names=", ".join(names))


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
