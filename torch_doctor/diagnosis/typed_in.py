"""Where a command is typed: in a terminal, in a cell of the notebook, or in the reader's program."""

from __future__ import annotations

import ast
import re

from bilingual import Bilingual
from torch_doctor.data import screen

TERMINAL, CELL, PROGRAM = screen("report", "typed-in").values()

# A program at the beginning, perhaps behind variables; not an option, nor a line for a file (YAML, Nix, #SBATCH).
_SHELL = re.compile(r"""(?:\w+=\S+ )*(?:& )?["'$~]?(?:[A-Za-z]:\\)?[\w./~(][^\s:=;]*(?:;| (?!=)|$)""")
_SAYS_WHERE = re.compile(r"terminal|PowerShell|host\b")
_SAYS_WHERE_IN_CODE = re.compile(r"\b(?:program|training loop|function|brackets|cell)\b|`import torch`")
_SAYS_WHICH_CELL = re.compile(r"\b(?:training loop|brackets|cell)\b")


def _is_python(command: str) -> bool:
    """Return whether `command` is Python; in the language of NixOS, assignments end with a semicolon."""
    try:
        first = ast.parse(command).body[0]
    except (SyntaxError, ValueError, IndexError):
        return False
    call = isinstance(first, ast.Expr) and isinstance(first.value, ast.Call)
    known = call or isinstance(first, (ast.Import, ast.ImportFrom, ast.Assign))
    return known and not command.rstrip().endswith(";")


def typed_in(command: str, notebook: bool, announced: str = "") -> Bilingual | None:
    """Return where to type a command, or None if that goes without saying.

    Args:
        command: One or more lines.
        notebook: Whether a notebook asked.
        announced: The sentence above the command, which may say it already.
    """
    if any(line[:1] in ("%", "!") for line in command.splitlines()):
        return CELL
    if _is_python(command):
        if (_SAYS_WHICH_CELL if notebook else _SAYS_WHERE_IN_CODE).search(announced):
            return None
        return CELL if notebook else PROGRAM
    shell = _SHELL.match(command) and not _SAYS_WHERE.search(announced)
    return TERMINAL if notebook and shell else None
