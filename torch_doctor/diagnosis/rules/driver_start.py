"""Rules about starting the driver: cuInit hangs, or returns an error whose number names the cause."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions, no_answer
from torch_doctor.diagnosis.places import places_of

from .access import container_lost, no_permission
from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, explained, failing, rule
from .driver_library import compat, driver_in_container, library_left_over, mismatch, module_not_rebuilt
from .shown import bus_line, cuinit_line, node_line, nvml_line
from .wsl import wsl_shadowed

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
    stuck = [probe for probe in silent if e.ended(probe) == "stuck"]
    lines = [no_answer(e, probe) for probe in silent]
    lines += [Line(probe, "stuck: cannot be stopped", "卡住，無法強制結束") for probe in stuck]
    if stuck or "patient" in places_of(e):
        return SURE, lines
    # nvidia-smi alone may be slow; CUDA does not need it.
    return (LIKELY if {"driver", "usable"} & set(silent) or not e.devices else POSSIBLE), lines


@rule(RULES, "partly-checked")
def partly_checked(e: Evidence) -> RuleResult:
    """The first GPUs compute correctly, but the probe timed out before it reached the last one."""
    right = [gpu for gpu in e.tried if gpu.get("right")]
    if e.hung("usable") and right and all(gpu.get("right") is not False for gpu in e.tried) and e.cuinit == 0:
        done, count = len(right), e.get("pytorch.count")
        english = f"{done} of {count} GPU correct, then the time was up"
        chinese = f"共 {count} 張 GPU，試完 {done} 張，計算都正確，然後時限就到了"
        return LIKELY, [Line("usable", english, chinese)]
    return None


# --- a number that names the cause --------------------------------------------------------------------


@rule(RULES, "uvm-missing")
def uvm_missing(e: Evidence) -> RuleResult:
    """/dev/nvidia-uvm is missing, which CUDA needs (nvidia-smi does not).

    Sure for the codes that CUDA returns without it. With others, CUDA may have stopped before it made the file itself.
    """
    there = e.nodes.get("nvidiactl") == "ok" and e.nodes.get("nvidia-uvm") == "ENOENT"
    if (
        not there
        or not failing(e)
        or e.wsl
        or explained(e, mismatch, driver_in_container, module_not_rebuilt, library_left_over, compat)
    ):
        return None
    if fabric(e) or confidential_vm(e):
        return None
    lines = [node_line("nvidia-uvm", "ENOENT"), node_line("nvidiactl", "ok"), cuinit_line(e)]
    return (SURE if e.cuinit in (3, 304, 999) else LIKELY), lines


def _not_ready(e: Evidence) -> bool:
    """Return whether CUDA says that the system is not ready (802)."""
    return e.cuinit == 802 or bool(mentions(e.complaints, r"Error 802"))


@rule(RULES, "confidential-vm")
def confidential_vm(e: Evidence) -> RuleResult:
    """A GPU with confidential computing waits until somebody declares it ready.

    Sure where NVML says that it accepts no work. ``nvidia-smi conf-compute -srs 1`` was the cure in NVIDIA/nvtrust#56.
    """
    if not _not_ready(e) or not e.get("nvml.confidential"):
        return None
    ready = e.get("nvml.ready")
    chinese = {False: "還沒有就緒", True: "已就緒"}.get(ready, "是否就緒不明")
    line = Line("nvml", f"confidential computing: on, ready: {ready}", f"機密運算：已開啟，{chinese}")
    return (SURE if ready is False else LIKELY), [cuinit_line(e), line]


@rule(RULES, "fabric")
def fabric(e: Evidence) -> RuleResult:
    """The fabric manager of a server with NVSwitch has not initialized the GPUs.

    Sure where NVML names the state of the fabric, or where several GPUs wait and the service does not run; one GPU
    alone may wait for something else.
    """
    if not _not_ready(e) or confidential_vm(e):
        return None
    states = [gpu["fabric"] for gpu in e.get("nvml.devices", []) if gpu.get("fabric")]
    english, chinese = ("running", "執行中") if e.get("bus.fabric_manager") else ("not running", "沒有執行")
    lines = [cuinit_line(e)]
    if not e.container:  # which does not show the services of its host
        lines.append(Line("bus", f"nv-fabricmanager: {english}", f"nv-fabricmanager：{chinese}"))
    if states:
        names = {1: ("not started", "還沒有開始"), 2: ("in progress", "進行中"), 3: ("completed", "已完成")}
        said = sorted({names.get(state, ("?", "?")) for state in states})
        english, chinese = joined(name for name, _ in said), "、".join(name for _, name in said)
        lines.append(Line("nvml", f"fabric: {english}", f"fabric：{chinese}"))
    several = max(len(e.cards()), e.get("nvml.count", 0)) > 1 and not e.container
    waiting = any(state in (1, 2) for state in states)
    return (SURE if waiting or (several and not e.get("bus.fabric_manager")) else LIKELY), lines


@rule(RULES, "mps")
def mps(e: Evidence) -> RuleResult:
    """The server that shares a GPU between processes (CUDA MPS) does not answer. Sure: the codes belong to MPS alone."""
    message = mentions(e.complaints, r"MPS client failed to connect", r"Error 80[567]", r"MPS server")
    if e.cuinit in (805, 806, 807) or message:
        pipe = e.environment("CUDA_MPS_PIPE_DIRECTORY")
        return SURE, [cuinit_line(e), Line("interpreter", f"CUDA_MPS_PIPE_DIRECTORY = {pipe!r}")]
    return None


@rule(RULES, "gpu-lost")
def gpu_lost(e: Evidence) -> RuleResult:
    """A GPU stopped answering while the machine was running.

    Sure where the driver says that it is lost (15), or the bus reads nothing from it any more; rarer reasons remain for
    ``Unable to determine the device handle``.
    """
    message = mentions(e.smi_text, r"Unable to determine the device handle", r"GPU is lost", r"\bERR!")
    codes = [e.get("nvml.init"), *e.get("nvml.codes", [])]
    logged = e.get("bus.kernel_log.off-the-bus", "")
    gone = [card for card in e.cards() if card.get("gone")]
    if e.works and e.devices >= len(e.cards()):
        logged = ""  # it came back: reset, or plugged in again
    lines = [Line("smi", message)] if message else []
    lines += [Line("nvml", "15 (GPU is lost)")] if 15 in codes else []
    lines += [Line("bus", logged)] if logged else []
    if gone:
        lines.append(Line("bus", f"PCI: {len(gone)} GPU reads ff", f"PCI：{len(gone)} 張 GPU 讀到 ff"))
    proved = bool(15 in codes or "is lost" in message or logged or gone)
    return (SURE if proved else LIKELY, [*lines, bus_line(e)]) if lines else None


@rule(RULES, "uvm-hmm")
def uvm_hmm(e: Evidence) -> RuleResult:
    """CUDA's kernel module fails on shared memory management (HMM): error 3 while everything else works.

    The option uvm_disable_hmm=1 mended it in NVIDIA/open-gpu-kernel-modules#797 and #901, and in ollama/ollama#11593.
    Only likely: the number does not prove it.
    """
    if e.cuinit != 3 or e.get("nvml.init") != 0 or not e.get("nvml.count") or e.os != "linux" or e.wsl:
        return None
    if e.get("driver.hmm_disabled") or e.nodes.get("nvidia-uvm", "ok") != "ok":
        return None
    state = {False: "N", None: "?"}[e.get("driver.hmm_disabled")]
    return LIKELY, [cuinit_line(e), nvml_line(e), Line("driver", f"nvidia_uvm: uvm_disable_hmm = {state}")]


@rule(RULES, "sandbox")
def sandbox(e: Evidence) -> RuleResult:
    """A sandbox forbids a system call that CUDA needs (304), although all device files open.

    Seccomp in NVIDIA/OpenShell#1696, Landlock in NVIDIA/NemoClaw#4016, an SGX enclave in gramineproject/examples#97.
    """
    opened = e.nodes and all(how == "ok" for how in e.nodes.values())
    if e.cuinit == 304 and e.container and opened and e.get("nvml.init") == 0:
        where = Line("bus", f"container: {e.container}", f"容器：{e.container}")
        return LIKELY, [cuinit_line(e), where, nvml_line(e)]
    return None


@rule(RULES, "after-sleep")
def after_sleep(e: Evidence) -> RuleResult:
    """Unknown error (999), typically after the machine slept."""
    others = (uvm_missing, no_permission, container_lost, mismatch, driver_in_container, module_not_rebuilt,
              library_left_over, wsl_shadowed, compat, gpu_lost)  # fmt: skip
    if e.cuinit != 999 or explained(e, *others):
        return None
    slept = e.get("bus.slept", 0)
    if slept > 60:
        line = Line("bus", f"slept since boot: {slept:.0f} s", f"開機之後睡眠了 {slept:.0f} 秒")
        return LIKELY, [cuinit_line(e), line, nvml_line(e)]
    return POSSIBLE, [cuinit_line(e)]
