"""Rules about what is slow: settings, other processes, heat, the CPU that the GPU waits for, and one small measurement.

None of them explains all slowness: a program can be slow by itself on any machine. "Sure" therefore means that what was
found costs time for sure, not that nothing else does.
"""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, joined

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, explained, place_of, rule, when
from .driver_start import filled, used_line

RULES: dict[str, Rule] = {}


# --- settings, other processes, the GPU ---------------------------------------------------------------

# Variables for debugging that slow CUDA down, unless they are empty or 0.
SWITCHES = ("CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING")

# nvmlClocksEventReasons, see nvml.h. Reaching the power cap (0x4) is normal under load.
HOT = {0x20: Bilingual("too hot", "過熱"), 0x40: Bilingual("too hot (hardware)", "過熱（硬體）")}
POWER = {0x80: Bilingual("power brake", "外部供電限制")}


def switches(e: Evidence) -> list[str]:
    """Return the variables for debugging that are on."""
    return [name for name in SWITCHES if e.environment(name) not in (None, "", "0")]


# A variable for debugging is set; it concerns the GPU only.
debugging = RULES["slow-debugging"] = when(
    lambda e: e.works and switches(e), SURE,
    lambda e: [Line("interpreter", f"{name} = {e.environment(name)}") for name in switches(e)],
)  # fmt: skip
# A program in this folder switches on what is for finding errors; whether it is the slow one is not known.
RULES["slow-switch"] = when(
    lambda e: e.works and e.get("pytorch.slows"), LIKELY,
    lambda e: [Line("pytorch", f"{place_of(line)}: {line['value']}") for line in e.get("pytorch.slows")[:3]],
)  # fmt: skip
# Settings of this notebook. Deterministic algorithms are often slower; that may be intended.
RULES["slow-anomaly"] = when(
    lambda e: e.get("caller.anomaly"), SURE, "caller: torch.is_anomaly_enabled() = True"
)
RULES["slow-deterministic"] = when(
    lambda e: e.get("caller.deterministic"), POSSIBLE,
    "caller: torch.are_deterministic_algorithms_enabled() = True",
)  # fmt: skip
RULES["slow-double"] = when(
    lambda e: e.get("caller.default_dtype") == "float64", SURE,
    "caller: torch.get_default_dtype() = torch.float64",
)  # fmt: skip


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


def _use(e: Evidence) -> list[Line]:
    return [e.line("nvml.gpu-used", **gpu) for gpu in busy_gpus(e)]


@rule(RULES, "slow-busy")
def busy(e: Evidence) -> RuleResult:
    """The first GPU, which PyTorch takes by default, is busy, and another one is idle.

    If only one process is there, it may be the very program that is slow.
    """
    used = busy_gpus(e)
    if not used or used[0].get("index") != 0 or idle(e) is None or e.environment("CUDA_VISIBLE_DEVICES"):
        return None
    return POSSIBLE, [_use, Line("nvml", f"GPU {idle(e)}: 0 %")]


@rule(RULES, "slow-shared")
def shared(e: Evidence) -> RuleResult:
    """Several processes compute on one GPU. One alone may be the very program that is slow."""
    mine = 1 if e.get("caller.initialized") else 0
    used = busy_gpus(e)
    several = any(gpu["processes"] > mine + 1 for gpu in used)
    return ((LIKELY if several else POSSIBLE), _use) if used and not busy(e) else None


# The GPU's memory is nearly full, and Windows moves the rest to ordinary memory, since driver 536.40;
# AUTOMATIC1111/stable-diffusion-webui#11063. On Linux the program fails instead.
RULES["slow-memory"] = when(
    lambda e: (e.os == "windows" or e.wsl) and filled(e, 0.92), LIKELY,
    lambda e: [used_line(e, gpu) for gpu in filled(e, 0.92)],
)  # fmt: skip


def _at_lower_clock(reasons: dict[int, Bilingual]) -> Rule:
    """Return the rule of a cause for which GPUs lower their clock, as NVML says: for one of the `reasons`."""

    def found(e: Evidence) -> RuleResult:
        slowed = []
        for gpu in e.get("nvml.devices", []):
            named = [name for bit, name in reasons.items() if int(gpu.get("throttle") or 0) & bit]
            if named:
                why = Bilingual(joined(name.en for name in named), "、".join(name.zh for name in named))
                warm = gpu.get("temperature", "?")
                slowed.append(e.line("nvml.slowed", index=gpu.get("index"), why=why, temperature=warm))
        return (LIKELY, slowed) if slowed else None

    return found


