"""Rules for what a code cell calls: a result that nobody sees, a claim that cannot be false."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.written import LEARNERS

from .findings import Findings

ROOT = Path(__file__).parents[2]
COURSE = ("bilingual.py", "course_utils/**/*.py", "torch_doctor/**/*.py", "notebooks/**/*.py")
DISPLAYED = {"_repr_mimebundle_", "_repr_html_"}


@cache
def showing() -> frozenset[str]:
    """Return the names of the course's functions whose result is something to show, as they are annotated.

    Such a result is an object of a class that has a form for a notebook (`_repr_mimebundle_`); the class itself
    counts, too.
    """
    nodes = [
        node
        for pattern in COURSE
        for path in sorted(ROOT.glob(pattern))
        if not LEARNERS & set(path.relative_to(ROOT).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    classes = {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name in DISPLAYED for part in node.body)
    }
    functions = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and classes & {_last_name(part) for part in ast.walk(node.returns)}
    }
    imports = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    other_names = {alias.asname for alias in imports if alias.asname and alias.name in classes}
    return frozenset(classes | functions | other_names)


def _last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name (`figures.Picture`: "Picture"), "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def check_nothing_is_lost(tree: ast.Module, findings: Findings) -> None:
    """Report a call whose result is to be shown where Jupyter does not show it: it shows the last expression only."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or node is tree.body[-1] or not isinstance(node.value, ast.Call):
            continue
        name = _last_name(node.value.func)
        if name in showing():
            findings.add(
                "lost output",
                f"line {node.lineno}: {name}(…) shows nothing",
                "make it the last expression of its cell, or give it to display()",
            )


def check_claims(tree: ast.Module, findings: Findings) -> None:
    """Report a claim about a value in which nothing is measured or computed."""
    for call in _calls(tree):
        if _last_name(call.func) != "claim":
            continue
        values = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "value")]
        for value in values:
            inner = value.body if isinstance(value, ast.Lambda) else value
            names = {node.id for node in ast.walk(inner) if isinstance(node, ast.Name)}
            if not names - set(dir(builtins)):
                findings.add(
                    "constant claim",
                    f"line {call.lineno}: {ast.unparse(value)} is the same on every machine",
                    "claim what was measured or computed",
                )
