"""Execute an edition as Colab would: its versions, an empty folder, the course installed by the notebook's first cell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.colab.requirements import STORED, parsed
from tools.editions.first_cell import ID, first_cell
from tools.machines.environments import find_python
from tools.machines.staging import FOLDER, ROOT, NotStaged

_RUN = """
import sys, nbformat
from nbclient import NotebookClient
source, folder = sys.argv[1:]
notebook = nbformat.read(source, 4)
NotebookClient(notebook, timeout=900, allow_errors=True, resources={"metadata": {"path": folder}}).execute()
nbformat.write(notebook, source)
"""


def environment() -> Path:
    """Return the interpreter of an environment with Colab's versions, made once; about 6 GB."""
    folder, pins = FOLDER / "colab", STORED.read_text(encoding="utf-8")
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists() or complete.read_text(encoding="utf-8") != pins:
        if os.name == "nt":
            raise NotStaged("Colab runs Linux")
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([find_python("3.13"), "-m", "venv", folder], check=True)
        # Local versions (+cu128) are Colab's own builds.
        packages = [f"{name}=={version.partition('+')[0]}" for name, version in parsed(pins).items()]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages, "nbclient"], check=True)
        complete.write_text(pins, encoding="utf-8")
    return python


def versions(python: Path) -> dict[str, str]:
    """Return what is installed in the environment of `python`."""
    command = [python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
    return parsed(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def executed(
    notebook: NotebookNode, language: str, work: Path, *, place: str = "colab"
) -> tuple[NotebookNode, dict[str, str]]:
    """Execute an edition in an empty folder, in a kernel that believes it is in Colab or on Kaggle.

    The first cell installs the wheel that is built from this repository instead of the one that it would fetch. The
    notebook's own folder is ``content`` in `work`. Returned are the executed notebook and the packages that its first
    cell added or changed.
    """
    python = environment()
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "pytorch-gpu-course"], check=True)
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*wheel, f"--wheel-dir={work}", str(ROOT)], check=True, stderr=subprocess.DEVNULL)
    (built,) = work.glob("*.whl")
    source = first_cell(language, repo="a/b").replace("git+https://github.com/a/b", built.as_uri())
    cells = [nbformat.v4.new_code_cell(source), *(cell for cell in notebook.cells if cell.id != ID)]
    staged = nbformat.from_dict({**notebook, "cells": cells})
    (work / "google" / "colab").mkdir(parents=True)
    (work / "google" / "colab" / "__init__.py").touch()
    if place == "colab":
        (work / "sitecustomize.py").write_text("import google.colab\n", encoding="utf-8")
    (work / "content").mkdir()
    nbformat.write(staged, work / "lesson.ipynb")
    before = versions(python)
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name == "PATH"}
    kept |= {"HOME": str(work), "PYTHONPATH": str(work), "COURSE_DATA_DIR": str(work / "data")}
    kept |= {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"} if place == "kaggle" else {}
    command = [python, "-c", _RUN, work / "lesson.ipynb", work / "content"]
    subprocess.run(command, check=True, env=kept, stderr=subprocess.DEVNULL)
    changed = dict(versions(python).items() - before.items())
    return nbformat.read(work / "lesson.ipynb", 4), changed


def errors(notebook: NotebookNode) -> list[str]:
    """Return one line for each cell that failed, or wrote to stderr."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found.append(f"{cell.id}: {output.ename}: {output.evalue}")
            elif output.get("name") == "stderr":
                found.append(f"{cell.id}: {output.text}")
    return found
