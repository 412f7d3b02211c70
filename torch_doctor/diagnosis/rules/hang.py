"""Rules about training that hangs: how the probe `job` ended, a tiny all-reduce with a known result and a timeout.

An example of its evidence (``copy`` and ``nccl`` need two GPUs)::

    {"gloo": {"how": "failed", "error": "RuntimeError: …"}, "gloo-loopback": {"how": "right", "value": 101.0}}
"""

from __future__ import annotations

from torch_doctor.data import screen
from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule

RULES: dict[str, Rule] = {}

_TRIED = screen("evidence", "tried")


def attempt(e: Evidence, name: str) -> str:
    """Return how the attempt `name` of the job ended: ``"right"``, ``"wrong"``, ``"failed"``, ``"slow"`` or ``""``."""
    return e.get(f"job.tries.{name}.how", "")


def error(e: Evidence, name: str) -> str:
    """Return the error of the attempt `name`, or ``""``."""
    return e.get(f"job.tries.{name}.error", "")


def too_late(e: Evidence, name: str) -> bool:
    """Return whether the attempt `name` only ran out of time, on a machine that may just be busy.

    Initializing NCCL alone takes seconds. With three times the usual limit, that is no excuse any more.
    """
    timed_out = attempt(e, name) == "slow" or bool(mentions(error(e, name), r"[Tt]imed? ?out"))
    return timed_out and e.get("job.patience", 1.0) < 3


def error_lines(e: Evidence, name: str) -> list[Line]:
    """Return the error of the attempt `name` as evidence."""
    text = error(e, name)
    return [Line("job", text[:200])] if text else []


def outcome(e: Evidence, name: str) -> Line:
    """Return how the attempt `name` ended as evidence."""
    value = e.get(f"job.tries.{name}.value")
    how = attempt(e, name)
    english, chinese = f"{name}: {_TRIED[how or 'not'].en}", f"{name}：{_TRIED[how or 'not'].zh}"
    if how == "right" and value == 101:
        english, chinese = f"{english} ({value} == 101)", f"{chinese}（{value} == 101）"
    return Line("job", english, chinese)


@rule(RULES, "hang-ifname")
def ifname(e: Evidence) -> RuleResult:
    """A variable names a network interface that this machine does not have.

    Sure if the library's error repeats it: ``Unable to find address for: eth9`` (gloo), ``no socket interface found`` (NCCL).
    """
    for name, variable, message in (
        ("gloo", "GLOO_SOCKET_IFNAME", r"Unable to find address for"),
        ("nccl", "NCCL_SOCKET_IFNAME", r"no socket interface found"),
    ):
        value = e.environment(variable)
        said = f"{error(e, name)}\n{e.get('job.nccl_says', '')}"
        if value and attempt(e, name) == "failed" and mentions(said, message):
            return SURE, [Line("interpreter", f"{variable} = {value}"), *error_lines(e, name)]
    return None


@rule(RULES, "hang-interface")
def interface(e: Evidence) -> RuleResult:
    """The processes cannot connect by the host name, but they can over the loopback interface."""
    if attempt(e, "gloo") not in ("failed", "slow") or attempt(e, "gloo-loopback") != "right" or ifname(e):
        return None
    lines = [outcome(e, "gloo"), outcome(e, "gloo-loopback"), *error_lines(e, "gloo")]
    if e.get("job.resolves"):
        resolves = e.get("job.resolves")
        lines.append(Line("job", f"host name -> {resolves}", f"主機名稱 -> {resolves}"))
    return (LIKELY if too_late(e, "gloo") else SURE), lines


@rule(RULES, "hang-transport")
def transport(e: Evidence) -> RuleResult:
    """Two processes on this machine cannot exchange even one number. Running out of time alone does not show that."""
    bad, names = ("failed", "slow", "wrong"), ("gloo", "gloo-loopback")
    if attempt(e, "gloo") not in bad or attempt(e, "gloo-loopback") not in (*bad, "") or ifname(e):
        return None
    if all(too_late(e, name) for name in names if attempt(e, name)):
        return None
    return LIKELY, [*[outcome(e, name) for name in names if attempt(e, name)], *error_lines(e, "gloo")]


@rule(RULES, "hang-copy")
def copy(e: Evidence) -> RuleResult:
    """Data that is copied from one GPU to another does not arrive.

    Sure if it arrived changed; pytorch/pytorch#84803. A copy that failed with an error has other causes (no memory).
    """
    if attempt(e, "copy") == "wrong":
        value = e.get("job.tries.copy.value")
        line = f"cuda:0 -> cuda:1: sum = {value}, expected 1000"
        return SURE, [Line("job", line, f"cuda:0 -> cuda:1：總和是 {value}，應該是 1000"), outcome(e, "copy")]
    if attempt(e, "copy") == "slow" and not too_late(e, "copy"):
        return LIKELY, [outcome(e, "copy"), Line("job", "cuda:0 -> cuda:1")]
    return None


