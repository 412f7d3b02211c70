"""The environment: what is declared, pinned and offered agrees, and `make` makes it from nothing."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from tabled import tabled

from tools import open_lab

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "TEACHING.md", "tools/README.md")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
needs_make = pytest.mark.skipif(os.name != "posix" or not shutil.which("make"), reason="needs make")


# --- what is repeated agrees ---------------------------------------------------------------------------------


EXTRAS = [text for texts in PROJECT["optional-dependencies"].values() for text in texts]


@pytest.mark.parametrize("text", [*PROJECT["dependencies"], *EXTRAS])
def test_a_direct_dependency_is_pinned_within_its_range(text: str) -> None:
    requirement = Requirement(text)
    if requirement.name == PROJECT["name"]:
        assert requirement.extras <= set(PROJECT["optional-dependencies"])
        return
    (pin,) = [pin for pin in PINS if canonicalize_name(pin.name) == canonicalize_name(requirement.name)]
    (exact,) = pin.specifier
    assert (exact.operator, pin.marker) == ("==", requirement.marker)
    assert exact.version in requirement.specifier


def test_torch_is_pinned_alone_and_exactly() -> None:
    """Each build of torch pins its own CUDA libraries; pinning them here would rule out all builds but one."""
    assert [str(pin) for pin in PINS if pin.name == "torch"] == ["torch==2.13.0"]
    found = [pin.name for pin in PINS if pin.name.startswith(("nvidia", "cuda", "triton"))]
    assert found == ["nvidia-ml-py"]  # plain Python, which asks the driver; it belongs to no build of torch


def test_ci_has_a_hash_for_every_package_but_torch() -> None:
    """Those of [hub] are not installed there."""
    blocks = re.split(r"\n(?=\S)", (ROOT / ".ci/hashes.txt").read_text().strip())
    assert all(re.search(r"\\\n    --hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    hashed = {block.partition(" \\")[0] for block in blocks}
    names = {re.match(r"[\w.-]+", line)[0] for line in hashed}
    assert hashed <= {line for line in (ROOT / "constraints.txt").read_text().splitlines()}
    wanted = PROJECT["dependencies"] + sum(
        (PROJECT["optional-dependencies"][extra] for extra in ("test", "lab")), []
    )
    assert {Requirement(text).name for text in wanted} - names == {"torch", PROJECT["name"]}


def test_all_files_offer_the_same_pythons() -> None:
    classifiers = {text.rsplit(" ", 1)[1] for text in PROJECT["classifiers"]}
    conda = SpecifierSet(CONDA["dependencies"][0].removeprefix("python "))
    minors = range(8, 20)
    assert classifiers == {"3.11", "3.12", "3.13", "3.14"}
    assert {f"3.{minor}" for minor in minors if f"3.{minor}" in conda} == classifiers
    assert PROJECT["requires-python"] == ">=3.11"
    assert set(re.findall(r"python(3\.\d+)", MAKEFILE.split("IN :=")[0].split("PYTHON ?=")[1])) == classifiers
    assert CONDA["dependencies"][1:] == ["pip", {"pip": ["-c constraints.txt", "-e .[lab]"]}]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_make_command_of_the_documents_exists(name: str) -> None:
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / name).read_text(encoding="utf-8"), re.M))
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    assert named <= targets
    assert name != "README.md" or {"lab", "test"} <= named


def test_every_command_that_is_named_exists_and_every_program_is_named() -> None:
    """What neither a document nor make nor a workflow names is run by nobody, and rots unseen."""
    places = [ROOT / name for name in ("Makefile", *DOCUMENTS, ".ci/run")]
    places += (ROOT / ".github/workflows").glob("*.yml")
    named = {name for path in places for name in re.findall(r"-m (tools[.\w]*\w)", path.read_text("utf-8"))}
    programs = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for path in (ROOT / "tools").rglob("*.py")
        if path.name == "__main__.py" or '__name__ == "__main__"' in path.read_text("utf-8")
    }
    assert named == programs - {
        "tools.machines.probe",
        "tools.verify_gpu.ranks",
    }  # their packages start these


def test_jupyterlab_knows_every_setting_that_is_set() -> None:
    """An unknown plugin or key would be ignored without a word."""
    jupyter = Path(sys.prefix, "share", "jupyter")
    for plugin, values in json.loads((ROOT / "tools/jupyterlab_defaults.json").read_text()).items():
        package, name = plugin.split(":")
        places = (jupyter / "lab/schemas", jupyter / "labextensions" / package / "schemas")
        schema = next(path for place in places if (path := place / package / f"{name}.json").exists())
        properties = json.loads(schema.read_text(encoding="utf-8"))["properties"]
        for key, value in values.items():
            assert type(value) is type(properties[key]["default"]), f"{plugin}: {key}"
            inner = set(value) if isinstance(value, dict) else set()
            assert inner <= set(properties[key]["default"] if inner else ()), f"{plugin}: {key}"


# --- the Makefile --------------------------------------------------------------------------------------------


def copied(folder: Path) -> Path:
    """Make a folder that has what the Makefile needs, and return it; the lists of packages are empty."""
    for name in ("pyproject.toml", "constraints.txt", "tools/jupyterlab_defaults.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    for name in ("Makefile", "tools/one_at_a_time.py", "tools/quietly.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def stand_in(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@needs_make
@tabled
def test_an_unsuitable_python_is_explained_in_both_languages(tmp_path: Path, python: str, told: str) -> None:
    copied(tmp_path)
    stand_in(tmp_path / "old", "exit 1")
    no_venv = f'case $1 in -c) ;; -m) exit 1 ;; *) exec {sys.executable} "$@" ;; esac'
    stand_in(tmp_path / "bare", no_venv)
    path = python if python.startswith("/") else f"{tmp_path}/{python}"
    result = subprocess.run(["make", "lab", f"PYTHON={path}"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode != 0
    assert told in result.stdout and re.search("[一-鿿]", result.stdout)


class Course:
    """A copy of the Makefile whose Python only notes what it is to make; its pip waits for a file `go`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.running = copied(folder), []
        self.python = folder / "python"
        stand_in(
            self.python,
            f"""case "$*" in
            "-m venv .venv") mkdir .venv/bin && cp "$0" .venv/bin/python && echo venv >> noted ;;
            "-m pip "*) for last; do :; done; echo "pip $last" >> noted; until [ -e go ]; do sleep 0.02; done ;;
            *) exec {sys.executable} "$@" ;;
            esac""",
        )

    def make(self, target: str) -> subprocess.Popen[str]:
        """Start `make`, in a group of processes of its own, without the flags and hashes of the make that runs the tests."""
        command = ["make", f".venv/{target}", f"PYTHON={self.python}"]
        how = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
            "start_new_session": True,
        }
        clean = {
            name: os.environ[name] for name in os.environ if not name.startswith(("MAKE", "MFLAGS", "HASHES"))
        }
        self.running.append(subprocess.Popen(command, cwd=self.folder, env=clean, **how))
        return self.running[-1]

    def noted(self, lines: int = 0) -> list[str]:
        """Return what Python was asked to make, as soon as it is so many lines."""
        end, file = time.monotonic() + 60, self.folder / "noted"
        while len(found := file.read_text().splitlines() if file.exists() else []) < lines:
            assert time.monotonic() < end, found
            time.sleep(0.02)
        return found

    def go(self) -> str:
        """Let pip end, and return what the makes that are left have printed."""
        (self.folder / "go").touch()
        left = [process for process in self.running if not process.stdout.closed]
        return "".join(process.communicate(timeout=60)[0] for process in left)


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Course]:
    found = Course(tmp_path)
    yield found
    for process in found.running:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@needs_make