hot = RULES["slow-hot"] = _at_lower_clock(HOT)
power = RULES["slow-power"] = _at_lower_clock(POWER)
# While the GPU computes, its PCIe link has less than a third of its speed; local-inference-lab/rtx6kpro#88.
RULES["slow-link"] = when(
    lambda e: (link := e.get("speed.link"))
    and link["speed"] * link["width"] <= 0.3 * link["max_speed"] * link["max_width"],
    LIKELY, "speed.link",
)  # fmt: skip


@rule(RULES, "slow-compiling")
def compiling(e: Evidence) -> RuleResult:
    """Torch contains only intermediate code (PTX) for this GPU, which the driver compiles at first use."""
    arch = e.get("pytorch.arch", [])
    made = [entry for entry in arch if entry.startswith("sm_")]
    right = [gpu for gpu in e.tried if gpu.get("right") and gpu.get("capability")] if made else []
    compiled = [gpu for gpu in right if not cuda_tables.has_code_for(int(gpu["capability"]), made)]
    lines = [Line("usable", f"{gpu.get('name')}: sm_{gpu['capability']}") for gpu in compiled]
    return (LIKELY, [lines, Line("pytorch", f"get_arch_list() = {joined(arch)}")]) if lines else None


@rule(RULES, "slow-start")
def start(e: Evidence) -> RuleResult:
    """The driver starts anew for each program, as without persistence mode; NVIDIA/nvidia-docker#723."""
    seconds = min(e.get(f"{probe}.seconds", 0.0) for probe in ("driver", "nvml"))
    if not e.works or e.os != "linux" or e.wsl or e.container or seconds < 3:
        return None
    return POSSIBLE, e.line("driver.started-slowly", seconds=seconds)


@rule(RULES, "slow-gpu-job")
def gpu_slower(e: Evidence) -> RuleResult:
    """The matrix product is hardly faster on the GPU than on the CPU, and nothing else that was found explains it."""
    ratio = e.get("speed.gpu_over_cpu")
    if not e.works or ratio is None or ratio >= 2:
        return None
    known = explained(e, shared, hot, power, battery, debugging)
    return (POSSIBLE if known or busy_gpus(e) else LIKELY), "speed.product"


# --- the CPU: cores, threads, power, disk -------------------------------------------------------------

battery = RULES["slow-battery"] = when(lambda e: e.get("speed.battery"), LIKELY, "speed.battery")

# This process may run on one or two of many cores only, as in a Slurm job without ``--cpus-per-task``.
RULES["slow-few-cores"] = when(
    lambda e: 0 < e.get("speed.cores", 0) <= 2 and e.get("bus.cores", 0) >= 8, LIKELY, "speed.few-cores"
)


@rule(RULES, "slow-quota")
def quota(e: Evidence) -> RuleResult:
    """The container may use less CPU time than PyTorch has threads. Source: ollama/ollama#17916, ml-agents#4471."""
    allowed, threads = e.get("bus.cpu_quota"), e.get("speed.threads")
    if not (allowed and threads) or threads <= allowed + 0.5:
        return None
    certainty = LIKELY if threads >= 2 * allowed else POSSIBLE
    return certainty, ["bus: cpu.max: {bus.cpu_quota:g} CPU", "speed.threads"]


@rule(RULES, "slow-threads")
def threads(e: Evidence) -> RuleResult:
    """PyTorch uses far fewer threads than there are cores. That is right for one of several processes."""
    used, cores = e.get("speed.threads"), e.get("speed.cores")
    if not (used and cores and cores >= 4 and used * 4 <= cores):
        return None
    if used + 0.5 >= (e.get("bus.cpu_quota") or cores):
        return None  # more threads would only wait for each other
    limits = {name: e.environment(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    lines = [Line("interpreter", f"{name} = {value}") for name, value in limits.items() if value]
    # Without such a limit, the number of threads may be right: some CPUs count each core four times or more.
    meant = e.works or not lines or e.environment("WORLD_SIZE") not in (None, "1")
    return (POSSIBLE if meant else LIKELY), ["speed.threads", lines]


@rule(RULES, "slow-crowded")
def crowded(e: Evidence) -> RuleResult:
    """More processes wait for the CPU than there are cores."""
    # The load is that of the whole machine, even if this process may use only some of its cores.
    load, cores = e.get("bus.load"), max(e.get("speed.cores", 0), e.get("bus.cores", 0))
    return (LIKELY, e.line("bus.load", cores=cores)) if load and cores and load > 1.5 * cores + 1 else None


# The current folder is on a disk that is reached over a network, or from WSL on a disk of Windows.
RULES["slow-disk"] = when(lambda e: e.get("speed.disk"), POSSIBLE, "speed.file-system")
