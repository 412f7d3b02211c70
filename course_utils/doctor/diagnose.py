"""From evidence to verdicts: a pure function. Ranked by how sure, then by the order of the questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_utils.doctor import hang, rules, slow
from course_utils.doctor.causes import Cause
from course_utils.doctor.evidence import PROBES, Evidence, Line
from course_utils.doctor.rules import LIKELY, SURE, Rule

QUESTIONS = ("cuda", "slow", "hang")

# Only these can be true while every visible GPU computes correctly.
WHILE_WORKING = ("forked", "dead-context", "stale", "gpu-lost")


@dataclass(frozen=True)
class Verdict:
    """One cause, how sure it is (3 sure, 2 likely, 1 possible), and which probe said what."""

    cause: Cause
    sure: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The answer to one question: verdicts, the first of which is the answer, and remarks beside them."""

    question: str
    verdicts: tuple[Verdict, ...]
    remarks: tuple[Verdict, ...]
    evidence: Evidence

    @property
    def first(self) -> Verdict:
        """The verdict that the evidence speaks for most."""
        return self.verdicts[0]

    @property
    def kind(self) -> str:
        """``"fine"``, ``"fault"`` or ``"unknown"``."""
        return self.first.cause.kind


def matches(e: Evidence, table: Mapping[str, Rule]) -> list[Verdict]:
    """Return a verdict for every rule of `table` that the evidence speaks for, the surest first."""
    found = []
    for name, one in table.items():
        result = one(e)
        if result:
            found.append(Verdict(Cause.of(name, e), result[0], tuple(result[1])))
    return sorted(found, key=lambda verdict: -verdict.sure)


def about_cuda(e: Evidence) -> list[Verdict]:
    """Return the verdicts on "why is CUDA not available?"."""
    table = {name: one for name, one in rules.RULES.items() if not e.works or name in WHILE_WORKING}
    found = matches(e, table)
    if found and found[0].sure >= LIKELY:
        return found
    if e.works:
        lines = [rules.build_line(e), Line("usable", f"{e.works} GPU, correct")]
        return [Verdict(Cause.of("healthy", e), SURE, tuple(lines))]
    if all(
        e.hung(probe) or e.ended(probe) == "absent" for probe in ("interpreter", "bus", "pytorch", "driver")
    ):
        lines = [
            Line(probe, f"no answer in {e.get(f'{probe}.seconds')} s") for probe in PROBES if e.hung(probe)
        ]
        return [Verdict(Cause.of("no-answers", e), LIKELY, tuple(lines))]
    return [Verdict(Cause.of("unknown", e), LIKELY, tuple(_overview(e))), *found]


def _overview(e: Evidence) -> list[Line]:
    """Return what each of the witnesses said: the cross-check that the verdict had to do without."""
    lines = [rules.build_line(e)] if e.torch == "imported" else [Line("pytorch", e.import_error or e.torch)]
    if e.build == "cuda":
        lines.append(Line("pytorch", f"is_available() = {e.get('pytorch.available')}"))
    lines += [rules.bus_line(e), rules.cu_line(e)]
    if e.get("nvml.init") is not None:
        lines.append(rules.nvml_line(e))
    said = next(iter(e.complaints.splitlines()), "")
    return [*lines, *([Line("pytorch", said[:200])] if said else [])]


def _remarks(e: Evidence) -> list[Verdict]:
    """Return what is worth knowing on a machine that works, though it is no fault."""
    found: list[tuple[str, Line]] = []
    if e.works and 0 < e.visible < e.devices:
        value = e.environment("CUDA_VISIBLE_DEVICES")
        found.append(("some-hidden", Line("interpreter", f"CUDA_VISIBLE_DEVICES = {value!r}")))
    if e.works and e.get("caller.notebook") and not e.get("caller.initialized"):
        found.append(("restart-if", Line("caller", "torch.cuda.is_initialized() = False")))
    if e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1":
        found.append(("weak-check", Line("interpreter", "PYTORCH_NVML_BASED_CUDA_CHECK = 1")))
    if e.works and e.hung("smi"):
        found.append(("slow-smi", Line("smi", f"> {e.get('smi.seconds')} s")))
    if e.works and any(one.get("mig") for one in e.get("nvml.devices", [])):
        found.append(("mig-one", Line("nvml", "MIG on")))
    if e.works and e.get("bus.docker") and not e.get("bus.container_toolkit") and not e.container:
        found.append(("container-toolkit", Line("bus", "docker; no nvidia-ctk")))
    return [Verdict(Cause.of(name, e), SURE, (line,)) for name, line in found]


def diagnose(found: Mapping[str, Mapping[str, Any]], question: str = "cuda") -> Diagnosis:
    """Return the diagnosis that the evidence leads to; pure, asks and changes nothing.

    Args:
        found: What the probes found, see :class:`course_utils.doctor.evidence.Evidence`.
        question: ``"cuda"`` (why is it not available), ``"slow"`` or ``"hang"``.

    Raises:
        ValueError: `question` is none of these.
    """
    if question not in QUESTIONS:
        raise ValueError(f"question {question!r} is not known; ask one of {', '.join(QUESTIONS)}.")
    e = Evidence(found)
    verdicts = about_cuda(e)
    if question == "cuda":
        return Diagnosis(question, tuple(verdicts), tuple(_remarks(e)), e)
    about = matches(e, (slow if question == "slow" else hang).RULES)
    nothing = slow.NOTHING_FOUND if question == "slow" else hang.nothing_found(e)
    if not about or about[0].sure < LIKELY:
        about = [Verdict(Cause.of(nothing[0], e), nothing[1], tuple(slow.overview(e) if question == "slow" else hang.overview(e))), *about]  # fmt: skip
    # A GPU that is there and cannot be used explains slowness better than anything else.
    faults = [one for one in verdicts if one.cause.kind == "fault" and one.sure >= LIKELY]
    ordered = [*faults, *about] if question == "slow" else [*about, *faults]
    return Diagnosis(question, tuple(ordered), tuple(_remarks(e)), e)
