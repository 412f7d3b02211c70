"""Rules about the installed build of PyTorch; with those about the process, the environment and other GPUs in :data:`RULES`."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions

from . import environment, other_gpus, process
from .base import LIKELY, SURE, Rule, RuleResult, rule
from .environment import other_python, other_torch, shadowed, source_tree
from .shown import build_line, bus_line, cuinit_line

RULES: dict[str, Rule] = {**process.RULES, **environment.RULES}

_UNRESOLVED = r"undefined symbol|cannot open shared object|symbol lookup error|version `[^']+' not found"
_MISSING = "cannot open shared object"
# Names of the system's libraries: no folder and no package of CUDA brings or hides them.
_OF_THE_SYSTEM = r"GLIBC|CXXABI|libstdc\+\+|libg?omp|libgcc_s|lib(?:c|m|dl|rt|pthread|GL|numa)\.so"
_CUDNN_MIX = r"cuDNN version incompatibility"


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


def _unresolved(e: Evidence) -> str:
    """Return the line that says that a library of CUDA or torch lacks something, or ``""``."""
    message = mentions(e.import_error, _UNRESOLVED)
    return "" if re.search(_OF_THE_SYSTEM, message) else message


@rule(RULES, "foreign-libraries")
def foreign_libraries(e: Evidence) -> RuleResult:
    """Other CUDA libraries are loaded before those of torch. Sure if LD_LIBRARY_PATH names their folder."""
    message = _unresolved(e) or mentions(e.complaints, _CUDNN_MIX)
    loaded = e.get("pytorch.foreign", [])
    path = foreign_path(e)
    # A folder in front of others hides files; it does not make one missing.
    if not message or not (path or loaded) or (_MISSING in message and not loaded):
        return None
    lines = [Line("pytorch", message)]
    if path:
        lines.append(Line("interpreter", f"LD_LIBRARY_PATH = {path}"))
    lines += [Line("pytorch", f"loaded: {library}", f"已載入：{library}") for library in loaded[:3]]
    return (SURE if path else LIKELY), lines


@rule(RULES, "two-cudas")
def two_cudas(e: Evidence) -> RuleResult:
    """Libraries of two CUDA releases are installed side by side."""
    message = _unresolved(e)
    majors = mixed_majors(e)
    if message and majors:
        sure = LIKELY if foreign_path(e) or _MISSING in message else SURE
        return sure, [Line("pytorch", message), Line("interpreter", f"nvidia-*: cu{', cu'.join(majors)}")]
    return None


@rule(RULES, "windows-dll")
def windows_dll(e: Evidence) -> RuleResult:
    """Windows cannot load a DLL of torch."""
    message = mentions(
        e.import_error,
        r"WinError (?:126|127|1114|182)",
        r"Error loading .*\.dll",
        r"DLL load failed",
        r"Could not find module .*\.dll",
    )
    return (SURE, [Line("pytorch", message)]) if message else None


def _explained_import(e: Evidence) -> bool:
    """Return whether another rule explains why the import fails."""
    return any(explains(e) for explains in (shadowed, source_tree, foreign_libraries, two_cudas, windows_dll))


@rule(RULES, "conda-cpu")
def conda_cpu(e: Evidence) -> RuleResult:
    """conda installed a build without CUDA. Sure: conda's own list names the build, and torch says the same."""
    builds = e.get("interpreter.conda_torch", [])
    if any("cpu" in build for build in builds) and e.build == "cpu" and e.card_here and not other_torch(e):
        return SURE, [*[Line("interpreter", f"conda: {build}") for build in builds], build_line(e)]
    return None


@rule(RULES, "mixed-installers")
def mixed_installers(e: Evidence) -> RuleResult:
    """Both conda and pip installed a torch. Likely: they are both there; that this breaks it is an inference."""
    builds, copies = e.get("interpreter.conda_torch", []), e.get("interpreter.torch_copies", [])
    versions = {build.split("-")[1] for build in builds if build.startswith("pytorch-")}
    # A package of conda brings the metadata of pip as well, with its own version.
    both = len(copies) > 1 or any(copy.partition("+")[0] not in versions for copy in copies)
    useless = e.torch == "broken" or (e.build == "cpu" and e.card_here)
    if not (builds and both and useless) or _explained_import(e) or conda_cpu(e):
        return None
    lines = [Line("interpreter", f"conda: {build}") for build in builds]
    lines.append(Line("interpreter", f"pip: torch {joined(copies)}"))
    return LIKELY, [*lines, Line("pytorch", e.import_error) if e.import_error else build_line(e)]


@rule(RULES, "torch-broken")
def torch_broken(e: Evidence) -> RuleResult:
    """The import of torch fails, and no other rule says why."""
    if e.torch != "broken" or _explained_import(e) or mixed_installers(e):
        return None
    message = e.import_error or f"import torch: {e.get('pytorch.exit', 'the process died')}"
    return LIKELY, [Line("pytorch", message[:300])]


@rule(RULES, "torch-slow")
def torch_slow(e: Evidence) -> RuleResult:
    """The import of torch timed out, but the driver answers."""
    if e.torch == "slow" and not e.hung("driver") and not e.hung("interpreter"):
        return LIKELY, [Line("pytorch", f"import torch: > {e.get('pytorch.seconds')} s")]
    return None


@rule(RULES, "cpu-build")
def cpu_build(e: Evidence) -> RuleResult:
    """This torch was built without CUDA, but there is an NVIDIA GPU."""
    better = (other_python(e), conda_cpu(e), mixed_installers(e), e.jetson, e.os == "darwin")
    if e.build == "cpu" and e.card_here and not any(better):
        seen = (
            bus_line(e) if e.cards() else cuinit_line(e) if e.devices else Line("smi", e.smi_text[:80] or "-")
        )
        return SURE, [build_line(e), seen]
    return None


RULES.update(other_gpus.RULES)
