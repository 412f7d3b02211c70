"""Why is it slow? What a program can see of it: settings, limits, neighbours, and one small measurement."""

from __future__ import annotations

from course_utils.doctor.evidence import Evidence, Line, joined
from course_utils.doctor.rules import LIKELY, POSSIBLE, SURE, Finding, Rule

RULES: dict[str, Rule] = {}
NOTHING_FOUND = ("slow-nothing", LIKELY)

# Switches that help to find errors, and cost time. Their harmless values are not reported.
SWITCHES = {
    "CUDA_LAUNCH_BLOCKING": ("0", ""),
    "TORCH_DISTRIBUTED_DEBUG": ("OFF", "INFO", ""),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": ("0", ""),
    "NVIDIA_TF32_OVERRIDE": ("1", ""),
}

# nvmlClocksEventReasons that slow a GPU down although there is work. Source: nvml.h.
THROTTLES = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "too hot",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}


def rule(cause: str):  # noqa: ANN201 - the same decorator as in rules.py, for this table
    """Register a function as the rule for `cause`."""

    def register(function: Rule) -> Rule:
        RULES[cause] = function
        return function

    return register


@rule("slow-debugging")
def debugging(e: Evidence) -> Finding:
    """A switch for finding errors was left on."""
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


@rule("slow-double")
def double(e: Evidence) -> Finding:
    """float64 is the default type of this notebook."""
    if e.get("caller.default_dtype") == "float64":
        return SURE, [Line("caller", "torch.get_default_dtype() = torch.float64")]
    return None


@rule("slow-shared")
def shared(e: Evidence) -> Finding:
    """Other processes compute on the GPU."""
    mine = 1 if e.get("caller.initialized") else 0
    busy = [
        one
        for one in e.get("nvml.devices", [])
        if one.get("processes", 0) > mine and one.get("busy", 0) >= 30
    ]
    if not busy:
        return None
    return (LIKELY if e.works else POSSIBLE), [
        Line("nvml", f"GPU {one.get('index')}: {one['processes']} processes, {one['busy']} % busy")
        for one in busy
    ]


@rule("slow-memory")
def memory(e: Evidence) -> Finding:
    """The GPU's memory is nearly full."""
    full = [
        one
        for one in e.get("nvml.devices", [])
        if one.get("memory") and one.get("used", 0) > 0.92 * one["memory"]
    ]
    if not full:
        return None
    return LIKELY, [
        Line(
            "nvml",
            f"GPU {one.get('index')}: {one['used'] / 2**30:.1f} of {one['memory'] / 2**30:.1f} GiB used",
        )
        for one in full
    ]


@rule("slow-throttled")
def throttled(e: Evidence) -> Finding:
    """The GPU lowers its clocks: heat or power."""
    lines, hot = [], False
    for one in e.get("nvml.devices", []):
        bits = int(one.get("throttle", 0))
        reasons = [name for bit, name in THROTTLES.items() if bits & bit]
        hot = hot or bool(bits & ~0x4 & sum(THROTTLES))
        if reasons:
            lines.append(
                Line("nvml", f"GPU {one.get('index')}: {joined(reasons)}, {one.get('temperature', '?')} °C")
            )
    # At the power cap a GPU works as hard as it is allowed to: under load that is normal.
    return ((LIKELY if hot else POSSIBLE), lines) if lines else None


@rule("slow-compiling")
def compiling(e: Evidence) -> Finding:
    """torch holds only intermediate code for this GPU, so that the driver compiles it at first use."""
    from course_utils.doctor import dated

    arch = e.get("pytorch.arch", [])
    made = [entry for entry in arch if entry.startswith("sm_")]
    lines = [
        Line("usable", f"{one.get('name')}: sm_{one['capability']}")
        for one in e.tried
        if one.get("right")
        and made
        and one.get("capability")
        and not dated.has_code_for(int(one["capability"]), made)
    ]
    return (LIKELY, [*lines, Line("pytorch", f"get_arch_list() = {joined(arch)}")]) if lines else None


@rule("slow-quota")
def quota(e: Evidence) -> Finding:
    """The container may use less CPU time than it sees cores."""
    allowed, cores = e.get("bus.cpu_quota"), e.get("speed.cores")
    if allowed and cores and allowed < cores - 0.5:
        return LIKELY, [
            Line("bus", f"cpu.max: {allowed:g} CPU"),
            Line("speed", f"sched_getaffinity: {cores}"),
        ]
    return None


@rule("slow-threads")
def threads(e: Evidence) -> Finding:
    """PyTorch uses one thread, or many fewer than there are cores."""
    used, cores = e.get("speed.threads"), e.get("speed.cores")
    limit = e.environment("OMP_NUM_THREADS")
    if used and cores and cores >= 4 and used * 4 <= cores:
        lines = [Line("speed", f"torch.get_num_threads() = {used}, cores: {cores}")]
        if limit:
            lines.append(Line("interpreter", f"OMP_NUM_THREADS = {limit}"))
        return (POSSIBLE if e.works else LIKELY), lines
    return None


@rule("slow-crowded")
def crowded(e: Evidence) -> Finding:
    """More work is waiting for the CPU than there are cores."""
    # The load is that of the whole machine, whatever part of its cores this process may use.
    load, cores = e.get("bus.load"), max(e.get("speed.cores", 0), e.get("bus.cores", 0))
    if load and cores and load > 1.5 * cores + 1:
        return LIKELY, [Line("bus", f"load: {load:.1f}, cores: {cores}")]
    return None


@rule("slow-shm")
def shm(e: Evidence) -> Finding:
    """Shared memory is too small for the workers of a DataLoader."""
    size = e.get("bus.shm")
    if size and size <= 128 * 2**20:
        return POSSIBLE, [Line("bus", f"/dev/shm: {size / 2**20:.0f} MiB")]
    return None


@rule("slow-cpu")
def on_the_cpu(e: Evidence) -> Finding:
    """There is no GPU to use: everything runs on the CPU."""
    if e.works or e.card_here or e.build in ("hip", "xpu"):
        return None
    return POSSIBLE, [
        Line("driver", "0 GPU"),
        Line("speed", f"torch.get_num_threads() = {e.get('speed.threads')}"),
    ]


@rule("slow-gpu-job")
def gpu_slower(e: Evidence) -> Finding:
    """The large matrix product is not faster on the GPU than on the CPU."""
    ratio = e.get("speed.gpu_over_cpu")
    if e.works and ratio is not None and ratio < 2:
        return LIKELY, [Line("speed", f"1024 x 1024 product: GPU / CPU speed = {ratio:.2g}x")]
    return None


def overview(e: Evidence) -> list[Line]:
    """Return what was measured, for a machine on which nothing stands out."""
    lines = [
        Line("speed", f"torch.get_num_threads() = {e.get('speed.threads')}, cores: {e.get('speed.cores')}")
    ]
    if e.get("speed.gpu_over_cpu") is not None:
        lines.append(
            Line("speed", f"1024 x 1024 product: GPU / CPU speed = {e.get('speed.gpu_over_cpu'):.2g}x")
        )
    if e.get("speed.cpu_gflops") is not None:
        lines.append(Line("speed", f"CPU: {e.get('speed.cpu_gflops'):.0f} GFLOP/s"))
    if e.hung("speed"):
        lines.append(Line("speed", f"no answer in {e.get('speed.seconds')} s"))
    return lines
