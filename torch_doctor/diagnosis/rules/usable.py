"""Rules about GPUs that the driver finds: hidden from this process, or not usable."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions
from torch_doctor.diagnosis.rules.base import (
    LIKELY,
    POSSIBLE,
    SURE,
    Rule,
    RuleResult,
    cuinit_line,
    no_kernel_image,
    nvml_line,
    rule,
    without_code,
)
from torch_doctor.diagnosis.rules.driver_library import (
    after_sleep,
    compat,
    driver_old,
    fabric,
    gpu_lost,
    hangs,
    init_memory,
    mismatch,
    mps,
    stub,
    uvm_missing,
    wsl_shadowed,
)
from torch_doctor.diagnosis.rules.driver_module import container_lost, no_permission
from torch_doctor.diagnosis.rules.machine import batch_system, integrated_mode

RULES: dict[str, Rule] = {}


@rule(RULES, "mig")
def mig(e: Evidence) -> RuleResult:
    """The GPU is partitioned (MIG), and no partition is visible here."""
    if e.works:
        return None
    devices = e.get("nvml.devices", [])
    on = [gpu for gpu in devices if gpu.get("mig")]
    parts = sum(gpu.get("mig_parts", 0) for gpu in on)
    hidden = e.environment("CUDA_VISIBLE_DEVICES") or ""
    if hidden.strip().startswith("MIG-") and not e.visible and (e.devices or parts):
        return SURE, [
            Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(hidden)}"),
            Line("driver", "0 GPU"),
            Line("nvml", f"MIG: {parts} instance", f"MIG：{parts} 份"),
        ]
    if on and len(on) == len(devices) and not parts and not e.devices:
        english, chinese = (
            f"MIG: {len(on)} GPU on, 0 instance",
            f"MIG：{len(on)} 張 GPU 已開啟，但一份也沒有建立",
        )
        return SURE, [Line("nvml", english, chinese), cuinit_line(e)]
    return None


def _short(value: str) -> str:
    """Return `value` in quotes, shortened to 16 characters: it may contain the UUIDs of cards."""
    return repr(value if len(value) <= 16 else value[:16] + "…")


@rule(RULES, "hidden")
def hidden(e: Evidence) -> RuleResult:
    """CUDA_VISIBLE_DEVICES hides every GPU."""
    value = e.environment("CUDA_VISIBLE_DEVICES")
    if value is None or e.works or mig(e) or batch_system(e):
        return None
    nothing = e.get("pytorch.visible") == []
    lines = [Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(value)}")]
    if e.devices and not e.visible and e.get("driver.cuInit") is not None:
        return SURE, [*lines, Line("driver", "0 GPU"), Line("unmasked", f"{e.devices} GPU")]
    if nothing and e.card_here and e.build == "cuda":
        lines.append(Line("pytorch", "torch.cuda._parse_visible_devices() = []"))
        return (SURE if e.devices else LIKELY), lines
    return None


@rule(RULES, "too-old-or-new")
def too_old_or_new(e: Evidence) -> RuleResult:
    """Torch contains no machine code for this GPU."""
    found = [] if e.jetson or e.build != "cuda" or e.cuinit != 0 or driver_old(e) else without_code(e)
    if not found:
        return None
    lines = [
        Line("usable" if e.tried else "driver", f"{gpu.get('name')}: sm_{gpu.get('capability')}")
        for gpu in found[:4]
    ]
    message = no_kernel_image(found[0])
    lines.append(Line("pytorch", f"get_arch_list() = {joined(e.get('pytorch.arch', []))}"))
    return SURE, [*lines, *([Line("usable", message)] if message else [])]


@rule(RULES, "cudnn")
def cudnn(e: Evidence) -> RuleResult:
    """cuDNN does not support this GPU any more."""
    message = mentions(e.complaints, r"not compatible with devices with SM")
    return (SURE, [Line("usable", message)]) if message else None


@rule(RULES, "taken")
def taken(e: Evidence) -> RuleResult:
    """Only one process may use the GPU (exclusive mode), and another one does."""
    message = mentions(e.complaints, r"busy or unavailable", r"CUDA error: .*\b46\b", r"Error 46")
    if not message and e.cuinit != 46:
        return None
    modes = [gpu.get("compute_mode") for gpu in e.get("nvml.devices", [])]
    exclusive = [mode for mode in modes if mode in (1, 2, 3)]
    lines = [Line("usable", message)] if message else [cuinit_line(e)]
    if exclusive:
        named = {1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
        lines.append(Line("nvml", f"compute mode: {joined(sorted({named[mode] for mode in exclusive}))}"))
    if e.get("caller.initialized"):
        lines.append(Line("caller", "torch.cuda.is_initialized() = True"))
    return (SURE if exclusive else LIKELY), lines


@rule(RULES, "wrong-result")
def wrong_result(e: Evidence) -> RuleResult:
    """A GPU computes, but the result is wrong."""
    wrong = [gpu for gpu in e.tried if gpu.get("right") is False and gpu.get("result") is not None]
    lines = [Line("usable", f"{gpu.get('name')}: {gpu['result']} != {gpu.get('expected')}") for gpu in wrong]
    return (SURE, lines) if wrong else None


@rule(RULES, "nvml-only")
def nvml_only(e: Evidence) -> RuleResult:
    """NVML (nvidia-smi) works, but libcuda does not."""
    if e.works or e.get("nvml.init") != 0 or not e.get("nvml.count") or e.cuinit in (0, None):
        return None
    lines = [nvml_line(e), cuinit_line(e)]
    if e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1":
        lines.append(Line("interpreter", "PYTORCH_NVML_BASED_CUDA_CHECK = 1"))
    explained = (hangs, container_lost, no_permission, uvm_missing, wsl_shadowed, stub, compat, mismatch, driver_old,
                 fabric, init_memory, mps, gpu_lost, mig, hidden, batch_system, taken, integrated_mode)  # fmt: skip
    known = any((found := explains(e)) and found[0] >= LIKELY for explains in explained)
    return (POSSIBLE if known or (after_sleep(e) or (0,))[0] >= LIKELY else LIKELY), lines
