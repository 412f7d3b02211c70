"""Rules about memory: CUDA cannot start or compute because there is not enough of it, or because it is faulty."""

from __future__ import annotations

from typing import Any

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

from .base import LIKELY, SURE, Rule, RuleResult, explained, rule
from .shown import cuinit_line

RULES: dict[str, Rule] = {}


def _starting(e: Evidence) -> list[Line]:
    """Return the evidence that CUDA ran out of memory while it started, or nothing."""
    message = mentions(e.complaints, r"Error 2: out of memory")
    if e.cuinit != 2 and not message:
        return []
    return [cuinit_line(e), *([Line("pytorch", message)] if message else [])]


def filled(e: Evidence, share: float) -> list[dict[str, Any]]:
    """Return the GPUs of which more than this share of the memory is taken."""
    gpus = e.get("nvml.devices", [])
    return [gpu for gpu in gpus if gpu.get("memory") and gpu.get("used", 0) > share * gpu["memory"]]


def used_line(gpu: dict[str, Any]) -> Line:
    """Return how much of the memory of `gpu` is taken."""
    used, memory = f"{gpu['used'] / 2**30:.1f}", f"{gpu['memory'] / 2**30:.1f}"
    english, chinese = f"{used} of {memory} GiB used", f"{memory} GiB 中已使用 {used} GiB"
    return Line("nvml", f"GPU {gpu.get('index')}: {english}", f"GPU {gpu.get('index')}：{chinese}")


@rule(RULES, "address-limit")
def address_limit(e: Evidence) -> RuleResult:
    """A limit on addresses (ulimit -v) stops CUDA, which reserves very many of them. Only likely: it may be high enough."""
    lines, limit = _starting(e), e.get("bus.address_limit")
    return (LIKELY, [*lines, Line("bus", f"ulimit -v: {limit // 1024} KiB")]) if lines and limit else None


@rule(RULES, "gpu-memory-full")
def gpu_memory_full(e: Evidence) -> RuleResult:
    """Other processes fill the memory of a GPU.

    Only likely: how much CUDA needs to start is not known, some hundred MiB. To start, it tries every GPU.
    """
    lines = _starting(e)
    message = mentions(e.complaints, r"CUDA error: out of memory", r"CUDA out of memory")
    full = filled(e, 0.97 if lines else 0.9)
    if not (lines or message) or not full or (lines and len(full) < len(e.get("nvml.devices", []))):
        return None
    lines = lines or [Line("usable", message)]
    return LIKELY, [*lines, *map(used_line, full[:4])]


@rule(RULES, "init-memory")
def init_memory(e: Evidence) -> RuleResult:
    """Out of memory while CUDA starts, and neither a limit nor a full GPU explains it."""
    lines = _starting(e)
    return (LIKELY, lines) if lines and not explained(e, address_limit, gpu_memory_full) else None


@rule(RULES, "memory-error")
def memory_error(e: Evidence) -> RuleResult:
    """The memory of a GPU has an error that cannot be corrected (ECC). Sure: the GPU itself found it."""
    message = mentions(e.complaints, r"uncorrectable ECC error", r"Error 214")
    if not message and e.cuinit != 214:
        return None
    return SURE, [Line("usable", message) if message else cuinit_line(e)]
