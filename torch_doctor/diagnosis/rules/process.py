"""Rules about the running process: what it has done to CUDA before."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule, seen

RULES: dict[str, Rule] = {
    # This process was forked from a process that had already initialized CUDA.
    "forked": seen("caller.bad_fork", SURE, Line("caller", "torch.cuda._is_in_bad_fork() = True"))
}


@rule(RULES, "dead-context")
def dead_context(e: Evidence) -> RuleResult:
    """A kernel crashed in this process; since then every CUDA call fails, but a fresh process works."""
    if e.get("caller.cuda_error") and e.works:
        return SURE, [
            Line("caller", f"torch.cuda.synchronize(): {e.get('caller.cuda_error')}"),
            Line(
                "usable", f"fresh process: {e.works} GPU, correct", f"全新的行程：{e.works} 張 GPU，計算正確"
            ),
        ]
    return None


@rule(RULES, "stale")
def stale(e: Evidence) -> RuleResult:
    """This process counted the GPUs before CUDA_VISIBLE_DEVICES changed, and the driver keeps the old answer."""
    asked, before, now = (e.get(f"caller.{key}") for key in ("cuda_asked", "visible_at_start", "visible_now"))
    counted = e.get("caller.count")
    changed = [Line("caller", f"CUDA_VISIBLE_DEVICES: {before!r} -> {now!r}")] if before != now else []
    if counted is not None and e.works and counted != e.works:
        lines = [
            Line("caller", f"torch.cuda.device_count() = {counted}"),
            Line("usable", f"fresh process: {e.works} GPU", f"全新的行程：{e.works} 張 GPU"),
        ]
        return SURE, [*lines, *changed]
    if asked and changed:
        # If it was set before CUDA was initialized it took effect, and both count the same.
        return (LIKELY if counted is None else POSSIBLE), changed
    return None
