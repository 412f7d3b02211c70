"""Turn evidence into a diagnosis: run the rules, and sort their verdicts by how sure they are, then by the order of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch_doctor.diagnosis import QUESTIONS
from torch_doctor.diagnosis.causes import Cause
from torch_doctor.diagnosis.evidence import PROBES, Evidence, Line, no_answer

from .rules import (
    access,
    answers,
    card_start,
    driver_library,
    driver_module,
    driver_start,
    install,
    machine,
    memory,
    usable,
    wsl,
)
from .rules.base import LIKELY, SURE, Rule, hiding_programs, place_of
from .rules.shown import build_line, bus_line, cuinit_line, library_fact, node_line, nvml_line

# From the Python environment to the GPU: of causes that are equally sure, the first one is the answer.
CUDA_RULES: dict[str, Rule] = {
    **install.RULES, **machine.RULES, **card_start.RULES, **driver_module.RULES, **access.RULES, **wsl.RULES,
    **driver_library.RULES, **driver_start.RULES, **memory.RULES,
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
    found = []
    for name, rule in table.items():
        result = rule(e)
        if result:
            found.append(Verdict(Cause.of(name, e), result[0], tuple(result[1])))
    return sorted(found, key=lambda verdict: -verdict.sure)


def about_cuda(e: Evidence) -> list[Verdict]:
    """Return the verdicts about "why is CUDA not available?"."""
    table = {name: rule for name, rule in CUDA_RULES.items() if not e.works or name in WHILE_WORKING}
    found = verdicts_of(e, table)
    if found and found[0].sure >= LIKELY:
        return found
    if e.works:
        lines = [build_line(e), Line("usable", f"{e.works} GPU, correct", f"{e.works} 張 GPU，計算正確")]
        return [Verdict(Cause.of("healthy", e), SURE, tuple(lines))]
    if all(
        e.hung(probe) or e.ended(probe) == "absent" for probe in ("interpreter", "bus", "pytorch", "driver")
    ):
        lines = [no_answer(e, probe) for probe in PROBES if e.hung(probe)]
        return [Verdict(Cause.of("no-answers", e), LIKELY, tuple(lines))]
    return [Verdict(Cause.of("unknown", e), LIKELY, tuple(_overview(e))), *found]


def _overview(e: Evidence) -> list[Line]:
    """Return what each probe found, for a report without a verdict: above all what does not work."""
    lines = [build_line(e)] if e.torch == "imported" else [Line("pytorch", e.import_error or e.torch)]
    if e.build == "cuda":
        lines.append(Line("pytorch", f"is_available() = {e.get('pytorch.available')}"))
    if e.container or e.wsl:
        where = " ".join(filter(None, (e.container, f"WSL {e.wsl}" if e.wsl else "")))
        lines.append(
            Line("bus", f"container: {where}", f"容器：{where}") if e.container else Line("bus", where)
        )
    lines += [bus_line(e), *[node_line(name, how) for name, how in e.nodes.items() if how != "ok"][:3]]
    message = next(iter(e.complaints.splitlines()), "")
    said = [Line("pytorch", message[:200])] if message else []
    return [*lines, *_driver_overview(e), *_probes_without_answer(e), *said]


def _driver_overview(e: Evidence) -> list[Line]:
    lines = []
    if e.cuinit is not None:
        lines.append(cuinit_line(e))
    elif e.library is not None:
        lines.append(Line("driver", library_fact(e)))
    if e.get("nvml.init") is not None:
        lines.append(nvml_line(e))
    elif e.get("nvml.error"):
        lines.append(Line("nvml", str(e.get("nvml.error"))[:200]))
    if e.get("smi.code"):
        lines.append(Line("smi", next(iter(e.smi_text.splitlines()), f"status {e.get('smi.code')}")[:200]))
    return lines


def _probes_without_answer(e: Evidence) -> list[Line]:
    died = [probe for probe in PROBES if e.ended(probe) == "failed" and e.get(f"{probe}.exit")]
    silent = [no_answer(e, probe) for probe in PROBES if e.hung(probe)]
    return [*silent, *[Line(probe, str(e.get(f"{probe}.exit"))[:200]) for probe in died]]


# What is worth knowing but is no fault: when, and the evidence for it.
_REMARKS: dict[str, tuple[Callable[[Evidence], Any], Callable[[Evidence], Line]]] = {
    "some-hidden": (
        lambda e: e.works and 0 < e.visible < e.devices,
        lambda e: Line("interpreter", f"CUDA_VISIBLE_DEVICES = {e.environment('CUDA_VISIBLE_DEVICES')!r}"),
    ),
    "program-hides": (lambda e: e.works and hiding_programs(e), lambda e: _hiding(hiding_programs(e)[0])),
    "restart-if": (
        lambda e: e.works and e.get("caller.notebook") and not e.get("caller.initialized"),
        lambda e: Line("caller", "torch.cuda.is_initialized() = False"),
    ),
    "weak-check": (
        lambda e: e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1",
        lambda e: Line("interpreter", "PYTORCH_NVML_BASED_CUDA_CHECK = 1"),
    ),
    "slow-smi": (lambda e: e.works and e.hung("smi"), lambda e: Line("smi", f"> {e.get('smi.seconds')} s")),
    "mig-one": (
        lambda e: e.works and any(gpu.get("mig") for gpu in e.get("nvml.devices", [])),
        lambda e: Line("nvml", "MIG on"),
    ),
    "container-toolkit": (
        lambda e: e.works and e.get("bus.docker") and not e.get("bus.container_toolkit") and not e.container,
        lambda e: Line("bus", "docker; no nvidia-ctk"),
    ),
}


def _hiding(line: Mapping[str, Any]) -> Line:
    return Line("pytorch", f"{place_of(line)}: {line['value']!r}")


def _remarks(e: Evidence) -> list[Verdict]:
    return [
        Verdict(Cause.of(name, e), SURE, (line(e),)) for name, (when, line) in _REMARKS.items() if when(e)
    ]


def diagnose(found: Mapping[str, Mapping[str, Any]], question: str = "cuda") -> Diagnosis:
    """Return the diagnosis for the evidence; a pure function.

    Args:
        found: What the probes found, see :class:`torch_doctor.diagnosis.evidence.Evidence`.
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
    return Diagnosis(question, tuple(_about(question, e, verdicts)), tuple(_remarks(e)), e)


def _about(question: str, e: Evidence, cuda: list[Verdict]) -> list[Verdict]:
    """Return the verdicts about slowness or hanging: first what is wrong, then that nothing is, then what is possible."""
    trouble = [one for one in cuda if one.sure >= LIKELY and one.cause.kind in ("fault", "unknown")]
    leading = [one for one in trouble if answers.explains(question, e, one.cause.name)]
    found = verdicts_of(e, answers.RULES[question])
    likely = [one for one in found if one.sure >= LIKELY]
    without_gpu = cuda[0].sure if cuda[0].cause.kind == "fine" and not e.works else 0
    last = answers.otherwise(question, e, without_gpu, explained=bool(leading or likely))
    behind = [Verdict(Cause.of(last[0], e), last[1], tuple(last[2]))] if last else []
    beside = [one for one in trouble if one not in leading and one.cause.kind == "fault"]
    return [*leading, *likely, *behind, *beside, *found[len(likely) :]]
