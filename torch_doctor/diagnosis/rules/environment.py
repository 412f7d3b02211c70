"""Rules about the Python environment: another Python, another torch, no torch."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line
from torch_doctor.diagnosis.releases import has_wheels, wheel_pythons

from .base import LIKELY, SURE, Rule, RuleResult, rule
from .other_gpus import jetson

RULES: dict[str, Rule] = {}


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


def _torch_is_another(e: Evidence) -> bool:
    """Return whether what is imported as torch is not PyTorch."""
    source = (
        e.get("interpreter.torch_source") and e.torch == "broken"
    )  # the tree has a torch/version.py once built
    return bool(e.get("interpreter.torch_file")) and (
        e.get("interpreter.torch_is_real") is False or bool(source)
    )


@rule(RULES, "source-tree")
def source_tree(e: Evidence) -> RuleResult:
    """Python runs in the folder of PyTorch's source code (pytorch#574). Sure: its setup.py lies beside that torch."""
    if _torch_is_another(e) and e.get("interpreter.torch_source"):
        return SURE, [Line("interpreter", f"torch = {e.get('interpreter.torch_file')}")]
    return None


@rule(RULES, "shadowed")
def shadowed(e: Evidence) -> RuleResult:
    """A file or folder named torch is imported instead of PyTorch. Sure: no part of PyTorch lies beside it."""
    if _torch_is_another(e) and not source_tree(e):
        return SURE, [
            Line("interpreter", f"torch = {e.get('interpreter.torch_file')}"),
            Line(
                "interpreter",
                "no torch/_C, no torch/version.py beside it",
                "同一個資料夾裡沒有 torch/_C 與 torch/version.py",
            ),
        ]
    return None


@rule(RULES, "python-without-wheel")
def python_without_wheel(e: Evidence) -> RuleResult:
    """torch is missing, and its newest release has no wheel for this Python. Sure: both are facts."""
    if e.torch == "missing" and not other_torch(e) and not has_wheels(e):
        bits = e.get("interpreter.bits", 64)
        return SURE, [
            Line(
                "interpreter",
                f"Python {e.get('interpreter.python')}, {bits} bit",
                f"Python {e.get('interpreter.python')}，{bits} 位元",
            ),
            Line(
                "interpreter",
                f"wheels: Python {wheel_pythons('to')}",
                f"有 wheel 的版本：Python {wheel_pythons('到')}",
            ),
        ]
    return None


@rule(RULES, "no-torch")
def no_torch(e: Evidence) -> RuleResult:
    """PyTorch is not installed for this Python. Sure: this Python itself says so."""
    explained = (
        other_torch(e),
        python_without_wheel(e),
        jetson(e),
        e.get("interpreter.torch_is_real") is False,
    )
    if e.torch == "missing" and not any(explained):
        return SURE, [
            Line("pytorch", e.import_error),
            Line("interpreter", f"sys.executable = {e.get('interpreter.executable')}"),
        ]
    return None
