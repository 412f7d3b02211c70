"""Environments with another Python or another PyTorch, made once under ``.machines/``."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.requirements import Requirement

from bilingual import toml_of
from tools.machines.staging import FOLDER, ROOT, NotStaged, Run, StagingError

# Where PIP_EXTRA_INDEX_URL names an index of CPU wheels, an environment takes about 1.5 GB.
SIZE = "about 6 GB on Linux, because PyTorch brings CUDA there; PIP_EXTRA_INDEX_URL may name an index of CPU wheels"


def dependencies() -> list[str]:
    """Return everything that the course and its tests need, as pyproject.toml says it."""
    project = toml_of(ROOT / "pyproject")["project"]
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    return [*project["dependencies"], *(text for text in extras if not text.startswith(project["name"]))]


def find_python(version: str) -> str:
    """Return the path of Python `version` ("3.12"), from PATH or pyenv."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(path / "bin" / "python") for path in sorted(pyenv.glob(f"{version}.*"))]
    question = "import sys, venv; print(*sys.version_info[:2], sep='.')"
    for path in filter(None, candidates):
        # A shim of pyenv is on PATH even where it refuses to run.
        try:
            answer = subprocess.run([path, "-c", question], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if answer.stdout.strip() == version:
            return path
    raise NotStaged(f"no python{version} on PATH or in pyenv")


def make_environment(python: str, torch: str) -> Path:
    """Return the interpreter of an environment with Python `python` and PyTorch `torch`.

    It is made if it is not there, and gets other packages if pyproject.toml or constraints.txt have changed.
    """
    folder = FOLDER / f"python{python}-torch{torch}"
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # Each release of PyTorch says which setuptools it takes.
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [pin for pin in pins if not re.match("#|torch==|setuptools==", pin)]
    packages = [f"torch=={torch}", *(text for text in dependencies() if Requirement(text).name != "torch")]
    complete, content = folder / "complete", "\n".join([*pins, *packages])
    if complete.exists() and complete.read_text(encoding="utf-8") == content:
        return interpreter
    if not complete.exists():
        base = find_python(python)
        print(f"  Making {folder.name} in {FOLDER.name}/: {SIZE}.", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _install([base, "-m", "venv", str(folder)])
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins), encoding="utf-8")
    _install([str(interpreter), "-m", "pip", "install", "--quiet", "-c", str(constraints), *packages])
    complete.write_text(content, encoding="utf-8")
    return interpreter


def _install(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        last = " ".join(done.stderr.splitlines()[-3:])
        raise StagingError(f"{' '.join(command[1:4])} failed: {last}")


@contextmanager
def installed(run: Run, python: str, torch: str) -> Iterator[None]:
    """Use an environment with Python `python` and PyTorch `torch`."""
    run.python = str(make_environment(python, torch))
    run.forget("VIRTUAL_ENV")
    yield
