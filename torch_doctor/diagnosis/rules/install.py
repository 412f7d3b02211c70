"""Rules about the running process, its Python environment, and the installed build of PyTorch."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions
from torch_doctor.diagnosis.releases import PYTHONS, has_wheels

from . import other_gpus
from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule, said, when
from .other_gpus import jetson
from .shown import build_line, bus_line, cuinit_line

RULES: dict[str, Rule] = {}


# --- the process: what it has done to CUDA before -----------------------------------------------------

# This process was forked from a process that had already initialized CUDA.
RULES["forked"] = when(
    lambda e: e.get("caller.bad_fork"), SURE, "caller: torch.cuda._is_in_bad_fork() = True"
)
# A kernel crashed in this process; since then every CUDA call fails, but a fresh process works.
RULES["dead-context"] = when(
    lambda e: e.get("caller.cuda_error") and e.works, SURE,
    "caller: torch.cuda.synchronize(): {caller.cuda_error}", "usable.fresh-works",
)  # fmt: skip


@rule(RULES, "stale")
def stale(e: Evidence) -> RuleResult:
    """This process counted the GPUs before CUDA_VISIBLE_DEVICES changed, and the driver keeps the old answer."""
    asked, before, now = (e.get(f"caller.{key}") for key in ("cuda_asked", "visible_at_start", "visible_now"))
    counted = e.get("caller.count")
    values = "{caller.visible_at_start!r} -> {caller.visible_now!r}"
    changed = before != now and f"caller: CUDA_VISIBLE_DEVICES: {values}"
    if counted is not None and e.works and counted != e.works:
        return SURE, ["caller: torch.cuda.device_count() = {caller.count}", "usable.fresh-counts", changed]
    if asked and changed:
        # If it was set before CUDA was initialized it took effect, and both count the same.
        return (LIKELY if counted is None else POSSIBLE), changed
    return None


# --- the environment: another Python, another torch, no torch -----------------------------------------


def other_torch(e: Evidence) -> dict[str, str]:
    """Return another environment whose torch fits better than this one's, or an empty dictionary.

    Example: ``{"named_by": "VIRTUAL_ENV", "prefix": "/home/a/venv", "torch": "2.13.0", "cuda": "13.0"}``
    """
    better = e.torch == "missing" or (e.build == "cpu" and e.card_here and e.other_environment.get("cuda"))
    return e.other_environment if better else {}


_EXECUTABLE = "interpreter: sys.executable = {interpreter.executable}"


@rule(RULES, "other-python")
def other_python(e: Evidence) -> RuleResult:
    """The kernel (or this terminal) runs another Python than the one with the right torch."""
    other = other_torch(e)
    if not other:
        return None
    here = "interpreter.without-torch" if e.torch == "missing" else _EXECUTABLE + ": torch {pytorch.version}"
    there = e.line("interpreter: {named_by} = {prefix}: torch {torch}", **other)
    # An installed kernelspec may be an old one; an active environment is the one that the user means.
    return (SURE if other.get("named_by") in ("VIRTUAL_ENV", "CONDA_PREFIX") else LIKELY), [here, there]


def _torch_is_another(e: Evidence) -> bool:
    """Return whether what is imported as torch is not PyTorch."""
    # the tree has a torch/version.py once built
    source = e.get("interpreter.torch_source") and e.torch == "broken"
    fake = e.get("interpreter.torch_is_real") is False
    return bool(e.get("interpreter.torch_file") and (fake or source))


# Python runs in the folder of PyTorch's source code (pytorch#574). Sure: its setup.py lies beside that torch.
source_tree = RULES["source-tree"] = when(
    lambda e: _torch_is_another(e) and e.get("interpreter.torch_source"), SURE,
    "interpreter: torch = {interpreter.torch_file}",
)  # fmt: skip
# A file or folder named torch is imported instead of PyTorch. Sure: no part of PyTorch lies beside it.
shadowed = RULES["shadowed"] = when(
    lambda e: _torch_is_another(e) and not source_tree(e), SURE,
    "interpreter: torch = {interpreter.torch_file}", "interpreter.no-part-of-torch",
)  # fmt: skip


# torch is missing, and its newest release has no wheel for this Python. Sure: both are facts.
python_without_wheel = RULES["python-without-wheel"] = when(
    lambda e: e.torch == "missing" and not (other_torch(e) or has_wheels(e)), SURE,
    lambda e: e.line("interpreter.python-bits", bits=e.get("interpreter.bits", 64)),
    lambda e: e.line("interpreter.wheels", first=PYTHONS[0], last=PYTHONS[1]),
)  # fmt: skip
# PyTorch is not installed for this Python. Sure: this Python itself says so.
RULES["no-torch"] = when(
    lambda e: e.torch == "missing" and e.get("interpreter.torch_is_real") is not False
    and not (other_torch(e) or python_without_wheel(e) or jetson(e)),
    SURE, lambda e: Line("pytorch", e.import_error), _EXECUTABLE,
)  # fmt: skip

# --- the installed build ------------------------------------------------------------------------------

_UNRESOLVED = r"undefined symbol|cannot open shared object|symbol lookup error|version `[^']+' not found"
_MISSING = "cannot open shared object"
# Names of the system's libraries: no folder and no package of CUDA brings or hides them.
_OF_THE_SYSTEM = r"GLIBC|CXXABI|libstdc\+\+|libg?omp|libgcc_s|lib(?:c|m|dl|rt|pthread|GL|numa)\.so"
_CUDNN_MIX = r"cuDNN version incompatibility"


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
    loaded, path = e.get("pytorch.foreign", []), foreign_path(e)
    # A folder in front of others hides files; it does not make one missing.
    if not message or not (path or loaded) or (_MISSING in message and not loaded):
        return None
    named = path and Line("interpreter", f"LD_LIBRARY_PATH = {path}")
    files = [e.line("pytorch.loaded", library=library) for library in loaded[:3]]
    return (SURE if path else LIKELY), [Line("pytorch", message), named, files]


@rule(RULES, "two-cudas")
def two_cudas(e: Evidence) -> RuleResult:
    """Libraries of two CUDA releases are installed side by side."""
    message, packages = _unresolved(e), " ".join(e.get("interpreter.packages", {}))
    majors = sorted(set(re.findall(r"(?<!\S)nvidia-\S+-(cu\d\d)(?!\S)", packages)))
    if not message or len(majors) < 2:
        return None
    sure = LIKELY if foreign_path(e) or _MISSING in message else SURE
    return sure, [Line("pytorch", message), Line("interpreter", f"nvidia-*: {joined(majors)}")]


# Windows cannot load a DLL of torch.
windows_dll = RULES["windows-dll"] = said(
    SURE, "pytorch", lambda e: e.import_error, r"WinError (?:126|127|1114|182)", r"Error loading .*\.dll", r"DLL load failed",
    r"Could not find module .*\.dll",
)  # fmt: skip


def _explained_import(e: Evidence) -> bool:
    """Return whether another rule explains why the import fails."""
    return any(explains(e) for explains in (shadowed, source_tree, foreign_libraries, two_cudas, windows_dll))


# conda installed a build without CUDA. Sure: conda's own list names the build, and torch says the same.
conda_cpu = RULES["conda-cpu"] = when(
    lambda e: any("cpu" in build for build in e.get("interpreter.conda_torch", []))
    and e.build == "cpu" and e.card_here and not other_torch(e),
    SURE, lambda e: [Line("interpreter", f"conda: {build}") for build in e.get("interpreter.conda_torch")], build_line,
)  # fmt: skip


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
    installed = [f"conda: {build}" for build in builds] + [f"pip: torch {joined(copies)}"]
    torch = Line("pytorch", e.import_error) if e.import_error else build_line
    return LIKELY, [*[Line("interpreter", one) for one in installed], torch]


# The import of torch fails, and no other rule says why.
RULES["torch-broken"] = when(
    lambda e: e.torch == "broken" and not (_explained_import(e) or mixed_installers(e)), LIKELY,
    lambda e: Line("pytorch", (e.import_error or f"import torch: {e.get('pytorch.exit', 'the process died')}")[:300]),
)  # fmt: skip
# The import of torch timed out, but the driver answers.
RULES["torch-slow"] = when(
    lambda e: e.torch == "slow" and not e.hung("driver") and not e.hung("interpreter"), LIKELY,
    "pytorch: import torch: > {pytorch.seconds} s",
)  # fmt: skip
# This torch was built without CUDA, but there is an NVIDIA GPU.
RULES["cpu-build"] = when(
    lambda e: e.build == "cpu" and e.card_here
    and not (other_python(e) or conda_cpu(e) or mixed_installers(e) or e.jetson or e.os == "darwin"),
    SURE, build_line,
    lambda e: bus_line if e.cards() else cuinit_line if e.devices else Line("smi", e.smi_text[:80] or "-"),
)  # fmt: skip

RULES.update(other_gpus.RULES)
