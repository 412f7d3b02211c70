"""Rules about GPUs that the driver finds: hidden from this process, or not usable."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions

from . import access, driver_library, driver_module, driver_start, machine
from .base import LIKELY, SURE, Rule, RuleResult, explained, place_of, rule, said, when
from .other_gpus import no_kernel_image, without_code
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
    named = Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(value)}")
    here = e.line("nvml.mig-parts", parts=parts)
    return (SURE if e.devices else LIKELY), [named, "driver.no-gpu-left", here]


# Every GPU is partitioned (MIG), but no instance was made. Sure: CUDA computes on instances only.
mig_empty = RULES["mig-empty"] = when(
    lambda e: e.get("nvml.devices") and not e.works and not e.devices
    and all(gpu.get("mig") and not gpu.get("mig_parts") for gpu in e.get("nvml.devices")),
    SURE, lambda e: e.line("nvml.mig-empty", count=len(e.get("nvml.devices"))), cuinit_line,
)  # fmt: skip


def _short(value: str) -> str:
    """Return `value` in quotes, shortened to 16 characters: it may contain the UUIDs of cards."""
    return repr(value if len(value) <= 16 else value[:16] + "…")


@rule(RULES, "hidden")
def hidden(e: Evidence) -> RuleResult:
    """CUDA_VISIBLE_DEVICES hides every GPU. Sure: the driver counts some without the variable, and none with it."""
    value = e.environment("CUDA_VISIBLE_DEVICES")
    if value is None or e.works or mig_gone(e) or mig_empty(e) or machine.batch_system(e):
        return None
    lines = [Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(value)}")]
    setters = [line for line in e.get("pytorch.hides", []) if line.get("value") == value.strip()]
    lines += [Line("pytorch", f"{place_of(line)}: CUDA_VISIBLE_DEVICES = {value!r}") for line in setters[:2]]
    if e.devices and not e.visible and e.get("driver.cuInit") is not None:
        return SURE, [lines, "driver.no-gpu-left", "unmasked.gpus-shown"]
    if e.get("pytorch.visible") == [] and e.card_here and e.build == "cuda":
        return (SURE if e.devices else LIKELY), [lines, "pytorch: torch.cuda._parse_visible_devices() = []"]
    return None


# --- no machine code ----------------------------------------------------------------------------------


def _without_code(newer: bool) -> Rule:
    """Return the rule that torch has no machine code for a GPU newer (or older) than everything it has code for.

    Sure: the list of this very torch lacks the capability, or CUDA itself said so.
    """

    def found(e: Evidence) -> RuleResult:
        if e.jetson or e.build != "cuda" or e.cuinit != 0 or driver_library.driver_old(e):
            return None
        arch = [entry.split("_")[-1].rstrip("abcdefx") for entry in e.get("pytorch.arch", [])]
        newest = max((int(code) for code in arch if code.isdigit()), default=0)
        wanted = [gpu for gpu in without_code(e) if (int(gpu.get("capability") or 0) > newest) == newer]
        if not wanted:
            return None
        probe = "usable" if e.tried else "driver"
        lines = [Line(probe, f"{gpu.get('name')}: sm_{gpu.get('capability')}") for gpu in wanted[:4]]
        lines.append(Line("pytorch", f"get_arch_list() = {joined(e.get('pytorch.arch', []))}"))
        message = no_kernel_image(wanted[0])
        return SURE, [lines, message and Line("usable", message)]

    return found


RULES["card-too-old"] = _without_code(newer=False)  # torch contains no machine code for this GPU any more
RULES["card-too-new"] = _without_code(newer=True)  # … yet


# cuDNN does not support this GPU any more. Sure: it says so.
RULES["cudnn"] = said(SURE, "usable", lambda e: e.complaints, r"not compatible with devices with SM")


# --- refused ------------------------------------------------------------------------------------------


def _refused(e: Evidence) -> list[Line]:
    """Return the evidence that the driver refuses the GPU as busy or unavailable (46), or nothing."""
    message = mentions(e.complaints, r"busy or unavailable", r"CUDA error: .*\b46\b", r"Error 46")
    if not message and e.cuinit != 46:
        return []
    return [Line("usable", message) if message else cuinit_line(e)]


def _modes(e: Evidence) -> set[int]:
    """Return the compute modes of the GPUs: 0 default, 1 and 3 exclusive, 2 prohibited."""
    return {gpu["compute_mode"] for gpu in e.get("nvml.devices", []) if gpu.get("compute_mode") is not None}


def _users(e: Evidence) -> int:
    """Return how many processes NVML counts on all GPUs."""
    return sum(gpu.get("processes") or 0 for gpu in e.get("nvml.devices", []))


# The administrator forbids computing on every GPU (compute mode 2). Sure: NVML reports this setting.
prohibited = RULES["prohibited"] = when(
    lambda e: _refused(e) and _modes(e) == {2}, SURE, _refused, "nvml: compute mode: prohibited"
)


@rule(RULES, "taken")
def taken(e: Evidence) -> RuleResult:
    """Only one process may use the GPU (exclusive mode), and another one does. Sure where a process is seen there."""
    lines, modes, users = _refused(e), _modes(e), _users(e)
    named = {1: "exclusive thread", 3: "exclusive process"}
    exclusive = joined(sorted(named[mode] for mode in modes if mode in named))
    if not lines or not exclusive:
        return None
    mine = e.get("caller.initialized")
    seen = [Line("nvml", f"compute mode: {exclusive}"), e.line("nvml.processes", users=users)]
    # Which GPU was refused is not known: sure only if all of them are exclusive.
    certainty = SURE if (users or mine) and modes <= set(named) else LIKELY
    return certainty, [lines, seen, mine and "caller: torch.cuda.is_initialized() = True"]


@rule(RULES, "vgpu-license")
def vgpu_license(e: Evidence) -> RuleResult:
    """A virtual GPU (vGPU) without its licence refuses to compute, as in Azure/AKS#4869 and DDMAL/Rodan#1332.

    Sure where NVML says that the licence is missing.
    """
    lines = _refused(e)
    virtual = [gpu for gpu in e.get("nvml.devices", []) if gpu.get("virtual")]
    if not lines or not virtual or virtual[0].get("licensed") or explained(e, prohibited, taken):
        return None
    if virtual[0].get("licensed") is None:
        return LIKELY, [lines, "nvml.licence-unknown"]
    return SURE, [lines, "nvml.licence-missing"]


# The driver refuses the GPU, and none of the known reasons was seen.
unavailable = RULES["unavailable"] = when(
    lambda e: _refused(e) and not explained(e, prohibited, taken, vgpu_license), LIKELY, _refused,
    lambda e: _modes(e) and e.line("nvml.modes-and-users", modes=joined(sorted(_modes(e))), users=_users(e)),
)  # fmt: skip


# --- the rest -----------------------------------------------------------------------------------------


@rule(RULES, "wrong-result")
def wrong_result(e: Evidence) -> RuleResult:
    """A GPU computes, but the result is wrong. Sure: the sum of these whole numbers is exact in float32."""
    wrong = [gpu for gpu in e.tried if gpu.get("right") is False and gpu.get("result") is not None]
    lines = [Line("usable", f"{gpu.get('name')}: {gpu['result']} != {gpu.get('expected')}") for gpu in wrong]
    return (SURE, lines) if wrong else None


def _unexplained(e: Evidence) -> bool:
    """Return whether cuInit fails, and no rule about the machine or the driver is at least likely to say why."""
    modules = (machine, driver_module, access, driver_library, driver_start)
    others = [rule for module in modules for rule in module.RULES.values()]
    here = (mig_gone, mig_empty, hidden, prohibited, taken, vgpu_license, unavailable)
    return not e.works and e.cuinit not in (0, None) and not explained(e, *others, *here)


# NVML (nvidia-smi) works, but cuInit fails, and nothing explains why: a symptom, so the verdict is "not known".
nvml_only = RULES["nvml-only"] = when(
    lambda e: e.get("nvml.init") == 0 and e.get("nvml.count") and _unexplained(e), LIKELY, nvml_line, cuinit_line,
    lambda e: e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1" and "interpreter: PYTORCH_NVML_BASED_CUDA_CHECK = 1",
)  # fmt: skip
# Windows has the driver, but it does not start here: a symptom, too.
# In WSL for example microsoft/WSL#9272 and #6772: error 100 with Windows' own driver.
RULES["driver-fails"] = when(
    lambda e: (e.os == "windows" or (e.wsl == 2 and e.get("bus.dxg"))) and not e.container and e.library
    and not nvml_only(e) and _unexplained(e),
    LIKELY, cuinit_line, lambda e: e.get("nvml.init") is not None and nvml_line(e),
)  # fmt: skip
