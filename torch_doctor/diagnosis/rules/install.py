"""Rules about the running process, the Python environment and the build of PyTorch."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions
from torch_doctor.diagnosis.rules.base import (
    LIKELY,
    POSSIBLE,
    SURE,
    Rule,
    RuleResult,
    build_line,
    bus_line,
    cuinit_line,
    rule,
    without_code,
)

RULES: dict[str, Rule] = {}

_UNRESOLVED = r"undefined symbol|cannot open shared object|symbol lookup error|version `[^']+' not found"
_CUDNN_MIX = r"cuDNN version incompatibility"


# --- the process that asks ----------------------------------------------------------------------------


@rule(RULES, "forked")
def forked(e: Evidence) -> RuleResult:
    """This process was forked from a process that had already initialized CUDA."""
    if e.get("caller.bad_fork"):
        return SURE, [Line("caller", "torch.cuda._is_in_bad_fork() = True")]
    return None


@rule(RULES, "dead-context")
def dead_context(e: Evidence) -> RuleResult:
    """A kernel crashed in this process; since then every CUDA call fails, but a fresh process works."""
    if e.get("caller.cuda_error") and e.works:
        return SURE, [
            Line("caller", f"torch.cuda.synchronize(): {e.get('caller.cuda_error')}"),
            Line(
                "usable",
                f"fresh process: {e.works} GPU, correct",
                f"全新的行程：{e.works} 張 GPU，計算正確",
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
            Line("usable", f"fresh process: {e.works}", f"全新的行程：{e.works}"),
        ]
        return SURE, [*lines, *changed]
    if asked and changed:
        # If it was set before CUDA was initialized it took effect, and both count the same.
        return (LIKELY if counted is None else POSSIBLE), changed
    return None


# --- the Python environment ---------------------------------------------------------------------------


def other_torch(e: Evidence) -> dict[str, str]:
    """Return another environment whose torch fits better than this one's, or an empty dictionary.

    Example: ``{"named_by": "VIRTUAL_ENV", "prefix": "/home/a/venv", "torch": "2.13.0", "cuda": "13.0"}``
    """
    others = [other for other in e.get("interpreter.others", []) if other.get("torch")]
    with_cuda = [other for other in others if other.get("cuda")]
    if e.torch == "missing":
        return (with_cuda or others or [{}])[0]
    if e.build == "cpu" and e.card_here:
        return (with_cuda or [{}])[0]
    return {}


@rule(RULES, "other-python")
def other_python(e: Evidence) -> RuleResult:
    """The kernel (or this terminal) runs another Python than the one with the right torch."""
    other = other_torch(e)
    if not other:
        return None
    path = f"sys.executable = {e.get('interpreter.executable')}"
    here = f"{path}: torch {e.get('pytorch.version')}"
    lines = [
        Line("interpreter", f"{path}: no torch", f"{path}：沒有 torch")
        if e.torch == "missing"
        else Line("interpreter", here),
        Line("interpreter", f"{other.get('named_by')} = {other.get('prefix')}: torch {other.get('torch')}"),
    ]
    # An installed kernelspec may be an old one; an active environment is the one that the user means.
    return (SURE if other.get("named_by") in ("VIRTUAL_ENV", "CONDA_PREFIX") else LIKELY), lines


@rule(RULES, "shadowed")
def shadowed(e: Evidence) -> RuleResult:
    """A file or folder named torch is imported instead of PyTorch."""
    if e.get("interpreter.torch_is_real") is False and e.get("interpreter.torch_file"):
        return SURE, [
            Line("interpreter", f"torch = {e.get('interpreter.torch_file')}"),
            Line(
                "interpreter",
                "no torch/_C, no torch/version.py beside it",
                "旁邊沒有 torch/_C 與 torch/version.py",
            ),
        ]
    return None


@rule(RULES, "no-torch")
def no_torch(e: Evidence) -> RuleResult:
    """PyTorch is not installed for this Python."""
    if e.torch == "missing" and not other_torch(e) and e.get("interpreter.torch_is_real") is not False:
        return SURE, [
            Line("pytorch", e.import_error),
            Line("interpreter", f"sys.executable = {e.get('interpreter.executable')}"),
        ]
    return None


# --- the build ----------------------------------------------------------------------------------------


def mixed_majors(e: Evidence) -> list[str]:
    """Return the CUDA majors of the installed ``nvidia-…-cuNN`` packages if there is more than one: ``["12", "13"]``."""
    majors = sorted(
        {
            found[1]
            for name in e.get("interpreter.packages", {})
            if (found := re.fullmatch(r"nvidia-.+-cu(\d\d)", name))
        }
    )
    return majors if len(majors) > 1 else []


def foreign_path(e: Evidence) -> str:
    """Return LD_LIBRARY_PATH if it contains a folder with CUDA libraries, else an empty text."""
    path = e.environment("LD_LIBRARY_PATH") or ""
    return path if re.search(r"cuda|cudnn|nccl|tensorrt", path, re.I) else ""


@rule(RULES, "foreign-libraries")
def foreign_libraries(e: Evidence) -> RuleResult:
    """LD_LIBRARY_PATH puts other CUDA libraries before those of torch."""
    message = mentions(e.import_error, _UNRESOLVED) or mentions(e.complaints, _CUDNN_MIX)
    loaded = e.get("pytorch.foreign", [])
    path = foreign_path(e)
    if not message or not (path or loaded):
        return None
    lines = [Line("pytorch", message)]
    if path:
        lines.append(Line("interpreter", f"LD_LIBRARY_PATH = {path}"))
    lines += [Line("pytorch", f"loaded: {library}", f"已載入：{library}") for library in loaded[:3]]
    return SURE, lines


@rule(RULES, "two-cudas")
def two_cudas(e: Evidence) -> RuleResult:
    """Libraries of two CUDA releases are installed side by side."""
    message = mentions(e.import_error, _UNRESOLVED)
    majors = mixed_majors(e)
    if message and majors:
        sure = LIKELY if foreign_path(e) else SURE
        return sure, [Line("pytorch", message), Line("interpreter", f"nvidia-*: cu{', cu'.join(majors)}")]
    return None


@rule(RULES, "windows-dll")
def windows_dll(e: Evidence) -> RuleResult:
    """Windows cannot load a DLL of torch."""
    message = mentions(
        e.import_error, r"WinError (?:126|127|1114|182)", r"Error loading .*\.dll", r"DLL load failed"
    )
    return (SURE, [Line("pytorch", message)]) if message else None


def _explained_import(e: Evidence) -> bool:
    """Return whether another rule explains why the import fails."""
    return any(explains(e) for explains in (shadowed, foreign_libraries, two_cudas, windows_dll))


@rule(RULES, "mixed-installers")
def mixed_installers(e: Evidence) -> RuleResult:
    """Both conda and pip installed a torch."""
    builds = e.get("interpreter.conda_torch", [])
    copies = e.get("interpreter.torch_copies", [])
    cpu = [build for build in builds if "cpu" in build]
    lines = [Line("interpreter", f"conda: {build}") for build in builds]
    if len(copies) > 1:
        lines.append(Line("interpreter", f"pip: torch {joined(copies)}"))
    if cpu and e.build == "cpu" and e.card_here:
        return SURE, [*lines, build_line(e)]
    if (len(copies) > 1 or (builds and copies)) and (
        e.torch == "broken" or (e.build == "cpu" and e.card_here)
    ):
        if _explained_import(e):
            return None
        return LIKELY, [*lines, Line("pytorch", e.import_error) if e.import_error else build_line(e)]
    return None


@rule(RULES, "torch-broken")
def torch_broken(e: Evidence) -> RuleResult:
    """The import of torch fails, and no other rule says why."""
    if e.torch != "broken" or _explained_import(e):
        return None
    message = e.import_error or f"import torch: {e.get('pytorch.exit', 'the process died')}"
    return LIKELY, [Line("pytorch", message[:300])]


@rule(RULES, "torch-slow")
def torch_slow(e: Evidence) -> RuleResult:
    """The import of torch timed out, but the driver answers."""
    if e.torch == "slow" and not e.hung("driver") and not e.hung("interpreter"):
        return LIKELY, [Line("pytorch", f"import torch: > {e.get('pytorch.seconds')} s")]
    return None


@rule(RULES, "jetson")
def jetson(e: Evidence) -> RuleResult:
    """A Jetson needs NVIDIA's own build of torch."""
    if e.jetson and not e.works and (e.build == "cpu" or without_code(e)):
        return SURE, [Line("bus", f"Jetson: {e.get('bus.jetson')}"), build_line(e)]
    return None


