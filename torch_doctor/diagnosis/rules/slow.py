"""Rules about the speed of the GPU: settings, other processes, heat, and one small measurement.

None of them explains all slowness: a program can be slow by itself on any machine. "Sure" therefore means that what was
found costs time for sure, not that nothing else does.
"""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, joined

from . import base
from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, explained, rule, seen
from .memory import filled, used_line
from .slow_cpu import battery

RULES: dict[str, Rule] = {}

# Variables for debugging that slow CUDA down, unless they are empty or 0.
SWITCHES = ("CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING")

# nvmlClocksEventReasons, see nvml.h. Reaching the power cap (0x4) is normal under load.
HOT = {0x20: Bilingual("too hot", "過熱"), 0x40: Bilingual("too hot (hardware)", "過熱（硬體）")}
POWER = {0x80: Bilingual("power brake", "外部供電限制")}


def switches(e: Evidence) -> dict[str, str]:
    """Return the variables for debugging that are on."""
    values = {name: e.environment(name) for name in SWITCHES}
    return {name: value for name, value in values.items() if value not in (None, "", "0")}


@rule(RULES, "slow-debugging")
def debugging(e: Evidence) -> RuleResult:
    """A variable for debugging is set; it concerns the GPU only."""
    lines = [Line("interpreter", f"{name} = {value}") for name, value in switches(e).items()]
    return (SURE, lines) if lines and e.works else None


@rule(RULES, "slow-switch")
def switch(e: Evidence) -> RuleResult:
    """A program in this folder switches on what is for finding errors; whether it is the slow one is not known."""
    lines = [
        Line("pytorch", f"{base.place_of(line)}: {line['value']}") for line in e.get("pytorch.slows", [])[:3]
    ]
    return (LIKELY, lines) if lines and e.works else None


# Settings of this notebook. Deterministic algorithms are often slower; that may be intended.
RULES["slow-anomaly"] = seen("caller.anomaly", SURE, Line("caller", "torch.is_anomaly_enabled() = True"))
RULES["slow-deterministic"] = seen(
    "caller.deterministic", POSSIBLE, Line("caller", "torch.are_deterministic_algorithms_enabled() = True")
)
RULES["slow-double"] = seen(
    "caller.default_dtype", SURE, Line("caller", "torch.get_default_dtype() = torch.float64"), "float64"
)


def busy_gpus(e: Evidence) -> list[dict[str, Any]]:
    """Return the GPUs on which processes other than this one compute.

    On Windows, NVML also counts every program that draws something.
    """
    mine = 1 if e.get("caller.initialized") else 0
    devices = [] if e.os == "windows" or e.wsl else e.get("nvml.devices", [])
    return [gpu for gpu in devices if (gpu.get("processes") or 0) > mine and (gpu.get("busy") or 0) >= 30]


def idle(e: Evidence) -> int | None:
    """Return the number of a GPU that nobody uses, or None."""
    devices = [gpu for gpu in e.get("nvml.devices", []) if not gpu.get("mig")]
    free = [gpu for gpu in devices if gpu.get("processes") == 0 and (gpu.get("busy") or 0) < 5]
    return free[0].get("index") if free else None


def _use(gpu: dict[str, Any]) -> Line:
    index, processes, busy = gpu.get("index"), gpu.get("processes"), gpu.get("busy")
    return Line(
        "nvml",
        f"GPU {index}: processes: {processes}, {busy} % busy",
        f"GPU {index}：{processes} 個行程，使用率 {busy} %",
    )


@rule(RULES, "slow-busy")
def busy(e: Evidence) -> RuleResult:
    """The first GPU, which PyTorch takes by default, is busy, and another one is idle.

    If only one process is there, it may be the very program that is slow.
    """
    used = busy_gpus(e)
    if not used or used[0].get("index") != 0 or idle(e) is None or e.environment("CUDA_VISIBLE_DEVICES"):
        return None
    return POSSIBLE, [*map(_use, used), Line("nvml", f"GPU {idle(e)}: 0 %")]


@rule(RULES, "slow-shared")
def shared(e: Evidence) -> RuleResult:
    """Several processes compute on one GPU. One alone may be the very program that is slow."""
    mine = 1 if e.get("caller.initialized") else 0
    used = busy_gpus(e)
    if not used or busy(e):
        return None
    several = any(gpu["processes"] > mine + 1 for gpu in used)
    return (LIKELY if several else POSSIBLE), list(map(_use, used))


