"""Rules about what slows the CPU down, and with it the GPU that waits for it: cores, threads, power, disk."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line

from .base import LIKELY, POSSIBLE, Rule, RuleResult, rule, seen

battery = seen("speed.battery", LIKELY, Line("speed", "battery: discharging", "電池：放電中"))
RULES: dict[str, Rule] = {"slow-battery": battery}


def threads_line(e: Evidence) -> Line:
    """Return how many threads PyTorch uses, and how many cores there are."""
    used, cores = f"torch.get_num_threads() = {e.get('speed.threads')}", e.get("speed.cores")
    return Line("speed", f"{used}, CPU cores: {cores}", f"{used}，CPU 核心：{cores} 個")


@rule(RULES, "slow-few-cores")
def few_cores(e: Evidence) -> RuleResult:
    """This process may run on one or two of many cores only, as in a Slurm job without ``--cpus-per-task``."""
    mine, cores = e.get("speed.cores"), e.get("bus.cores")
    if mine and cores and mine <= 2 and cores >= 8:
        english, chinese = f"CPU cores: {mine} of {cores}", f"{cores} 個 CPU 核心中的 {mine} 個"
        return LIKELY, [Line("speed", f"sched_getaffinity: {english}", f"sched_getaffinity：{chinese}")]
    return None


@rule(RULES, "slow-quota")
def quota(e: Evidence) -> RuleResult:
    """The container may use less CPU time than PyTorch has threads. Source: ollama/ollama#17916, ml-agents#4471."""
    allowed, threads = e.get("bus.cpu_quota"), e.get("speed.threads")
    if allowed and threads and threads > allowed + 0.5:
        lines = [Line("bus", f"cpu.max: {allowed:g} CPU"), threads_line(e)]
        return (LIKELY if threads >= 2 * allowed else POSSIBLE), lines
    return None


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
    return (POSSIBLE if meant else LIKELY), [threads_line(e), *lines]


@rule(RULES, "slow-crowded")
def crowded(e: Evidence) -> RuleResult:
    """More processes wait for the CPU than there are cores."""
    # The load is that of the whole machine, even if this process may use only some of its cores.
    load, cores = e.get("bus.load"), max(e.get("speed.cores", 0), e.get("bus.cores", 0))
    if load and cores and load > 1.5 * cores + 1:
        english, chinese = f"load: {load:.1f}, CPU cores: {cores}", f"負載：{load:.1f}，CPU 核心：{cores} 個"
        return LIKELY, [Line("bus", english, chinese)]
    return None


@rule(RULES, "slow-disk")
def disk(e: Evidence) -> RuleResult:
    """The current folder is on a disk that is reached over a network, or from WSL on a disk of Windows."""
    kind = e.get("speed.disk")
    return (POSSIBLE, [Line("speed", f"file system: {kind}", f"檔案系統：{kind}")]) if kind else None