def test_a_second_make_waits_for_the_first_one_and_says_so(course: Course) -> None:
    course.make("lab")
    course.noted(2)
    waiting = course.make("lab")
    assert "Another make is installing" in waiting.stdout.readline()
    assert "另一個 make" in waiting.stdout.readline()
    course.go()
    assert [process.returncode for process in course.running] == [0, 0]
    assert course.noted() == ["venv", "pip .[lab]"]


@needs_make
def test_nothing_is_lost_under_an_open_jupyterlab(course: Course) -> None:
    """While packages are added, while a second make asks for more, and after the one that added them was killed."""
    (course.folder / "go").touch()
    course.make("lab").communicate(timeout=60)
    (course.folder / "go").unlink()
    (course.folder / ".venv/in use").touch()
    adding = course.make("test")
    course.noted(3)
    waiting = course.make("lab")
    assert "Another make is installing" in waiting.stdout.readline()
    os.killpg(adding.pid, signal.SIGKILL)
    adding.communicate(timeout=60)
    course.noted(4)  # it goes on, since nobody else does
    course.go()
    assert waiting.returncode == 0 and course.make("test").wait(timeout=60) == 0
    assert course.noted() == ["venv", "pip .[lab]", "pip .[test]", "pip .[lab]", "pip .[test]"]
    assert (course.folder / ".venv/in use").exists() and not (course.folder / ".venv/unfinished").exists()


@needs_make
def test_a_first_installation_that_was_killed_begins_again(course: Course) -> None:
    killed = course.make("lab")
    course.noted(2)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    (course.folder / ".venv/half installed").touch()
    again = course.make("lab")
    course.go()
    assert again.returncode == 0 and course.noted() == ["venv", "pip .[lab]"] * 2
    assert not (course.folder / ".venv/half installed").exists()