@rule(RULES, "apple")
def apple(e: Evidence) -> RuleResult:
    """A Mac has no CUDA."""
    if e.os == "darwin":
        return SURE, [
            Line("bus", f"macOS, {e.get('bus.arch')}"),
            Line("pytorch", f"torch.backends.mps.is_available() = {bool(e.get('pytorch.mps'))}"),
        ]
    return None


@rule(RULES, "amd")
def amd(e: Evidence) -> RuleResult:
    """An AMD GPU, or a torch built for AMD, but not both together."""
    cards = [card for card in e.cards("0x1002") if not e.cards()]
    if e.build == "hip" and e.cards() and not e.works:
        return SURE, [Line("pytorch", f"torch.version.hip = {e.get('pytorch.hip')!r}"), bus_line(e)]
    if e.build == "hip" and not e.works:
        line = Line("pytorch", f"torch.version.hip = {e.get('pytorch.hip')!r}, is_available() = False")
        kfd = e.nodes.get("kfd")
        return SURE, [line, *([Line("bus", f"open(/dev/kfd) = {kfd}")] if kfd else [])]
    if cards and not e.card_here and e.build in ("cuda", "cpu", "") and e.nodes.get("kfd"):
        return LIKELY, [Line("bus", f"PCI: {len(cards)} AMD GPU, 0 NVIDIA GPU; /dev/kfd"), build_line(e)]
    return None


@rule(RULES, "intel")
def intel(e: Evidence) -> RuleResult:
    """An Intel GPU is used through torch.xpu, not through CUDA."""
    if e.card_here:
        return None
    if e.get("pytorch.xpu_available") or e.build == "xpu":
        return SURE, [
            build_line(e),
            Line("pytorch", f"torch.xpu.is_available() = {bool(e.get('pytorch.xpu_available'))}"),
        ]
    return None


@rule(RULES, "cpu-build")
def cpu_build(e: Evidence) -> RuleResult:
    """This torch was built without CUDA, but there is an NVIDIA GPU."""
    better = (other_python(e), mixed_installers(e), e.jetson, e.os == "darwin")
    if e.build == "cpu" and e.card_here and not any(better):
        seen = (
            bus_line(e) if e.cards() else cuinit_line(e) if e.devices else Line("smi", e.smi_text[:80] or "-")
        )
        return SURE, [build_line(e), seen]
    return None
