"""Rules about starting the driver: cuInit hangs, returns an error whose number names the cause, or finds no memory."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from torch_doctor.data import screen
from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions, no_answer
from torch_doctor.diagnosis.places import places_of

from .access import container_lost, no_permission
from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, explained, failing, rule, when
from .driver_library import MIXED, wsl_shadowed
from .shown import bus_line, cuinit_line, node_line, nvml_line

RULES: dict[str, Rule] = {}


# --- no answer ----------------------------------------------------------------------------------------


@rule(RULES, "hangs")
def hangs(e: Evidence) -> RuleResult:
    """The driver does not answer.

    Sure only after six times the usual patience, or where a probe cannot even be killed: GPUs without persistence mode
    may need a minute to wake, on servers and on Azure (NVIDIA/nvidia-docker#723).
    """
    silent = [probe for probe in ("driver", "nvml", "smi") if e.hung(probe)]
    if e.hung("usable") and e.get("pytorch.count"):  # otherwise it may have waited for torch, not for the GPU
        silent.append("usable")
    if not silent or e.works or e.hung("interpreter") or partly_checked(e):
        return None
    stuck = [e.line(f"{probe}.stuck") for probe in silent if e.ended(probe) == "stuck"]
    lines = [*[no_answer(e, probe) for probe in silent], *stuck]
    if stuck or "patient" in places_of(e):
        return SURE, lines
    # nvidia-smi alone may be slow; CUDA does not need it.
    return (LIKELY if {"driver", "usable"} & set(silent) or not e.devices else POSSIBLE), lines


@rule(RULES, "partly-checked")
def partly_checked(e: Evidence) -> RuleResult:
    """The first GPUs compute correctly, but the probe timed out before it reached the last one."""
    right = [gpu for gpu in e.tried if gpu.get("right")]
    if e.hung("usable") and right and all(gpu.get("right") is not False for gpu in e.tried) and e.cuinit == 0:
        return LIKELY, e.line("usable.partly-checked", done=len(right))
    return None


# --- a number that names the cause --------------------------------------------------------------------


@rule(RULES, "uvm-missing")
def uvm_missing(e: Evidence) -> RuleResult:
    """/dev/nvidia-uvm is missing, which CUDA needs (nvidia-smi does not).

    Sure for the codes that CUDA returns without it. With others, CUDA may have stopped before it made the file itself.
    """
    there = e.nodes.get("nvidiactl") == "ok" and e.nodes.get("nvidia-uvm") == "ENOENT"
    if not there or not failing(e) or e.wsl or explained(e, *MIXED) or fabric(e) or confidential_vm(e):
        return None
    lines = [node_line(e, "nvidia-uvm", "ENOENT"), node_line(e, "nvidiactl", "ok"), cuinit_line]
    return (SURE if e.cuinit in (3, 304, 999) else LIKELY), lines


def _not_ready(e: Evidence) -> bool:
    """Return whether CUDA says that the system is not ready (802)."""
    return e.cuinit == 802 or bool(mentions(e.complaints, r"Error 802"))


# A GPU with confidential computing waits until somebody declares it ready. Sure where NVML says that it accepts no work.
# `nvidia-smi conf-compute -srs 1` was the cure in NVIDIA/nvtrust#56.
confidential_vm = RULES["confidential-vm"] = when(
    lambda e: _not_ready(e) and e.get("nvml.confidential"),
    LIKELY, cuinit_line, lambda e: f"nvml.confidential-{e.get('nvml.ready')}", sure=lambda e: e.get("nvml.ready") is False,
)  # fmt: skip

_FABRIC = screen("evidence", "fabric")  # states of a GPU


@rule(RULES, "fabric")
def fabric(e: Evidence) -> RuleResult:
    """The fabric manager of a server with NVSwitch has not initialized the GPUs.

    Sure where NVML names the state of the fabric, or where several GPUs wait and the service does not run; one GPU
    alone may wait for something else.
    """
    if not _not_ready(e) or confidential_vm(e):
        return None
    runs = e.get("bus.fabric_manager")
    states = {gpu.get("fabric") for gpu in e.get("nvml.devices", [])} & {1, 2, 3}
    # A container does not show the services of its host.
    manager = "" if e.container else "bus.manager-runs" if runs else "bus.manager-stopped"
    several = max(len(e.cards()), e.get("nvml.count", 0)) > 1 and not e.container
    said = sorted((_FABRIC[str(state)] for state in states), key=lambda state: state.en)
    names = said and Bilingual(joined(one.en for one in said), "、".join(one.zh for one in said))
    lines = [cuinit_line, manager, names and e.line("nvml.fabric", states=names)]
    return (SURE if states & {1, 2} or (several and not runs) else LIKELY), lines


# The server that shares a GPU between processes (CUDA MPS) does not answer. Sure: the codes belong to MPS alone.
RULES["mps"] = when(
    lambda e: e.cuinit in (805, 806, 807)
    or mentions(e.complaints, r"MPS client failed to connect", r"Error 80[567]", r"MPS server"),
    SURE, cuinit_line, "interpreter: CUDA_MPS_PIPE_DIRECTORY = {interpreter.environment.CUDA_MPS_PIPE_DIRECTORY!r}",
)  # fmt: skip


@rule(RULES, "gpu-lost")
def gpu_lost(e: Evidence) -> RuleResult:
    """A GPU stopped answering while the machine was running.

    Sure where the driver says that it is lost (15), or the bus reads nothing from it any more; rarer reasons remain for
    ``Unable to determine the device handle``.
    """
    message = mentions(e.smi_text, r"Unable to determine the device handle", r"GPU is lost", r"\bERR!")
    lost = 15 in [e.get("nvml.init"), *e.get("nvml.codes", [])]
    logged = e.get("bus.kernel_log.off-the-bus", "")
    gone = sum(bool(card.get("gone")) for card in e.cards())
    if e.works and e.devices >= len(e.cards()):
        logged = ""  # it came back: reset, or plugged in again
    if not (message or lost or logged or gone):
        return None
    lines = [
        message and Line("smi", message),
        lost and "nvml: 15 (GPU is lost)",
        logged and Line("bus", logged),
        gone and e.line("bus.cards-gone", gone=gone),
        bus_line,
    ]
    return (SURE if lost or "is lost" in message or logged or gone else LIKELY), lines


# CUDA's kernel module fails on shared memory management (HMM): error 3 while everything else works. The option
# uvm_disable_hmm=1 mended it in NVIDIA/open-gpu-kernel-modules#797 and #901, and in ollama/ollama#11593.
# Only likely: the number does not prove it.
RULES["uvm-hmm"] = when(
    lambda e: e.cuinit == 3 and e.get("nvml.init") == 0 and e.get("nvml.count") and e.os == "linux" and not e.wsl
    and not e.get("driver.hmm_disabled") and e.nodes.get("nvidia-uvm", "ok") == "ok",
    LIKELY, cuinit_line, nvml_line,
    lambda e: f"driver: nvidia_uvm: uvm_disable_hmm = {'?' if e.get('driver.hmm_disabled') is None else 'N'}",
)  # fmt: skip
# A sandbox forbids a system call that CUDA needs (304), although all device files open.
# Seccomp in NVIDIA/OpenShell#1696, Landlock in NVIDIA/NemoClaw#4016, an SGX enclave in gramineproject/examples#97.
RULES["sandbox"] = when(
    lambda e: e.cuinit == 304 and e.container and set(e.nodes.values()) == {"ok"} and e.get("nvml.init") == 0,
    LIKELY, cuinit_line, "bus.container", nvml_line,
)  # fmt: skip


@rule(RULES, "after-sleep")
def after_sleep(e: Evidence) -> RuleResult:
    """Unknown error (999), typically after the machine slept."""
    others = (*MIXED, uvm_missing, no_permission, container_lost, wsl_shadowed, gpu_lost)
    if e.cuinit != 999 or explained(e, *others):
        return None
    slept = e.get("bus.slept", 0) > 60
    return (LIKELY, [cuinit_line, "bus.slept", nvml_line]) if slept else (POSSIBLE, cuinit_line)


# --- memory -------------------------------------------------------------------------------------------


def _starting(e: Evidence) -> list[Any]:
    """Return the evidence that CUDA ran out of memory while it started, or nothing."""
    message = mentions(e.complaints, r"Error 2: out of memory")
    return [cuinit_line, message and Line("pytorch", message)] if e.cuinit == 2 or message else []


def filled(e: Evidence, share: float) -> list[dict[str, Any]]:
    """Return the GPUs of which more than this share of the memory is taken."""
    gpus = e.get("nvml.devices", [])
    return [gpu for gpu in gpus if gpu.get("memory") and gpu.get("used", 0) > share * gpu["memory"]]


def used_line(e: Evidence, gpu: dict[str, Any]) -> Line:
    """Return how much of the memory of `gpu` is taken, in GiB."""
    used, memory = (gpu[name] / 2**30 for name in ("used", "memory"))
    return e.line("nvml.memory-used", index=gpu.get("index"), used=used, memory=memory)


# A limit on addresses (ulimit -v) stops CUDA, which reserves very many of them. Only likely: it may be high enough.
address_limit = RULES["address-limit"] = when(
    lambda e: _starting(e) and e.get("bus.address_limit"),
    LIKELY, _starting, lambda e: f"bus: ulimit -v: {e.get('bus.address_limit') // 1024} KiB",
)  # fmt: skip


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
    return LIKELY, [lines or Line("usable", message), [used_line(e, gpu) for gpu in full[:4]]]


# Out of memory while CUDA starts, and neither a limit nor a full GPU explains it.
RULES["init-memory"] = when(
    lambda e: _starting(e) and not explained(e, address_limit, gpu_memory_full), LIKELY, _starting
)


@rule(RULES, "memory-error")
def memory_error(e: Evidence) -> RuleResult:
    """The memory of a GPU has an error that cannot be corrected (ECC). Sure: the GPU itself found it."""
    message = mentions(e.complaints, r"uncorrectable ECC error", r"Error 214")
    if not message and e.cuinit != 214:
        return None
    return SURE, Line("usable", message) if message else cuinit_line