@needs_make
def test_it_is_made_once_and_again_where_the_folder_was_moved(course: Course) -> None:
    (course.folder / "go").touch()
    for _ in range(2):
        course.make("lab").communicate(timeout=60)
    assert course.noted() == ["venv", "pip .[lab]"], "installed again without a reason"
    course.folder = course.folder.rename(course.folder.with_name("moved"))
    course.python = course.folder / "python"
    course.make("lab").communicate(timeout=60)
    assert course.noted() == ["venv", "pip .[lab]"] * 2


@needs_make
def test_pip_is_heard_only_when_it_fails(course: Course) -> None:
    failing = course.python.read_text().replace('echo "pip $last" >> noted;', "echo many lines; exit 3;")
    stand_in(course.python, failing)
    course.make("lab")
    printed = course.go()
    assert "pip.log" in printed and printed.count("many lines") == 1 and "pip failed" in printed
    assert (course.folder / ".venv/pip.log").read_text() == "many lines\n"


@needs_make
def test_clean_leaves_what_a_learner_wrote(tmp_path: Path) -> None:
    copied(tmp_path)
    made = (".venv", ".machines", "build", "dist", "gpu-runs", "test-results", "course_utils/__pycache__")
    own = ("my_course", "notebooks/mine", "notebooks/results")
    for name in (*made, *own):
        (tmp_path / name).mkdir(parents=True)
    command = ["make", "--silent", "clean"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert not [name for name in made if (tmp_path / name).exists()]
    assert all((tmp_path / name).exists() and name in printed for name in own)


# --- make lab ------------------------------------------------------------------------------------------------


def test_options_of_make_lab_win_over_its_defaults() -> None:
    """JupyterLab refuses a setting that is given twice: "only accepts one value"."""
    options = ["--ServerApp.port_retries=0", "--LabApp.default_url=/lab", "--port=9001", "--ip=127.0.0.2"]
    options.append("--ServerApp.allow_root=False")
    given = open_lab.arguments(options)
    names = [open_lab.setting(text) for text in given if "log_level" not in text]
    assert set(options) <= set(given) and max(map(names.count, names)) == 1, given
    assert "default_url" in "".join(open_lab.arguments(["--port=9001"]))
    command = [sys.executable, "-m", "jupyterlab", *given, "--show-config"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0 and "only accepts one value" not in result.stdout + result.stderr
    assert "tools.open_lab" in result.stdout


@tabled
def test_the_language_of_a_browser(header: str, found: str | None) -> None:
    assert open_lab.language(header) == found


def test_a_home_that_cannot_be_written_to_is_told_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert open_lab.folders({"JUPYTER_DATA_DIR": str(tmp_path)}) == {} and not capsys.readouterr().out
    variables = open_lab.folders({"JUPYTER_DATA_DIR": str(tmp_path / "missing")})
    assert {"JUPYTER_RUNTIME_DIR", "COURSE_DATA_DIR"} <= variables.keys()
    assert all(Path(path).is_relative_to(ROOT / ".jupyter") for path in variables.values())
    assert re.search("Nothing can be written.*\n.*無法寫入", capsys.readouterr().out)


def test_kernels_and_terminals_find_this_environment_first() -> None:
    folder = str(Path(sys.executable).parent)
    assert open_lab.path("/usr/bin") == folder + os.pathsep + "/usr/bin" and open_lab.path("") == folder


def test_make_lab_says_ready_and_begins_in_the_browsers_language(tmp_path: Path) -> None:
    """With a port that another program has; the address leads to lesson 00, and the language is remembered once."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        names = ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "COURSE_DATA_DIR")
        folders = {name: str(tmp_path / name) for name in names}
        (tmp_path / "JUPYTER_DATA_DIR").mkdir()
        command = [sys.executable, "-m", "tools.open_lab", f"--port={port}", "--no-browser"]
        options = ["--ServerApp.port_retries=50", "--IdentityProvider.token="]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
        server = subprocess.Popen([*command, *options], env={**os.environ, **folders}, **how)
        lines: list[str] = []
        try:
            while not lines or "Ready" not in lines[-1]:
                lines.append(server.stdout.readline())
                assert lines[-1], lines
            found = re.search(
                f"Port {port} is taken by another program; this one uses (\\d+)", "".join(lines)
            )
            for header, remembered in (("zh-TW,en;q=0.5", "zh"), ("en", "zh")):
                address = f"http://127.0.0.1:{found[1]}/course"
                request = urllib.request.Request(address, headers={"Accept-Language": header})
                with urllib.request.urlopen(request) as answer:
                    assert answer.url.endswith("/lab/tree/my_course/00_start_here.ipynb")
                saved = json.loads((tmp_path / "COURSE_DATA_DIR/settings.json").read_text())
                assert saved["language"] == remembered
            assert len(lines) <= 13, lines
        finally:
            server.kill()
            server.wait()
