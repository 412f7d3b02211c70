"""The package on its own: its wheel, installed for each Python of this machine, works as it does from the sources."""

import email
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_up_evidence import NO_GPU, healthy
from other_pythons import MINORS, python
from sample import sample
from wheels import wheel_of

from torch_doctor import __version__
from torch_doctor.diagnosis import QUESTIONS

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "torch_doctor"
EVIDENCE: list[dict[str, Any]] = [
    healthy(), healthy(**NO_GPU), {}, healthy(bus__os="windows", pytorch__cuda=None), healthy(caller__notebook=True),
    healthy(driver__cuInit=802, pytorch__available=False, pytorch__count=0),
]  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the folder, as ``pip install ./torch_doctor`` does."""
    return wheel_of(SOURCES, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the content of the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def tables() -> Iterator[tuple[str, Any]]:
    for folder in ("screen", "tables", "diagnosis/texts", "errors/catalogue"):
        for file in sorted((SOURCES / folder).glob("*.toml")):
            yield f"{folder}/{file.stem}.json", tomllib.loads(file.read_text(encoding="utf-8"))


# --- the wheel ----------------------------------------------------------------------------------------


def test_the_wheel_has_what_the_sources_have(installed: Path) -> None:
    package = installed / "torch_doctor"
    there = {file.relative_to(package).as_posix() for file in package.rglob("*.*")}
    modules = {file.relative_to(SOURCES).as_posix() for file in SOURCES.rglob("*.py")}
    modules.remove("packaging/hatch_build.py")
    others = {"py.typed", "diagnosis/report.schema.json", *dict(tables())}
    assert {name for name in there if "__pycache__" not in name} == modules | others
    assert (installed / "bilingual.py").read_bytes() == (ROOT / "bilingual.py").read_bytes()
    for name, content in tables():
        assert json.loads((installed / "torch_doctor" / name).read_text(encoding="utf-8")) == content, name


def test_anybody_may_install_it(wheel: Path, installed: Path) -> None:
    assert wheel.name == f"torch_doctor-{__version__}-py3-none-any.whl"
    (folder,) = installed.glob("*.dist-info")
    told = email.message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    assert told["Requires-Python"] == ">=3.9"
    assert [need for need in told.get_all("Requires-Dist", []) if "extra ==" not in need] == []
    assert "torch-doctor = torch_doctor.__main__:main" in (folder / "entry_points.txt").read_text()
    assert (folder / "licenses/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert "course" not in told.get_payload().lower(), "the description is for everybody"


@pytest.mark.nightly
def test_one_command_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=os.name == "posix", with_pip=True)
    programs = tmp_path / "env" / ("bin" if os.name == "posix" else "Scripts")
    install = [programs / "python", "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", wheel]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(install, check=True, timeout=400, env=environment)
    for start in ([programs / "torch-doctor"], [programs / "python", "-m", "torch_doctor"]):
        done = subprocess.run(
            [*start, "--json"], capture_output=True, text=True, timeout=400, cwd=tmp_path, env=environment
        )
        assert (done.returncode, done.stderr) == (1, ""), done.stderr
        assert json.loads(done.stdout)["verdicts"][0]["cause"] == "no-torch"


# --- each Python --------------------------------------------------------------------------------------

# `make test` runs the oldest, the nightly run all.
EACH = [MINORS[1], *(pytest.param(minor, marks=pytest.mark.nightly) for minor in MINORS[2:])]


def run(minor: int, folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python 3.`minor` with the package in `folder` and nothing else of this environment."""
    file = python(minor)
    if file is None:
        pytest.skip(f"needs Python 3.{minor}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [file, *arguments], input=given, capture_output=True, text=True, encoding="utf-8", timeout=400,
        cwd=folder.parent, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("minor", EACH)
def test_each_python_runs_the_installed_doctor(minor: int, question: str, installed: Path) -> None:
    done = run(minor, installed, "-m", "torch_doctor", question, "--json")
    assert done.returncode in (0, 1, 3) and not done.stderr, done.stderr
    told = json.loads(done.stdout)
    form = json.loads((SOURCES / "diagnosis/report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(told, form)
    assert told["evidence"]["interpreter"]["python"].startswith(f"3.{minor}.")
    assert not [name for name, probe in told["evidence"].items() if probe.get("ended") == "failed"], told[
        "evidence"
    ]


# Imports every module, compiles every pattern, and says the same about made-up evidence and samples of errors as this
# Python does. By day it explains every sixth sample; the nightly run, which tries more Pythons, explains all.
_EVERYTHING = """
import importlib, json, pkgutil, re, sys
import torch_doctor
for module in pkgutil.walk_packages(torch_doctor.__path__, "torch_doctor."):
    importlib.import_module(module.name)
from torch_doctor.diagnosis import QUESTIONS
from torch_doctor.diagnosis.diagnose import diagnose
from torch_doctor.diagnosis.report import Report
from torch_doctor.errors import provoke
from torch_doctor.errors.catalogue import entries
def everything(evidence):
    for found in evidence:
        for question in QUESTIONS:
            report = Report(diagnose(found, question))
            for language in ("en", "zh", "both"):
                yield report.text(language)
            yield report.html()
            yield report.json()
    assert all(re.compile(pattern) for entry in entries().values() for pattern in entry.patterns)
    for name, entry in [*entries().items()][:: int(sys.argv[1])]:
        explanation = torch_doctor.explain(entry.samples[0])
        yield f"{name} {explanation.name} {explanation.text()} {explanation.html()}"
    yield provoke.run("print('provoked')")
print(json.dumps(list(everything(json.load(sys.stdin)))))
"""


@cache
def said_here(every: int) -> list[str]:
    """Return what this Python says, from the sources, of every such sample."""
    done = subprocess.run(
        [sys.executable, "-c", _EVERYTHING, str(every)], input=json.dumps(EVIDENCE), capture_output=True, text=True,
        encoding="utf-8", cwd=ROOT, timeout=400,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("every", sample([12, 1], ["12"]))
@pytest.mark.parametrize("minor", EACH)
def test_each_python_says_the_same(minor: int, every: int, installed: Path) -> None:
    done = run(minor, installed, "-c", _EVERYTHING, str(every), given=json.dumps(EVIDENCE))
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert len(said) == len(said_here(every)) > 100
    assert [(one, other) for one, other in zip(said, said_here(every), strict=True) if one != other][:1] == []


@pytest.mark.parametrize("minor", (9, 10))
def test_from_the_sources_an_old_python_is_told_what_to_do(minor: int) -> None:
    done = run(minor, ROOT, "-m", "torch_doctor")
    assert done.returncode == 1 and done.stderr.rstrip().endswith("python -m pip install ./torch_doctor")
