"""Rules for the scripts that cells write: files of their own, which run without the course under a bare torchrun."""

from __future__ import annotations

import ast
import sys

from tools.written import LONGEST, WIDEST, Script

from . import strings
from .findings import Findings

ALLOWED = {"torch", *sys.stdlib_module_names}
SCORED = {"faster.py": "shared.program"}  # what the scoreboard trains is the course's program


def check_script(script: Script, findings: Findings) -> None:
    """Report what is wrong with a script as a Python file.

    Args:
        script: What a cell writes.
        findings: Where to report; its place names the cell.
    """
    place, lines = findings.place, script.text.splitlines()
    if len(lines) + 1 > LONGEST:
        findings.add("length", f"{len(lines) + 1} lines, allowed are {LONGEST}", "shorten the script")
    for number, line in enumerate(lines, 2):
        if len(line) > WIDEST:
            findings.add(
                "length", f"line {number} has {len(line)} characters, allowed are {WIDEST}", "break it"
            )
    try:
        tree = ast.parse(script.text)
    except SyntaxError as error:
        findings.add(
            "script", f"line {(error.lineno or 0) + 1}: {error.msg}", "a script must be whole Python"
        )
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            if name.partition(".")[0] not in ALLOWED and name != SCORED.get(script.name):
                findings.add("script", f"imports {name}", "import torch and the standard library only")
    strings.check_python(script.text, findings, place)
    findings.at(place)
