"""Turn evidence into a diagnosis: run the rules, and sort their verdicts by how sure they are, then by the order of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch_doctor.diagnosis.causes import Cause
from torch_doctor.diagnosis.evidence import PROBES, Evidence, Line, no_answer

from .rules import access, answers, driver_library, driver_module, driver_start, install, machine, usable
from .rules.base import LIKELY, SURE, Rule, hiding_programs, lines, place_of
from .rules.shown import build_line, bus_line, cuinit_line, library_line, node_line, nvml_line

# From the Python environment to the GPU: of causes that are equally sure, the first one is the answer.
CUDA_RULES: dict[str, Rule] = {
    **install.RULES, **machine.RULES, **driver_module.RULES, **access.RULES, **driver_library.RULES, **driver_start.RULES,
    **usable.RULES,
}  # fmt: skip

# Only these are possible while every visible GPU computes correctly.
WHILE_WORKING = ("forked", "dead-context", "stale", "gpu-lost", "card-not-started")


@dataclass(frozen=True)
class Verdict:
    """One cause, how sure it is (3 sure, 2 likely, 1 possible), and the evidence for it."""

    cause: Cause
    sure: int
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, name: str, e: Evidence, sure: int, shown: Any) -> Verdict:
        """Return the verdict that the cause `name` is as sure as that, with what a rule shows as evidence."""
        return cls(Cause.of(name, e), sure, tuple(lines(e, shown)))


@dataclass(frozen=True)
class Diagnosis:
    """The answer to one question: verdicts, of which the first one is the answer, and remarks."""

    question: str
    verdicts: tuple[Verdict, ...]
    remarks: tuple[Verdict, ...]
    evidence: Evidence

    @property
    def first(self) -> Verdict:
        """The verdict that is the answer."""
        return self.verdicts[0]

    @property
    def kind(self) -> str:
        """``"fine"``, ``"fault"`` or ``"unknown"``; a fault also if it stands behind an answer that is fine."""
        kinds = {one.cause.kind for one in self.verdicts if one.sure >= LIKELY}
        return "fault" if self.first.cause.kind == "fine" and "fault" in kinds else self.first.cause.kind


def verdicts_of(e: Evidence, table: Mapping[str, Rule]) -> list[Verdict]:
    """Return a verdict for every rule of `table` that applies, the surest first."""
    results = ((name, rule(e)) for name, rule in table.items())
    found = [Verdict.of(name, e, *result) for name, result in results if result]
    return sorted(found, key=lambda one: -one.sure)


def about_cuda(e: Evidence) -> list[Verdict]:
    """Return the verdicts about "why is CUDA not available?"."""
    table = {name: rule for name, rule in CUDA_RULES.items() if not e.works or name in WHILE_WORKING}
    found = verdicts_of(e, table)
    if found and found[0].sure >= LIKELY:
        return found
    if e.works:
        return [Verdict.of("healthy", e, SURE, [build_line, "usable.correct"])]
    needed = ("interpreter", "bus", "pytorch", "driver")
    if all(e.hung(probe) or e.ended(probe) == "absent" for probe in needed):
        return [Verdict.of("no-answers", e, LIKELY, _silent)]
    return [Verdict.of("unknown", e, LIKELY, [_overview, _probes_without_answer]), *found]


def _overview(e: Evidence) -> list[Any]:
    """Return what each probe found, for a report without a verdict: above all what does not work."""
    shown: list[Any] = [build_line if e.torch == "imported" else Line("pytorch", e.import_error or e.torch)]
    if e.build == "cuda":
        shown.append(Line("pytorch", f"is_available() = {e.get('pytorch.available')}"))
    if e.container or e.wsl:
        inside = "bus.container-in-wsl" if e.wsl else "bus.container"
        shown.append(inside if e.container else "bus: WSL {wsl}")
    shown += [bus_line, [node_line(e, name, how) for name, how in e.nodes.items() if how != "ok"][:3]]
    if e.cuinit is not None:
        shown.append(cuinit_line)
    elif e.library is not None:
        shown.append(library_line)
    if e.get("nvml.init") is not None:
        shown.append(nvml_line)
    elif e.get("nvml.error"):
        shown.append(Line("nvml", str(e.get("nvml.error"))[:200]))
    if e.get("smi.code"):
        shown.append(Line("smi", next(iter(e.smi_text.splitlines()), f"status {e.get('smi.code')}")[:200]))
    return shown


def _silent(e: Evidence) -> list[Line]:
    return [no_answer(e, probe) for probe in PROBES if e.hung(probe)]


def _probes_without_answer(e: Evidence) -> list[Line]:
    died = [probe for probe in PROBES if e.ended(probe) == "failed" and e.get(f"{probe}.exit")]
    said = [Line("pytorch", line[:200]) for line in e.complaints.splitlines()[:1] if line]
    return [*_silent(e), *[Line(probe, str(e.get(f"{probe}.exit"))[:200]) for probe in died], *said]


# What is worth knowing but is no fault: when, and the evidence for it.
_REMARKS: dict[str, tuple[Callable[[Evidence], Any], Any]] = {
    "some-hidden": (
        lambda e: e.works and 0 < e.visible < e.devices,
        "interpreter: CUDA_VISIBLE_DEVICES = {interpreter.environment.CUDA_VISIBLE_DEVICES!r}",
    ),
    "program-hides": (
        lambda e: e.works and hiding_programs(e),
        lambda e: [Line("pytorch", f"{place_of(one)}: {one['value']!r}") for one in hiding_programs(e)[:1]],
    ),
    "restart-if": (
        lambda e: e.works and e.get("caller.notebook") and not e.get("caller.initialized"),
        "caller: torch.cuda.is_initialized() = False",
    ),
    "weak-check": (
        lambda e: e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1",
        "interpreter: PYTORCH_NVML_BASED_CUDA_CHECK = 1",
    ),
    "slow-smi": (lambda e: e.works and e.hung("smi"), "smi: > {smi.seconds} s"),
    "mig-one": (
        lambda e: e.works and any(gpu.get("mig") for gpu in e.get("nvml.devices", [])),
        "nvml: MIG on",
    ),
    "container-toolkit": (
        lambda e: e.works and e.get("bus.docker") and not e.get("bus.container_toolkit") and not e.container,
        "bus: docker; no nvidia-ctk",
    ),
}


def diagnose(found: Mapping[str, Mapping[str, Any]], question: str = "cuda") -> Diagnosis:
    """Return the diagnosis for the evidence; a pure function.

    Args:
        found: What the probes found, see :class:`torch_doctor.diagnosis.evidence.Evidence`.
        question: ``"cuda"`` (why is it not available), ``"slow"`` or ``"hang"``.
    """
    e = Evidence(found)
    verdicts = about_cuda(e)
    if question != "cuda":
        verdicts = _about(question, e, verdicts)
    remarks = [Verdict.of(name, e, SURE, shown) for name, (true, shown) in _REMARKS.items() if true(e)]
    return Diagnosis(question, tuple(verdicts), tuple(remarks), e)


def _about(question: str, e: Evidence, cuda: list[Verdict]) -> list[Verdict]:
    """Return the verdicts about slowness or hanging: first what is wrong, then that nothing is, then what is possible."""
    trouble = [one for one in cuda if one.sure >= LIKELY and one.cause.kind in ("fault", "unknown")]
    leading = [one for one in trouble if answers.explains(question, e, one.cause.name)]
    found = verdicts_of(e, answers.RULES[question])
    likely = [one for one in found if one.sure >= LIKELY]
    without_gpu = cuda[0].sure if cuda[0].cause.kind == "fine" and not e.works else 0
    last = answers.otherwise(question, e, without_gpu, explained=bool(leading or likely))
    behind = [Verdict.of(last[0], e, *last[1:])] if last else []
    beside = [one for one in trouble if one not in leading and one.cause.kind == "fault"]
    return [*leading, *likely, *behind, *beside, *found[len(likely) :]]
