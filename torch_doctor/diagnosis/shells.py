"""How a path and a Python are typed: in a POSIX shell, in PowerShell, in cmd, and in the cell of a notebook."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from torch_doctor.diagnosis.evidence import Evidence

# IPython puts the path of the kernel's Python in its place; then `!` hands the line to the shell.
KERNEL = "{sys.executable}"
_HOME = {"posix": "~", "powershell": "$HOME", "cmd": "%USERPROFILE%"}


@dataclass(frozen=True)
class Shell:
    """The place where the commands of a report are typed.

    Attributes:
        evidence: The evidence.
        notebook: Whether commands for this Python are typed into a cell; None: as the evidence says.
    """

    evidence: Evidence
    notebook: bool | None = None

    def __post_init__(self) -> None:
        if self.notebook is None:
            # Another Python than the kernel's is a matter for a terminal.
            here = self.evidence.get("caller.notebook") and not self.evidence.get("caller.examined")
            object.__setattr__(self, "notebook", bool(here))

    @property
    def mark(self) -> str:
        """What stands before a shell command: ``!`` in the cell of a notebook, nothing in a terminal."""
        return "!" if self.notebook else ""

    def path(self, path: str, *, first: bool = False) -> str:
        """Return `path` as it is typed: relative in the current folder, with ``~`` in the home folder, quoted if needed.

        Args:
            path: A file or folder, or any other word.
            first: Whether it is the command itself; PowerShell runs a quoted path only after ``&``.
        """
        folder, home = (str(self.evidence.get(f"interpreter.{name}", "")) for name in ("folder", "home"))
        windows = self.evidence.os == "windows"
        separator = "\\" if windows else "/"

        def below(top: str) -> str | None:
            top = top.rstrip("/\\")
            begins, rest = path[: len(top)], path[len(top) + 1 :]
            same = begins.lower() == top.lower() if windows else begins == top
            return rest if top and same and path[len(top) : len(top) + 1] in ("/", "\\") else None

        # In PyTorch's source code, the first step leaves this folder.
        leaves = self.evidence.get("caller.notebook") or self.evidence.get("interpreter.torch_source")
        inside = None if leaves else below(folder)
        at_home = None if inside else below(home)
        if inside:
            path = inside if separator in inside or not first else f".{separator}{inside}"
        kind = self.evidence.shell
        if kind == "posix":
            if windows:  # Git Bash
                path, at_home = path.replace("\\", "/"), (at_home or "").replace("\\", "/")
            return f"~/{shlex.quote(at_home)}" if at_home else shlex.quote(path)
        if at_home:
            quoted = f'"{_HOME[kind]}{separator}{at_home}"'
        elif re.search(r"[^\w.:\\/+=-]", path):
            quoted = f'"{path}"'
        else:
            return path
        return f"& {quoted}" if first and kind == "powershell" else quoted

    def python(self, *, first: bool = True) -> str:
        """Return this Python as it is typed, as a command (`first`) or as an argument."""
        if self.notebook:
            return f'"{KERNEL}"'
        word, executable = self.evidence.get("interpreter.word"), self.evidence.get("interpreter.executable")
        return word or (self.path(executable, first=first) if executable else "python")