@rule(RULES, "hang-nccl")
def nccl(e: Evidence) -> RuleResult:
    """NCCL hangs or is wrong, but gloo and copies between GPUs work; deepspeedai/DeepSpeed#4433."""
    bad = attempt(e, "nccl") in ("failed", "wrong", "slow") and not too_late(e, "nccl")
    if not bad or attempt(e, "copy") not in ("right", "") or ifname(e) or small_shm_of_nccl(e):
        return None
    says = [Line("job", f"NCCL: {e.get('job.nccl_says')}")] if e.get("job.nccl_says") else []
    return LIKELY, [
        outcome(e, "nccl"),
        *says,
        *error_lines(e, "nccl"),
        outcome(e, "gloo"),
        outcome(e, "copy"),
    ]


def small_shm_of_nccl(e: Evidence) -> bool:
    """Return whether NCCL itself says that it got no shared memory."""
    return bool(mentions(f"{error(e, 'nccl')}\n{e.get('job.nccl_says', '')}", r"/dev/shm|shared memory"))


@rule(RULES, "hang-shm")
def shm(e: Evidence) -> RuleResult:
    """Shared memory is too small for NCCL and for the workers of a DataLoader; pytorch/pytorch#1355."""
    size = e.get("bus.shm")
    lines = [Line("bus", f"/dev/shm: {size / 2**20:.0f} MiB")] if size else []
    if small_shm_of_nccl(e):
        return LIKELY, [*lines, *error_lines(e, "nccl")]
    if not size or size > 128 * 2**20:
        return None
    # Docker's default. Outside a container, nobody makes it so small, and little uses it.
    return (LIKELY if e.container and size <= 64 * 2**20 else POSSIBLE), lines


@rule(RULES, "hang-gpu-error")
def gpu_error(e: Evidence) -> RuleResult:
    """The copy between two GPUs ended with an error, which says nothing about a job that hangs."""
    return (LIKELY, [outcome(e, "copy"), *error_lines(e, "copy")]) if attempt(e, "copy") == "failed" else None


@rule(RULES, "hang-world")
def world(e: Evidence) -> RuleResult:
    """Variables of a launcher are set here, so that a job waits for processes that are never started.

    In a batch job or a pod they usually belong there, and with LOCAL_RANK a launcher has set them.
    """
    size, rank = e.environment("WORLD_SIZE"), e.environment("RANK")
    if not size or size == "1" or e.environment("TORCHELASTIC_RUN_ID"):
        return None
    launched = e.get("bus.slurm") or e.container == "kubernetes" or e.environment("LOCAL_RANK")
    line = Line("interpreter", f"WORLD_SIZE = {size}, RANK = {rank}, TORCHELASTIC_RUN_ID = None")
    return (POSSIBLE if launched else LIKELY), [line]


@rule(RULES, "hang-leftover")
def leftover(e: Evidence) -> RuleResult:
    """The default port is in use: by an old job, or by another notebook."""
    if e.get("job.port_taken"):
        port = e.get("job.port")
        return POSSIBLE, [Line("job", f"port {port}: in use", f"連接埠 {port}：使用中")]
    return None


@rule(RULES, "hang-spawn")
def spawn(e: Evidence) -> RuleResult:
    """On Windows and macOS, processes cannot find what is defined in a notebook; pytorch/pytorch#51344."""
    if e.os in ("windows", "darwin") and e.get("caller.notebook"):
        return POSSIBLE, [
            Line("bus", f"{e.os}: multiprocessing starts with `spawn`", f"{e.os}：多行程以 `spawn` 啟動")
        ]
    return None


@rule(RULES, "hang-mig")
def mig(e: Evidence) -> RuleResult:
    """Partitions of a GPU (MIG) cannot communicate. Source: NVIDIA's MIG user guide, "no GPU to GPU P2P"."""
    on = [gpu for gpu in e.get("nvml.devices", []) if gpu.get("mig")]
    return (
        (POSSIBLE, [Line("nvml", f"MIG: {len(on)} GPU on", f"MIG：{len(on)} 張 GPU 已開啟")]) if on else None
    )


@rule(RULES, "hang-p2p")
def p2p(e: Evidence) -> RuleResult:
    """The direct way between the GPUs passed the small test, and may yet fail under load; chenyilun95/DSGN2#20."""
    if attempt(e, "nccl") != "right" or e.get("job.nccl_says") != "P2P":
        return None
    return POSSIBLE, [Line("job", "NCCL: via P2P", "NCCL：經由 P2P")]
