"""Rules about training that hangs: how the probe `job` ended, a tiny all-reduce with a known result and a timeout.

An example of its evidence (``copy`` and ``nccl`` need two GPUs)::

    {"gloo": {"how": "failed", "error": "RuntimeError: …"}, "gloo-loopback": {"how": "right", "value": 101.0}}
"""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions, no_answer
from torch_doctor.diagnosis.rules.base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule

RULES: dict[str, Rule] = {}

_CHINESE = {"right": "正確", "wrong": "結果錯誤", "failed": "失敗", "slow": "逾時", "not tried": "沒有測試"}


def attempt(e: Evidence, name: str) -> str:
    """Return how the attempt `name` of the job ended: ``"right"``, ``"wrong"``, ``"failed"``, ``"slow"`` or ``""``."""
    return e.get(f"job.tries.{name}.how", "")


def had_time(e: Evidence) -> bool:
    """Return whether an attempt that timed out had enough time; initializing NCCL alone takes seconds."""
    return e.get("job.patience", 1.0) >= 3


def _error(e: Evidence, name: str) -> list[Line]:
    text = e.get(f"job.tries.{name}.error", "")
    return [Line("job", text[:200])] if text else []


def _outcome(e: Evidence, name: str) -> Line:
    value = e.get(f"job.tries.{name}.value")
    how = attempt(e, name) or "not tried"
    shown = f" ({value} == 101)" if how == "right" and value else ""
    return Line("job", f"{name}: {how}{shown}", f"{name}：{_CHINESE.get(how, how)}{shown}")


@rule(RULES, "hang-interface")
def interface(e: Evidence) -> RuleResult:
    """The processes cannot connect by the host name, but they can over the loopback interface."""
    if attempt(e, "gloo") in ("failed", "slow") and attempt(e, "gloo-loopback") == "right":
        lines = [_outcome(e, "gloo"), _outcome(e, "gloo-loopback"), *_error(e, "gloo")]
        if e.get("job.resolves"):
            resolves = e.get("job.resolves")
            lines.append(Line("job", f"host name -> {resolves}", f"主機名稱 -> {resolves}"))
        return SURE, lines
    return None


@rule(RULES, "hang-transport")
def transport(e: Evidence) -> RuleResult:
    """Two processes on this machine cannot exchange even one number."""
    if attempt(e, "gloo") in ("failed", "slow") and attempt(e, "gloo-loopback") in ("failed", "slow", ""):
        outcomes = [_outcome(e, name) for name in ("gloo", "gloo-loopback") if attempt(e, name)]
        return LIKELY, [*outcomes, *_error(e, "gloo")]
    return None


@rule(RULES, "hang-wrong")
def wrong(e: Evidence) -> RuleResult:
    """The sum is wrong: another process took part."""
    bad = [name for name in ("gloo", "gloo-loopback") if attempt(e, name) == "wrong"]
    if bad:
        return SURE, [Line("job", f"{name}: 1 + 100 = {e.get(f'job.tries.{name}.value')}") for name in bad]
    return None


@rule(RULES, "hang-copy")
def copy(e: Evidence) -> RuleResult:
    """Data that is copied from one GPU to another does not arrive."""
    if attempt(e, "copy") in ("wrong", "failed") or (attempt(e, "copy") == "slow" and had_time(e)):
        return SURE, [_outcome(e, "copy"), *_error(e, "copy"), Line("job", "cuda:0 -> cuda:1")]
    return None


@rule(RULES, "hang-nccl")
def nccl(e: Evidence) -> RuleResult:
    """NCCL hangs or fails, but gloo and copies between GPUs work."""
    bad = attempt(e, "nccl") in ("failed", "wrong") or (attempt(e, "nccl") == "slow" and had_time(e))
    if bad and attempt(e, "copy") not in ("wrong", "failed", "slow"):
        return LIKELY, [_outcome(e, "gloo"), _outcome(e, "copy"), _outcome(e, "nccl"), *_error(e, "nccl")]
    return None


@rule(RULES, "hang-leftover")
def leftover(e: Evidence) -> RuleResult:
    """The default port is in use: by an old job, or by another notebook."""
    if e.get("job.port_taken"):
        port = e.get("job.port")
        return POSSIBLE, [Line("job", f"port {port}: in use", f"連接埠 {port}：使用中")]
    return None


@rule(RULES, "hang-world")
def world(e: Evidence) -> RuleResult:
    """Variables of a launcher are set here, so that a job waits for processes that are never started."""
    size, rank = e.environment("WORLD_SIZE"), e.environment("RANK")
    if size and size != "1" and not e.environment("TORCHELASTIC_RUN_ID"):
        return LIKELY, [
            Line("interpreter", f"WORLD_SIZE = {size}, RANK = {rank}, TORCHELASTIC_RUN_ID = None")
        ]
    return None


@rule(RULES, "hang-shm")
def shm(e: Evidence) -> RuleResult:
    """Shared memory is too small for NCCL and for DataLoader workers."""
    size = e.get("bus.shm")
    if size and size <= 128 * 2**20:
        return (LIKELY if mentions(str(e.get("job.tries.nccl.error", "")), "shm") else POSSIBLE), [
            Line("bus", f"/dev/shm: {size / 2**20:.0f} MiB")
        ]
    return None


@rule(RULES, "hang-mig")
def mig(e: Evidence) -> RuleResult:
    """Partitions of a GPU (MIG) cannot communicate."""
    on = [gpu for gpu in e.get("nvml.devices", []) if gpu.get("mig")]
    return (LIKELY, [Line("nvml", f"MIG: {len(on)} GPU on", f"MIG：{len(on)} 張 GPU 已開啟")]) if on else None


def nothing_found(e: Evidence) -> tuple[str, int]:
    """Return the verdict (cause, how sure) if no rule applies: the job ran, timed out, or could not be started."""
    if attempt(e, "gloo") == "right":
        unfinished = "slow" in (attempt(e, "copy"), attempt(e, "nccl"))
        return ("hang-not-finished" if unfinished else "hang-program"), LIKELY
    return "hang-not-tried", LIKELY


def overview(e: Evidence) -> list[Line]:
    """Return how each attempt ended."""
    lines = [_outcome(e, name) for name in ("gloo", "gloo-loopback", "copy", "nccl") if attempt(e, name)]
    if e.torch != "imported" and not lines:
        lines.append(Line("pytorch", e.import_error or e.torch))
    if e.hung("job"):
        lines.append(no_answer(e, "job"))
    if e.get("job.error"):
        lines.append(Line("job", e.get("job.error")[:200]))
    return lines or [Line("job", e.ended("job"))]
