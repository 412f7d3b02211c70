"""The commands that work on this machine: for this very Python, environment, shell and system.

``run`` and ``check`` of a cause may name these placeholders (the text of a cause, too):

``{python}``        This very Python, as it is typed here: ``python`` if that is the same executable, else its path.
``{command}``       The doctor, as it was started here.
``{install}``       Installs the fitting build in place of the installed one: torch, and with it torchvision and torchaudio
                    if they are installed, in releases that belong together. ``{add_torch}``: the same where there is
                    none to replace. ``{install_older}``: the best build that this Python can have, where another
                    Python could have a newer one. ``{install_12_6}``: the build for CUDA 12.6; ``{tag}``: the build (``cu130``).
``{fresh}``         Makes a new environment ``torch-env`` in the home folder, with the fitting build in it;
                    ``{start_fresh_en}``, ``{start_fresh_zh}`` say how it is used.
``{uninstall}``     Removes torch, torchvision and torchaudio; ``{pip_list}`` lists the packages. ``{conda_remove}`` and
                    ``{conda_list}`` do so with conda.
``{other}``         The Python of another environment, which has torch; ``{other_kernel}`` makes it a kernel of Jupyter.
``{rename}``        Gives another name to ``{shadow}``, which hides torch.
``{shell}``         ``!`` in a notebook, nothing in a terminal: before any other shell command.

A line with ``{python}``, ``{command}`` or an installation becomes a ``!`` line if a notebook asks.
"""

from __future__ import annotations

import re
from functools import lru_cache

from torch_doctor.data import read_folder
from torch_doctor.diagnosis import cuda_tables, install_command
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.releases import fitting
from torch_doctor.diagnosis.rules import answers, base
from torch_doctor.diagnosis.shells import KERNEL, Shell


def _dotted(version: int | None) -> str:
    """Return the CUDA release of a driver's version number: 12080 → ``"12.8"``."""
    return f"{version // 1000}.{version % 1000 // 10}" if version else "?"


def _doctor(e: Evidence, shell: Shell) -> str:
    """Return the doctor as it was started here: ``caller.command`` holds its words."""
    words = e.get("caller.command")
    if shell.notebook or not words:
        return f"{shell.python()} -m torch_doctor"
    python = words[0] == e.get("interpreter.executable")
    first = shell.python() if python else shell.path(words[0], first=True)
    return " ".join([first, *(shell.path(word) for word in words[1:])])


@lru_cache(maxsize=4)  # each cause of a report asks for them
def placeholders(e: Evidence) -> dict[str, object]:
    """Return the values of the ``{placeholders}`` on this machine."""
    here = Shell(e)
    wants = str(e.get("pytorch.cuda") or "?")
    major = wants.split(".")[0]
    driver = str(e.get("bus.module") or e.get("nvml.driver") or "")
    table = cuda_tables.WINDOWS_DRIVER_FOR_CUDA if e.os == "windows" or e.wsl else cuda_tables.DRIVER_FOR_CUDA
    return (
        {
            "works": e.works,
            "visible": e.visible,
            "devices": e.devices,
            "python": here.python(),
            "command": _doctor(e, here),
            "tag": fitting(e).tag,
            **install_command.placeholders(e, here),
            "shell": here.mark,
            "driver_major": driver.split(".")[0] or "XXX",
            "driver_cuda": _dotted(e.driver_cuda),
            "torch_cuda": wants,
            "needed": table.get(int(major), "?") if major.isdigit() else "?",
        }
        | base.values(e)
        | answers.values(e)
    )


def fill(text: str, values: dict[str, object]) -> str:
    """Fill in the ``{placeholders}`` that are known; other braces are code and stay."""
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), text)


def typed(run: str, values: dict[str, object]) -> str:
    """Fill in the placeholders of commands; those for the Python of a notebook become lines of a cell."""
    text = fill(run, values)
    if KERNEL not in text:
        return text
    lines = [f"!{line}" if KERNEL in line and line[0] not in "!%" else line for line in text.splitlines()]
    return "\n".join(["import sys", *lines])


_IN_A_NOTEBOOK = read_folder("torch_doctor", "screen")["command_line"]["in-a-notebook"]


def said(text: str, values: dict[str, object]) -> str:
    """Fill in the placeholders of a sentence, which names the function and the kernel where a notebook asks."""
    if KERNEL in str(values["command"]):
        values = {**values, "command": "doctor()", "python": "python"}
        for words in _IN_A_NOTEBOOK:
            for language, terminal in words["terminal"].items():
                text = text.replace(terminal, words["notebook"][language])
    return fill(text, values)