@rule(RULES, "slow-memory")
def memory(e: Evidence) -> RuleResult:
    """The GPU's memory is nearly full, and Windows moves the rest to ordinary memory.

    Since driver 536.40; AUTOMATIC1111/stable-diffusion-webui#11063. On Linux the program fails instead.
    """
    if e.os != "windows" and not e.wsl:
        return None
    lines = list(map(used_line, filled(e, 0.92)))
    return (LIKELY, lines) if lines else None


def _slowed(e: Evidence, reasons: dict[int, Bilingual]) -> list[Line]:
    """Return the GPUs that run at a lower clock for one of the `reasons`."""
    lines = []
    for gpu in e.get("nvml.devices", []):
        named = [name for bit, name in reasons.items() if int(gpu.get("throttle") or 0) & bit]
        if named:
            where, warm = f"GPU {gpu.get('index')}", f"{gpu.get('temperature', '?')} °C"
            english = f"{where}: {joined(name.en for name in named)}, {warm}"
            lines.append(Line("nvml", english, f"{where}：{'、'.join(name.zh for name in named)}，{warm}"))
    return lines


def _at_lower_clock(reasons: dict[int, Bilingual]) -> Rule:
    """Return the rule of a cause for which a GPU lowers its clock, as NVML says."""
    return lambda e: (LIKELY, lines) if (lines := _slowed(e, reasons)) else None


hot = RULES["slow-hot"] = _at_lower_clock(HOT)
power = RULES["slow-power"] = _at_lower_clock(POWER)


@rule(RULES, "slow-link")
def slow_link(e: Evidence) -> RuleResult:
    """While the GPU computes, its PCIe link has less than a third of its speed; local-inference-lab/rtx6kpro#88."""
    link = e.get("speed.link")
    if not link or link["speed"] * link["width"] > 0.3 * link["max_speed"] * link["max_width"]:
        return None
    now, most = (f"{link[p + 'speed']:g} GT/s x{link[p + 'width']:g}" for p in ("", "max_"))
    return LIKELY, [Line("speed", f"PCIe: {now} of {most}", f"PCIe：{now}，最高 {most}")]


@rule(RULES, "slow-compiling")
def compiling(e: Evidence) -> RuleResult:
    """Torch contains only intermediate code (PTX) for this GPU, which the driver compiles at first use."""
    arch = e.get("pytorch.arch", [])
    made = [entry for entry in arch if entry.startswith("sm_")]
    lines = [
        Line("usable", f"{gpu.get('name')}: sm_{gpu['capability']}")
        for gpu in e.tried
        if gpu.get("right")
        and made
        and gpu.get("capability")
        and not cuda_tables.has_code_for(int(gpu["capability"]), made)
    ]
    return (LIKELY, [*lines, Line("pytorch", f"get_arch_list() = {joined(arch)}")]) if lines else None


@rule(RULES, "slow-start")
def start(e: Evidence) -> RuleResult:
    """The driver starts anew for each program, as without persistence mode; NVIDIA/nvidia-docker#723."""
    seconds = min((e.get(f"{probe}.seconds", 0.0) for probe in ("driver", "nvml")), default=0.0)
    if not e.works or e.os != "linux" or e.wsl or e.container or seconds < 3:
        return None
    return POSSIBLE, [
        Line("driver", f"starting the driver took {seconds:.0f} s", f"啟動驅動程式花了 {seconds:.0f} 秒")
    ]


@rule(RULES, "slow-gpu-job")
def gpu_slower(e: Evidence) -> RuleResult:
    """The matrix product is hardly faster on the GPU than on the CPU, and nothing else that was found explains it."""
    ratio = e.get("speed.gpu_over_cpu")
    if not e.works or ratio is None or ratio >= 2:
        return None
    known = explained(e, shared, hot, power, battery, debugging)
    return (POSSIBLE if known or busy_gpus(e) else LIKELY), [product(ratio)]


def product(ratio: float) -> Line:
    """Return how much faster the GPU multiplied two matrices than the CPU."""
    return Line(
        "speed",
        f"product of 1024 x 1024 matrices: the GPU is {ratio:.2g} times as fast as the CPU",
        f"1024 x 1024 矩陣乘法：GPU 的速度是 CPU 的 {ratio:.2g} 倍",
    )
