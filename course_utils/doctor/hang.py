"""Why does training with several processes hang? A tiny job with a known answer and a time limit tells them apart."""

from __future__ import annotations

from course_utils.doctor.evidence import Evidence, Line, mentions
from course_utils.doctor.rules import LIKELY, POSSIBLE, SURE, Finding, Rule

RULES: dict[str, Rule] = {}


def rule(cause: str):  # noqa: ANN201 - the same decorator as in rules.py, for this table
    """Register a function as the rule for `cause`."""

    def register(function: Rule) -> Rule:
        RULES[cause] = function
        return function

    return register


def tries(e: Evidence, name: str) -> str:
    """Return how the try `name` of the job ended: ``"right"``, ``"wrong"``, ``"failed"``, ``"slow"`` or ``""``."""
    return e.get(f"job.tries.{name}.how", "")


def had_time(e: Evidence) -> bool:
    """Return whether a try that did not end had so much time that it must hang. Starting NCCL takes seconds."""
    return e.get("job.patience", 1.0) >= 3


def _said(e: Evidence, name: str) -> list[Line]:
    text = e.get(f"job.tries.{name}.error", "")
    return [Line("job", text[:200])] if text else []


def _told(e: Evidence, name: str) -> Line:
    value = e.get(f"job.tries.{name}.value")
    how = tries(e, name) or "not tried"
    return Line("job", f"{name}: {how}" + (f" ({value} == 101)" if how == "right" and value else ""))


@rule("hang-interface")
def interface(e: Evidence) -> Finding:
    """The processes do not find each other by the machine's name; through the loopback interface they do."""
    if tries(e, "gloo") in ("failed", "slow") and tries(e, "gloo-loopback") == "right":
        lines = [_told(e, "gloo"), _told(e, "gloo-loopback"), *_said(e, "gloo")]
        if e.get("job.resolves"):
            lines.append(Line("job", f"host name -> {e.get('job.resolves')}"))
        return SURE, lines
    return None


@rule("hang-transport")
def transport(e: Evidence) -> Finding:
    """Two processes on this machine cannot exchange even one number."""
    if tries(e, "gloo") in ("failed", "slow") and tries(e, "gloo-loopback") in ("failed", "slow", ""):
        tried = [_told(e, name) for name in ("gloo", "gloo-loopback") if tries(e, name)]
        return LIKELY, [*tried, *_said(e, "gloo")]
    return None


@rule("hang-wrong")
def wrong(e: Evidence) -> Finding:
    """The sum came out wrong: someone else took part."""
    bad = [name for name in ("gloo", "gloo-loopback") if tries(e, name) == "wrong"]
    if bad:
        return SURE, [Line("job", f"{name}: 1 + 100 = {e.get(f'job.tries.{name}.value')}") for name in bad]
    return None


@rule("hang-copy")
def copy(e: Evidence) -> Finding:
    """What is copied from one GPU to the other does not arrive."""
    if tries(e, "copy") in ("wrong", "failed") or (tries(e, "copy") == "slow" and had_time(e)):
        return SURE, [_told(e, "copy"), *_said(e, "copy"), Line("job", "cuda:0 -> cuda:1")]
    return None


@rule("hang-nccl")
def nccl(e: Evidence) -> Finding:
    """NCCL hangs or fails where gloo works and copies arrive."""
    bad = tries(e, "nccl") in ("failed", "wrong") or (tries(e, "nccl") == "slow" and had_time(e))
    if bad and tries(e, "copy") not in ("wrong", "failed", "slow"):
        return LIKELY, [_told(e, "gloo"), _told(e, "copy"), _told(e, "nccl"), *_said(e, "nccl")]
    return None


@rule("hang-leftover")
def leftover(e: Evidence) -> Finding:
    """Somebody already listens on the default port: a job that was left over, or another notebook."""
    if e.get("job.port_taken"):
        return POSSIBLE, [Line("job", f"port {e.get('job.port')}: in use")]
    return None


@rule("hang-world")
def world(e: Evidence) -> Finding:
    """Variables of a launcher are set in this session, and make a job wait for processes that nobody starts."""
    size, rank = e.environment("WORLD_SIZE"), e.environment("RANK")
    if size and size != "1" and not e.environment("TORCHELASTIC_RUN_ID"):
        return LIKELY, [
            Line("interpreter", f"WORLD_SIZE = {size}, RANK = {rank}, TORCHELASTIC_RUN_ID = None")
        ]
    return None


@rule("hang-shm")
def shm(e: Evidence) -> Finding:
    """Shared memory is too small for NCCL and for DataLoader workers."""
    size = e.get("bus.shm")
    if size and size <= 128 * 2**20:
        return (LIKELY if mentions(str(e.get("job.tries.nccl.error", "")), "shm") else POSSIBLE), [
            Line("bus", f"/dev/shm: {size / 2**20:.0f} MiB")
        ]
    return None


@rule("hang-mig")
def mig(e: Evidence) -> Finding:
    """Parts of a divided GPU (MIG) cannot talk to each other."""
    on = [one for one in e.get("nvml.devices", []) if one.get("mig")]
    return (LIKELY, [Line("nvml", f"MIG: {len(on)} GPU on")]) if on else None


def nothing_found(e: Evidence) -> tuple[str, int]:
    """Return the verdict for a job that ran, or for one that could not be tried."""
    if tries(e, "gloo") == "right":
        unfinished = "slow" in (tries(e, "copy"), tries(e, "nccl"))
        return ("hang-not-finished" if unfinished else "hang-program"), LIKELY
    return "hang-not-tried", LIKELY


def overview(e: Evidence) -> list[Line]:
    """Return how each try ended."""
    lines = [_told(e, name) for name in ("gloo", "gloo-loopback", "copy", "nccl") if tries(e, name)]
    if e.torch != "imported" and not lines:
        lines.append(Line("pytorch", e.import_error or e.torch))
    if e.hung("job"):
        lines.append(Line("job", f"no answer in {e.get('job.seconds')} s"))
    if e.get("job.error"):
        lines.append(Line("job", e.get("job.error")[:200]))
    return lines or [Line("job", e.ended("job"))]
