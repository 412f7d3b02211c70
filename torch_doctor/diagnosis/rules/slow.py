"""Rules about speed: settings, limits, other processes, and one small measurement."""

from __future__ import annotations

from torch_doctor.bilingual import Bilingual
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, joined, no_answer
from torch_doctor.diagnosis.rules.base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule

RULES: dict[str, Rule] = {}
NOTHING_FOUND = ("slow-nothing", LIKELY)

# Debugging switches that cost time, and their harmless values.
SWITCHES = {
    "CUDA_LAUNCH_BLOCKING": ("0", ""),
    "TORCH_DISTRIBUTED_DEBUG": ("OFF", "INFO", ""),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": ("0", ""),
    "NVIDIA_TF32_OVERRIDE": ("1", ""),
}

# nvmlClocksEventReasons that reduce the clocks of a busy GPU. Source: nvml.h.
THROTTLES = {
    0x4: Bilingual("power cap", "功率上限"),
    0x8: Bilingual("hardware slowdown", "硬體降頻"),
    0x20: Bilingual("too hot", "過熱"),
    0x40: Bilingual("too hot (hardware)", "過熱（硬體）"),
    0x80: Bilingual("power brake", "外部供電限制"),
}


@rule(RULES, "slow-debugging")
def debugging(e: Evidence) -> RuleResult:
    """A debugging switch is on."""
    lines = [
        Line("interpreter", f"{name} = {value}")
        for name, harmless in SWITCHES.items()
        if (value := e.environment(name)) is not None and value.upper() not in harmless
    ]
    if e.get("caller.anomaly"):
        lines.append(Line("caller", "torch.is_anomaly_enabled() = True"))
    if e.get("caller.deterministic"):
        lines.append(Line("caller", "torch.are_deterministic_algorithms_enabled() = True"))
    return (SURE, lines) if lines else None


@rule(RULES, "slow-double")
def double(e: Evidence) -> RuleResult:
    """The default dtype of this notebook is float64."""
    if e.get("caller.default_dtype") == "float64":
        return SURE, [Line("caller", "torch.get_default_dtype() = torch.float64")]
    return None


@rule(RULES, "slow-shared")
def shared(e: Evidence) -> RuleResult:
    """Other processes compute on the GPU."""
    mine = 1 if e.get("caller.initialized") else 0
    busy = [
        gpu
        for gpu in e.get("nvml.devices", [])
        if gpu.get("processes", 0) > mine and gpu.get("busy", 0) >= 30
    ]
    if not busy:
        return None
    return (LIKELY if e.works else POSSIBLE), [
        Line(
            "nvml",
            f"GPU {gpu.get('index')}: {gpu['processes']} processes, {gpu['busy']}% busy",
            f"GPU {gpu.get('index')}：{gpu['processes']} 個行程，使用率 {gpu['busy']}%",
        )
        for gpu in busy
    ]


@rule(RULES, "slow-memory")
def memory(e: Evidence) -> RuleResult:
    """The GPU's memory is nearly full."""
    full = [
        gpu
        for gpu in e.get("nvml.devices", [])
        if gpu.get("memory") and gpu.get("used", 0) > 0.92 * gpu["memory"]
    ]
    if not full:
        return None
    return LIKELY, [
        Line(
            "nvml",
            f"GPU {gpu.get('index')}: {gpu['used'] / 2**30:.1f} of {gpu['memory'] / 2**30:.1f} GiB used",
            f"GPU {gpu.get('index')}：{gpu['memory'] / 2**30:.1f} GiB 中已使用 {gpu['used'] / 2**30:.1f} GiB",
        )
        for gpu in full
    ]


@rule(RULES, "slow-throttled")
def throttled(e: Evidence) -> RuleResult:
    """The GPU reduces its clocks because of heat or power."""
    lines, hot = [], False
    for gpu in e.get("nvml.devices", []):
        bits = int(gpu.get("throttle", 0))
        reasons = [name for bit, name in THROTTLES.items() if bits & bit]
        hot = hot or bool(bits & ~0x4 & sum(THROTTLES))
        if reasons:
            where, warm = f"GPU {gpu.get('index')}", f"{gpu.get('temperature', '?')} °C"
            english = f"{where}: {joined(reason.en for reason in reasons)}, {warm}"
            chinese = f"{where}：{'、'.join(reason.zh for reason in reasons)}，{warm}"
            lines.append(Line("nvml", english, chinese))
    # Reaching the power cap is normal under load.
    return ((LIKELY if hot else POSSIBLE), lines) if lines else None


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


