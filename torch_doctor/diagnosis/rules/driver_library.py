"""Rules about the driver's library (libcuda): it hangs, is missing, is the wrong one, or cannot initialize."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions, no_answer
from torch_doctor.diagnosis.rules.base import (
    LIKELY,
    POSSIBLE,
    SURE,
    Rule,
    RuleResult,
    build_line,
    bus_line,
    cuinit_line,
    failing,
    library_fact,
    node_lines,
    nvml_line,
    rule,
)
from torch_doctor.diagnosis.rules.driver_module import no_permission

RULES: dict[str, Rule] = {}


@rule(RULES, "uvm-missing")
def uvm_missing(e: Evidence) -> RuleResult:
    """/dev/nvidia-uvm is missing, which CUDA needs (nvidia-smi does not)."""
    if (
        e.nodes.get("nvidiactl") == "ok"
        and e.nodes.get("nvidia-uvm") == "ENOENT"
        and failing(e)
        and not e.wsl
    ):
        if mismatch(e) or fabric(e) or compat(e):
            return None
        return SURE, [
            Line("bus", "open(/dev/nvidia-uvm) = ENOENT"),
            Line("bus", "open(/dev/nvidiactl) = ok"),
            cuinit_line(e),
        ]
    return None


@rule(RULES, "hangs")
def hangs(e: Evidence) -> RuleResult:
    """The driver does not answer."""
    silent = [probe for probe in ("driver", "nvml", "smi") if e.hung(probe)]
    if e.hung("usable") and e.get(
        "pytorch.count"
    ):  # otherwise the probe may have waited for torch, not for the GPU
        silent.append("usable")
    if not silent or e.works or e.hung("interpreter") or partly_checked(e):
        return None
    if e.cuinit == 0 and e.devices and not {"driver", "usable"} & set(silent):
        return POSSIBLE, [Line(probe, f"> {e.get(f'{probe}.seconds')} s") for probe in silent]
    lines = [no_answer(e, probe) for probe in silent]
    lines += [
        Line(probe, "stuck: cannot be stopped", "卡住，無法強制結束")
        for probe in silent
        if e.ended(probe) == "stuck"
    ]
    return (SURE if len(silent) > 1 or any(e.ended(p) == "stuck" for p in silent) else LIKELY), lines


@rule(RULES, "partly-checked")
def partly_checked(e: Evidence) -> RuleResult:
    """The first GPUs compute correctly, but the probe timed out before it reached the last one."""
    right = [gpu for gpu in e.tried if gpu.get("right")]
    if e.hung("usable") and right and all(gpu.get("right") is not False for gpu in e.tried) and e.cuinit == 0:
        done, count = len(right), e.get("pytorch.count")
        return LIKELY, [
            Line(
                "usable",
                f"{done} of {count} GPU correct, then the time was up",
                f"{count} 張 GPU 中有 {done} 張計算正確，之後時限就到了",
            )
        ]
    return None


@rule(RULES, "wsl-old")
def wsl_old(e: Evidence) -> RuleResult:
    """WSL 1, or a Windows that is too old to pass its GPU to WSL."""
    if e.wsl and not e.get("bus.dxg") and not e.container:
        return SURE, [
            Line("bus", f"WSL {e.wsl}, kernel {e.get('bus.kernel')}"),
            Line("bus", "no /dev/dxg", "沒有 /dev/dxg"),
        ]
    return None


@rule(RULES, "wsl-shadowed")
def wsl_shadowed(e: Evidence) -> RuleResult:
    """A Linux driver inside WSL is loaded instead of the one from Windows."""
    path = str(e.get("driver.path", ""))
    if compat(e) or stub(e):
        return None
    if e.wsl == 2 and e.get("bus.dxg") and e.library and failing(e) and path and "/usr/lib/wsl/" not in path:
        return SURE, [Line("driver", f"libcuda = {path}"), cuinit_line(e), Line("bus", "/dev/dxg")]
    return None


@rule(RULES, "wsl-without-driver")
def wsl_without_driver(e: Evidence) -> RuleResult:
    """WSL can use a GPU, but Windows has no NVIDIA driver."""
    if e.wsl == 2 and e.get("bus.dxg") and e.library is False:
        return SURE, [Line("bus", "/dev/dxg"), Line("driver", library_fact(e))]
    return None


@rule(RULES, "compute-not-passed")
def compute_not_passed(e: Evidence) -> RuleResult:
    """The container got nvidia-smi and NVML from the driver, but not libcuda."""
    if e.container and e.get("nvml.init") == 0 and e.library is False and e.gpu_nodes:
        given = e.environment("NVIDIA_DRIVER_CAPABILITIES")
        lines = [
            nvml_line(e),
            Line("driver", library_fact(e)),
            Line("interpreter", f"NVIDIA_DRIVER_CAPABILITIES = {given!r}"),
        ]
        named = set((given or "").replace(" ", "").split(","))
        return (LIKELY if named & {"compute", "all"} else SURE), lines
    return None


@rule(RULES, "library-missing")
def library_missing(e: Evidence) -> RuleResult:
    """The driver's kernel module is loaded, but libcuda is not installed."""
    there = e.get("bus.module") or e.get("nvml.init") == 0
    if there and e.library is False and not e.container and not e.wsl and e.os == "linux" and e.gpu_nodes:
        return SURE, [
            Line("bus", f"/proc/driver/nvidia/version: {e.get('bus.module')}"),
            Line("driver", library_fact(e)),
        ]
    return None


@rule(RULES, "stub")
def stub(e: Evidence) -> RuleResult:
    """The toolkit's stub library was loaded instead of the driver's libcuda."""
    path = str(e.get("driver.path", ""))
    if e.cuinit == 34 or ("/stubs/" in path and failing(e)):
        return SURE, [Line("driver", f"libcuda = {path}"), cuinit_line(e)]
    return None


