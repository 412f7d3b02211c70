"""The answers to "why is it slow?" and "why does it hang?" where no rule gives one, and the values in their texts."""

from __future__ import annotations

from typing import Any, Optional

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, no_answer

from . import hang, slow
from .base import LIKELY, place_of
from .shown import bus_line

RULES = {"slow": slow.RULES, "hang": hang.RULES}

Answer = Optional["tuple[str, int, Any]"]

# Trouble with CUDA that makes processes wait for ever.
_WAITS = ("hangs", "gpu-lost", "forked", "dead-context", "wrong-result", "fabric")
_OF_GPUS = ("hang-copy", "hang-nccl", "hang-gpu-error")


def explains(question: str, e: Evidence, cause: str) -> bool:
    """Return whether the `cause` of trouble with CUDA also answers `question`.

    A GPU that cannot be used explains slowness better than any other cause. It explains that processes wait only if they
    wait for it.
    """
    if question == "slow" or e.torch != "imported" or cause in _WAITS:
        return True
    return not e.works and any(hang.RULES[name](e) for name in _OF_GPUS)


def otherwise(question: str, e: Evidence, without_gpu: int, explained: bool) -> Answer:
    """Return the cause that stands behind those of the rules, how sure it is, and the evidence for it; or None.

    That the machine looks fine is only likely: the tests are small, and take two of its GPUs at most.

    Args:
        question: ``"slow"`` or ``"hang"``.
        e: The evidence.
        without_gpu: How sure it is that there is no GPU for CUDA, and that this is right; 0 if it is not so.
        explained: Whether there is a cause already that is at least likely.
    """
    if question == "slow" and without_gpu:
        accelerator = e.get("pytorch.mps") or e.get("pytorch.xpu_available")
        return ("slow-accelerator" if accelerator else "slow-cpu"), without_gpu, [bus_line, _measured]
    if explained:
        return None
    if question == "hang":
        return _hang(e)
    measured = e.get("speed.gpu_over_cpu") is not None
    return ("slow-program" if measured else "slow-not-measured"), LIKELY, _measured


def _measured(e: Evidence) -> list[Any]:
    """Return what was measured."""
    lines: list[Any] = []
    if e.works and e.get("speed.gpu_over_cpu") is not None:
        lines.append("speed.product")
    if e.get("speed.threads"):
        lines.append("speed.threads")
    if e.get("speed.cpu_gflops") is not None:
        lines.append("speed: CPU: {speed.cpu_gflops:.0f} GFLOP/s")
    if e.hung("speed"):
        gpus = [gpu for gpu in e.get("nvml.devices", [])[:4] if gpu.get("temperature")]
        for gpu in gpus:
            lines.append(Line("nvml", f"GPU {gpu['index']}: {gpu['temperature']} °C, {gpu.get('busy')} %"))
        lines.append(no_answer(e, "speed"))
    return lines or [Line("speed", e.ended("speed"))]


def _hang(e: Evidence) -> Answer:
    tried = [name for name in ("gloo", "gloo-loopback", "copy", "nccl") if hang.attempt(e, name)]
    lines: list[Any] = [hang.outcome(e, name) for name in tried]
    busy = (slow.crowded(e) or (0, []))[1]  # why it may have taken too long
    if hang.attempt(e, "gloo") == "right":
        if "slow" not in (hang.attempt(e, "copy"), hang.attempt(e, "nccl")):
            return "hang-program", LIKELY, lines
        return "hang-not-finished", LIKELY, [lines, busy]
    if e.hung("job"):
        lines.append(no_answer(e, "job"))
    if e.get("job.error"):
        return "hang-job-error", LIKELY, [Line("job", e.get("job.error")[:200]), lines]
    return "hang-not-tried", LIKELY, [lines, busy] if lines or busy else "job.no-result"


def values(e: Evidence) -> dict[str, object]:
    """Return the values of the ``{placeholders}`` in the texts about slowness and hanging."""
    cores, ratio = e.get("speed.cores"), e.get("speed.gpu_over_cpu")
    switches = slow.switches(e)
    temperatures = [gpu.get("temperature") or 0 for gpu in e.get("nvml.devices", [])]
    nccl_file = next(iter(hang.in_nccl_file(e, "NCCL_SOCKET_IFNAME")), "/etc/nccl.conf")
    interfaces = {"darwin": "lo0", "windows": "Loopback Pseudo-Interface 1"}
    return {
        "ratio": f"{ratio:.2g}" if ratio and ratio < 10 else f"{ratio or 0:.0f}",
        "switches": joined(switches) or "CUDA_LAUNCH_BLOCKING",
        "unset": " ".join(switches) or "CUDA_LAUNCH_BLOCKING",
        "pop": "\n".join(["import os", *[f'os.environ.pop("{name}", None)' for name in switches]]),
        "idle": slow.idle(e) or 0,
        "slows": next(map(place_of, e.get("pytorch.slows", [])), "train.py"),
        "slows_by": next((line["value"] for line in e.get("pytorch.slows", [])), "set_detect_anomaly"),
        "temperature": max(temperatures, default=0) or "?",
        "quota": max(int(e.get("bus.cpu_quota", 0)), 1),
        "cores": cores or e.get("bus.cores", "?"),
        "all_cores": e.get("bus.cores", "?"),
        "threads": e.get("speed.threads", "?"),
        "workers": max(1, min(int(e.get("bus.cpu_quota") or cores or 2), 4)),
        "accelerator": "mps" if e.get("pytorch.mps") else "xpu",
        "shm": f"{e.get('bus.shm') / 2**20:.0f}" if e.get("bus.shm") else "?",
        "port": e.get("job.port") or "29500",
        "loopback": interfaces.get(e.os, "lo"),
        "nccl_file": nccl_file,
        "sudo_nccl": "sudo " if nccl_file.startswith("/") else "",
        "interface_variable": hang.wrong_interface(e) or "GLOO_SOCKET_IFNAME",
    }