@rule(RULES, "slow-quota")
def quota(e: Evidence) -> RuleResult:
    """The container may use less CPU time than it sees cores."""
    allowed, cores = e.get("bus.cpu_quota"), e.get("speed.cores")
    if allowed and cores and allowed < cores - 0.5:
        return LIKELY, [
            Line("bus", f"cpu.max: {allowed:g} CPU"),
            Line("speed", f"sched_getaffinity: {cores}"),
        ]
    return None


def _threads(e: Evidence) -> Line:
    """Return how many threads PyTorch uses, and how many cores there are."""
    used, cores = (f"torch.get_num_threads() = {e.get('speed.threads')}", e.get("speed.cores"))
    return Line("speed", f"{used}, cores: {cores}", f"{used}，CPU 核心：{cores} 個")


@rule(RULES, "slow-threads")
def threads(e: Evidence) -> RuleResult:
    """PyTorch uses far fewer threads than there are cores."""
    used, cores = e.get("speed.threads"), e.get("speed.cores")
    limit = e.environment("OMP_NUM_THREADS")
    if used and cores and cores >= 4 and used * 4 <= cores:
        lines = [_threads(e)]
        if limit:
            lines.append(Line("interpreter", f"OMP_NUM_THREADS = {limit}"))
        return (POSSIBLE if e.works else LIKELY), lines
    return None


@rule(RULES, "slow-crowded")
def crowded(e: Evidence) -> RuleResult:
    """More processes wait for the CPU than there are cores."""
    # The load is that of the whole machine, even if this process may use only some of its cores.
    load, cores = e.get("bus.load"), max(e.get("speed.cores", 0), e.get("bus.cores", 0))
    if load and cores and load > 1.5 * cores + 1:
        return LIKELY, [
            Line("bus", f"load: {load:.1f}, cores: {cores}", f"負載：{load:.1f}，CPU 核心：{cores} 個")
        ]
    return None


@rule(RULES, "slow-shm")
def shm(e: Evidence) -> RuleResult:
    """Shared memory is too small for the workers of a DataLoader."""
    size = e.get("bus.shm")
    if size and size <= 128 * 2**20:
        return POSSIBLE, [Line("bus", f"/dev/shm: {size / 2**20:.0f} MiB")]
    return None


@rule(RULES, "slow-cpu")
def on_the_cpu(e: Evidence) -> RuleResult:
    """There is no GPU to use: everything runs on the CPU."""
    if e.works or e.card_here or e.build in ("hip", "xpu"):
        return None
    return POSSIBLE, [
        Line("driver", "0 GPU"),
        Line("speed", f"torch.get_num_threads() = {e.get('speed.threads')}"),
    ]


@rule(RULES, "slow-gpu-job")
def gpu_slower(e: Evidence) -> RuleResult:
    """The large matrix product is not faster on the GPU than on the CPU."""
    ratio = e.get("speed.gpu_over_cpu")
    if e.works and ratio is not None and ratio < 2:
        return LIKELY, [_product(ratio)]
    return None


def _product(ratio: float) -> Line:
    """Return how much faster the GPU multiplied two matrices than the CPU."""
    return Line(
        "speed",
        f"1024 x 1024 product: GPU / CPU speed = {ratio:.2g}x",
        f"1024 x 1024 矩陣乘法：GPU 的速度是 CPU 的 {ratio:.2g} 倍",
    )


def overview(e: Evidence) -> list[Line]:
    """Return what was measured, for a report without a finding."""
    lines = [_threads(e)]
    if e.get("speed.gpu_over_cpu") is not None:
        lines.append(_product(e.get("speed.gpu_over_cpu")))
    if e.get("speed.cpu_gflops") is not None:
        lines.append(Line("speed", f"CPU: {e.get('speed.cpu_gflops'):.0f} GFLOP/s"))
    if e.hung("speed"):
        lines.append(no_answer(e, "speed"))
    return lines
