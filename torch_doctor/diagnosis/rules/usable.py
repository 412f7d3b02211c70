"""Rules about GPUs that the driver finds: hidden from this process, or not usable."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions

from . import access, card_start, driver_library, driver_module, driver_start, machine, memory, wsl
from .base import LIKELY, SURE, Rule, RuleResult, explained, no_kernel_image, place_of, rule, without_code
from .shown import cuinit_line, nvml_line

RULES: dict[str, Rule] = {}


# --- hidden -------------------------------------------------------------------------------------------


@rule(RULES, "mig-gone")
def mig_gone(e: Evidence) -> RuleResult:
    """CUDA_VISIBLE_DEVICES names a MIG instance that does not exist (any more).

    Sure if CUDA finds a GPU without the variable. If it finds none then either, something else stands in the way.
    """
    value = (e.environment("CUDA_VISIBLE_DEVICES") or "").strip()
    parts = sum(gpu.get("mig_parts", 0) for gpu in e.get("nvml.devices", []))
    if e.works or not value.startswith("MIG-") or e.visible or not (e.devices or parts):
        return None
    return (SURE if e.devices else LIKELY), [
        Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(value)}"),
        Line("driver", "0 GPU", "0 張 GPU"),
        Line("nvml", f"MIG: {parts} instance", f"MIG：{parts} 份"),
    ]


@rule(RULES, "mig-empty")
def mig_empty(e: Evidence) -> RuleResult:
    """Every GPU is partitioned (MIG), but no instance was made. Sure: CUDA computes on instances only."""
    devices = e.get("nvml.devices", [])
    on = [gpu for gpu in devices if gpu.get("mig")]
    if e.works or not on or len(on) < len(devices) or any(gpu.get("mig_parts") for gpu in on) or e.devices:
        return None
    english = f"MIG: {len(on)} GPU on, 0 instance"
    return SURE, [Line("nvml", english, f"MIG：{len(on)} 張 GPU 已開啟，但一份也沒有建立"), cuinit_line(e)]


def _short(value: str) -> str:
    """Return `value` in quotes, shortened to 16 characters: it may contain the UUIDs of cards."""
    return repr(value if len(value) <= 16 else value[:16] + "…")


@rule(RULES, "hidden")
def hidden(e: Evidence) -> RuleResult:
    """CUDA_VISIBLE_DEVICES hides every GPU. Sure: the driver counts some without the variable, and none with it."""
    value = e.environment("CUDA_VISIBLE_DEVICES")
    if value is None or e.works or mig_gone(e) or mig_empty(e) or machine.batch_system(e):
        return None
    nothing = e.get("pytorch.visible") == []
    lines = [Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(value)}")]
    setters = [line for line in e.get("pytorch.hides", []) if line.get("value") == value.strip()]
    lines += [Line("pytorch", f"{place_of(line)}: CUDA_VISIBLE_DEVICES = {value!r}") for line in setters[:2]]
    if e.devices and not e.visible and e.get("driver.cuInit") is not None:
        shown = Line("unmasked", f"{e.devices} GPU", f"{e.devices} 張 GPU")
        return SURE, [*lines, Line("driver", "0 GPU", "0 張 GPU"), shown]
    if nothing and e.card_here and e.build == "cuda":
        lines.append(Line("pytorch", "torch.cuda._parse_visible_devices() = []"))
        return (SURE if e.devices else LIKELY), lines
    return None


# --- no machine code ----------------------------------------------------------------------------------


def _without_code(e: Evidence, newer: bool) -> RuleResult:
    """Return the evidence that torch has no machine code for a GPU newer (or older) than everything it has code for.

    Sure: the list of this very torch lacks the capability, or CUDA itself said so.
    """
    found = (
        []
        if e.jetson or e.build != "cuda" or e.cuinit != 0 or driver_library.driver_old(e)
        else without_code(e)
    )
    codes = [
        int(code)
        for entry in e.get("pytorch.arch", [])
        if (code := entry.split("_")[-1].rstrip("abcdefx")).isdigit()
    ]
    wanted = [gpu for gpu in found if (int(gpu.get("capability") or 0) > max(codes, default=0)) == newer]
    if not wanted:
        return None
    probe = "usable" if e.tried else "driver"
    lines = [Line(probe, f"{gpu.get('name')}: sm_{gpu.get('capability')}") for gpu in wanted[:4]]
    message = no_kernel_image(wanted[0])
    lines.append(Line("pytorch", f"get_arch_list() = {joined(e.get('pytorch.arch', []))}"))
    return SURE, [*lines, *([Line("usable", message)] if message else [])]


@rule(RULES, "card-too-old")
def card_too_old(e: Evidence) -> RuleResult:
    """Torch contains no machine code for this GPU any more."""
    return _without_code(e, newer=False)


@rule(RULES, "card-too-new")
def card_too_new(e: Evidence) -> RuleResult:
    """Torch contains no machine code for this GPU yet."""
    return _without_code(e, newer=True)


@rule(RULES, "cudnn")
def cudnn(e: Evidence) -> RuleResult:
    """cuDNN does not support this GPU any more. Sure: it says so."""
    message = mentions(e.complaints, r"not compatible with devices with SM")
    return (SURE, [Line("usable", message)]) if message else None


# --- refused ------------------------------------------------------------------------------------------


def _refused(e: Evidence) -> list[Line]:
    """Return the evidence that the driver refuses the GPU as busy or unavailable (46), or nothing."""
    message = mentions(e.complaints, r"busy or unavailable", r"CUDA error: .*\b46\b", r"Error 46")
    if not message and e.cuinit != 46:
        return []
    return [Line("usable", message) if message else cuinit_line(e)]


def _modes(e: Evidence) -> list[int]:
    """Return the compute mode of each GPU: 0 default, 1 and 3 exclusive, 2 prohibited."""
    return [gpu["compute_mode"] for gpu in e.get("nvml.devices", []) if gpu.get("compute_mode") is not None]


@rule(RULES, "prohibited")
def prohibited(e: Evidence) -> RuleResult:
    """The administrator forbids computing on every GPU (compute mode 2). Sure: NVML reports this setting."""
    lines, modes = _refused(e), _modes(e)
    if lines and modes and set(modes) == {2}:
        return SURE, [*lines, Line("nvml", "compute mode: prohibited")]
    return None


@rule(RULES, "taken")
def taken(e: Evidence) -> RuleResult:
    """Only one process may use the GPU (exclusive mode), and another one does. Sure where a process is seen there."""
    lines, modes = _refused(e), _modes(e)
    named = {1: "exclusive thread", 3: "exclusive process"}
    exclusive = sorted({named[mode] for mode in modes if mode in named})
    if not lines or not exclusive:
        return None
    users = sum(gpu.get("processes") or 0 for gpu in e.get("nvml.devices", []))
    lines.append(Line("nvml", f"compute mode: {joined(exclusive)}"))
    lines.append(Line("nvml", f"processes: {users}", f"行程：{users} 個"))
    mine = e.get("caller.initialized")
    if mine:
        lines.append(Line("caller", "torch.cuda.is_initialized() = True"))
    # Which GPU was refused is not known: sure only if all of them are exclusive.
    return (SURE if (users or mine) and set(modes) <= set(named) else LIKELY), lines


@rule(RULES, "vgpu-license")
def vgpu_license(e: Evidence) -> RuleResult:
    """A virtual GPU (vGPU) without its licence refuses to compute, as in Azure/AKS#4869 and DDMAL/Rodan#1332.

    Sure where NVML says that the licence is missing.
    """
    lines = _refused(e)
    virtual = [gpu for gpu in e.get("nvml.devices", []) if gpu.get("virtual")]
    if not lines or not virtual or explained(e, prohibited, taken):
        return None
    state = virtual[0].get("licensed")
    if state:
        return None
    lines.append(
        Line(
            "nvml",
            f"vGPU, licensed: {'?' if state is None else state}",
            f"vGPU，{'授權狀態不明' if state is None else '沒有授權'}",
        )
    )
    return (SURE if state is False else LIKELY), lines


@rule(RULES, "unavailable")
def unavailable(e: Evidence) -> RuleResult:
    """The driver refuses the GPU, and none of the known reasons was seen."""
    lines, modes = _refused(e), _modes(e)
    if not lines or explained(e, prohibited, taken, vgpu_license):
        return None
    users = sum(gpu.get("processes") or 0 for gpu in e.get("nvml.devices", []))
    if modes:
        seen = joined(sorted(set(modes)))
        english = f"compute mode: {seen} (0: default), processes: {users}"
        lines.append(Line("nvml", english, f"compute mode：{seen}（0 是 default），行程：{users} 個"))
    return LIKELY, lines


# --- the rest -----------------------------------------------------------------------------------------


@rule(RULES, "wrong-result")
def wrong_result(e: Evidence) -> RuleResult:
    """A GPU computes, but the result is wrong. Sure: the sum of these whole numbers is exact in float32."""
    wrong = [gpu for gpu in e.tried if gpu.get("right") is False and gpu.get("result") is not None]
    lines = [Line("usable", f"{gpu.get('name')}: {gpu['result']} != {gpu.get('expected')}") for gpu in wrong]
    return (SURE, lines) if wrong else None


def _unexplained(e: Evidence) -> bool:
    """Return whether cuInit fails, and no rule about the machine or the driver is at least likely to say why."""
    modules = (machine, card_start, driver_module, access, wsl, driver_library, driver_start, memory)
    others = [rule for module in modules for rule in module.RULES.values()]
    here = (mig_gone, mig_empty, hidden, prohibited, taken, vgpu_license, unavailable)
    return not e.works and e.cuinit not in (0, None) and not explained(e, *others, *here)


@rule(RULES, "nvml-only")
def nvml_only(e: Evidence) -> RuleResult:
    """NVML (nvidia-smi) works, but cuInit fails, and nothing explains why: a symptom, so the verdict is "not known"."""
    if e.get("nvml.init") != 0 or not e.get("nvml.count") or not _unexplained(e):
        return None
    lines = [nvml_line(e), cuinit_line(e)]
    if e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1":
        lines.append(Line("interpreter", "PYTORCH_NVML_BASED_CUDA_CHECK = 1"))
    return LIKELY, lines


@rule(RULES, "driver-fails")
def driver_fails(e: Evidence) -> RuleResult:
    """Windows has the driver, but it does not start here: a symptom, too.

    In WSL for example microsoft/WSL#9272 and #6772: error 100 with Windows' own driver.
    """
    windows = e.os == "windows" or (e.wsl == 2 and e.get("bus.dxg"))
    if not windows or e.container or not e.library or nvml_only(e) or not _unexplained(e):
        return None
    return LIKELY, [cuinit_line(e), *([nvml_line(e)] if e.get("nvml.init") is not None else [])]