@rule(RULES, "compat")
def compat(e: Evidence) -> RuleResult:
    """CUDA's forward compatibility libraries are loaded on a machine that does not support them."""
    path = str(e.get("driver.path", ""))
    ours = "/compat/" in path
    message = mentions(e.complaints, r"Error 804", r"forward compatibility was attempted")
    if e.cuinit == 804 or message or (ours and e.cuinit == 803):
        return SURE, [
            cuinit_line(e),
            Line("driver", f"libcuda = {path or '?'}"),
            *([Line("pytorch", message)] if message else []),
        ]
    return (LIKELY, [cuinit_line(e), Line("driver", f"libcuda = {path}")]) if ours and failing(e) else None


@rule(RULES, "mismatch")
def mismatch(e: Evidence) -> RuleResult:
    """The driver was updated, but the old kernel module is still loaded."""
    running, found = e.get("bus.module"), e.get("driver.file_version")
    message = mentions(e.smi_text, r"Driver/library version mismatch")
    apart = bool(running and found and running != found)
    if compat(e) or e.wsl or e.cuinit == 0:
        return None
    if e.get("nvml.init") == 18 or e.get("smi.code") == 18 or message or (apart and failing(e)):
        return SURE, [
            nvml_line(e) if not message else Line("smi", message),
            _versions(running, found or e.get("nvml.file_version") or "?"),
            cuinit_line(e),
        ]
    if e.cuinit == 803:
        return LIKELY, [cuinit_line(e), _versions(running, found)]
    return None


def _versions(running: object, library: object) -> Line:
    """Return the versions of the driver that runs and of its library."""
    return Line("driver", f"running: {running}, library: {library}", f"執行中：{running}，函式庫：{library}")


@rule(RULES, "driver-old")
def driver_old(e: Evidence) -> RuleResult:
    """The driver supports only an older CUDA than torch was built with."""
    wants = re.match(r"\d+", str(e.get("pytorch.cuda") or ""))
    serves = e.driver_cuda
    message = mentions(e.complaints, r"driver on your system is too old")
    older = bool(wants and serves and serves // 1000 < int(wants[0]))
    if e.works or not (older or message or e.cuinit == 35) or mismatch(e):
        return None
    return SURE, [
        build_line(e),
        Line("driver", f"cuDriverGetVersion() = {serves}"),
        *([Line("pytorch", message)] if message else []),
    ]


@rule(RULES, "fabric")
def fabric(e: Evidence) -> RuleResult:
    """The fabric manager of a server with NVSwitch has not initialized the GPUs."""
    if e.cuinit == 802 or mentions(e.complaints, r"Error 802"):
        english, chinese = (
            ("running", "執行中") if e.get("bus.fabric_manager") else ("not running", "沒有執行")
        )
        return SURE, [
            cuinit_line(e),
            Line("bus", f"nv-fabricmanager: {english}", f"nv-fabricmanager：{chinese}"),
        ]
    return None


@rule(RULES, "init-memory")
def init_memory(e: Evidence) -> RuleResult:
    """Out of memory while CUDA initializes."""
    message = mentions(e.complaints, r"Error 2: out of memory")
    if e.cuinit == 2 or message:
        limit = e.get("bus.address_limit")
        return SURE, [
            cuinit_line(e),
            *([Line("pytorch", message)] if message else []),
            *([Line("bus", f"ulimit -v: {limit // 1024} KiB")] if limit else []),
        ]
    return None


@rule(RULES, "mps")
def mps(e: Evidence) -> RuleResult:
    """The server that shares a GPU between processes (CUDA MPS) does not answer."""
    message = mentions(e.complaints, r"MPS client failed to connect", r"Error 80[567]", r"MPS server")
    if e.cuinit in (805, 806, 807) or message:
        pipe = e.environment("CUDA_MPS_PIPE_DIRECTORY")
        return SURE, [cuinit_line(e), Line("interpreter", f"CUDA_MPS_PIPE_DIRECTORY = {pipe!r}")]
    return None


@rule(RULES, "gpu-lost")
def gpu_lost(e: Evidence) -> RuleResult:
    """A GPU stopped answering while the machine was running."""
    message = mentions(e.smi_text, r"Unable to determine the device handle", r"GPU is lost", r"\bERR!")
    lines = [Line("smi", message)] if message else []
    if e.get("nvml.init") == 15 or 15 in e.get("nvml.codes", []):
        lines.append(Line("nvml", "15 (GPU is lost)"))
    lines += node_lines(e, "EIO")
    if lines:
        return SURE, [*lines, bus_line(e)]
    bound = [card for card in e.cards() if card.get("driver") == "nvidia"]
    counted = e.get("nvml.count")
    limited = e.container or e.get("bus.slurm") or e.wsl or not bound
    if not limited and e.get("nvml.init") == 0 and counted is not None and counted < len(bound):
        return LIKELY, [bus_line(e), nvml_line(e)]
    return None


@rule(RULES, "after-sleep")
def after_sleep(e: Evidence) -> RuleResult:
    """Unknown error (999), typically after the machine slept."""
    if e.cuinit != 999 or any(
        explains(e) for explains in (uvm_missing, no_permission, mismatch, wsl_shadowed, compat, gpu_lost)
    ):
        return None
    slept = e.get("bus.slept", 0)
    if slept > 60:
        line = Line("bus", f"slept since boot: {slept:.0f} s", f"開機後睡眠：{slept:.0f} s")
        return LIKELY, [cuinit_line(e), line, nvml_line(e)]
    return POSSIBLE, [cuinit_line(e)]
