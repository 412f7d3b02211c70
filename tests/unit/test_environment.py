"""What is pinned where, JupyterLab's defaults, and `make lab` when something is in its way."""

from __future__ import annotations

import ast
import errno
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools import constraints as constraints_tool
from tools import lab

ROOT = Path(__file__).resolve().parents[2]
BOOTSTRAP = ROOT / "tools" / "bootstrap.py"
DEFAULTS = ROOT / "tools" / "jupyterlab_defaults.json"
PLATFORMS = [  # (sys_platform, os_name, platform_system)
    ("linux", "posix", "Linux"),
    ("win32", "nt", "Windows"),
    ("darwin", "posix", "Darwin"),
]

posix_only = pytest.mark.skipif(os.name != "posix", reason="the stand-ins for a Python are shell scripts")


# --- pyproject.toml, constraints.txt and environment.yml agree ---------------------------------------------


def marker_environments() -> Iterator[dict[str, str]]:
    """The environments that a requirement's marker is asked about: three systems, three Pythons."""
    for system, os_name, name in PLATFORMS:
        for version in constraints_tool.PYTHONS:
            yield {
                "sys_platform": system,
                "os_name": os_name,
                "platform_system": name,
                "python_version": version,
                "python_full_version": f"{version}.9",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
                "platform_machine": "x86_64",
                "extra": "",
            }


def disagreements(pyproject: str, constraints: str, environment: str) -> list[str]:
    """Compare the texts of the three files; return one sentence per contradiction."""
    found = []
    project = tomllib.loads(pyproject)["project"]
    direct = [Requirement(text) for text in project["dependencies"]]
    direct += [Requirement(text) for text in project["optional-dependencies"]["test"]]
    lines = [line for line in constraints.splitlines() if line and not line.startswith("#")]
    pins = [Requirement(line) for line in lines]

    for pin in pins:
        operators = {specifier.operator for specifier in pin.specifier}
        if operators != {"=="} or "*" in str(pin.specifier) or pin.url or pin.extras:
            found.append(f"constraints.txt: {pin} is not an exact pin")
        if pin.name.startswith(("nvidia", "cuda", "triton")):
            found.append(f"constraints.txt: {pin.name} is torch's own business")
    if [str(pin) for pin in pins if pin.name == "torch"] != [f"torch=={constraints_tool.TORCH}"]:
        found.append(f"constraints.txt: torch is not pinned to {constraints_tool.TORCH} everywhere")
    for requirement in direct:
        for where in marker_environments():
            fitting = [
                pin
                for pin in pins
                if canonicalize_name(pin.name) == canonicalize_name(requirement.name)
                and (pin.marker is None or pin.marker.evaluate(where))
            ]
            place = f"{where['sys_platform']}, Python {where['python_version']}"
            if len(fitting) != 1:
                found.append(f"constraints.txt: {len(fitting)} pins of {requirement.name} on {place}")
            for pin in fitting:
                version = next(iter(pin.specifier)).version
                if not requirement.specifier.contains(version, prereleases=True):
                    found.append(f"{pin} is outside {requirement} of pyproject.toml")

    conda = yaml.safe_load(environment)
    if conda["channels"] != ["conda-forge", "nodefaults"]:
        found.append(f"environment.yml: channels {conda['channels']}")
    names = [entry for entry in conda["dependencies"] if isinstance(entry, str)]
    pip = [entry["pip"] for entry in conda["dependencies"] if isinstance(entry, dict)]
    if sorted(re.split(r"[ <>=]", name)[0] for name in names) != ["pip", "python"]:
        found.append(f"environment.yml: conda gives {names}, not only python and pip")
    if pip != [["-c constraints.txt", "-e ."]]:
        found.append(f"environment.yml: the pip part is {pip}")

    declared = SpecifierSet(project["requires-python"])
    offered = SpecifierSet(next((name for name in names if name.startswith("python")), "")[len("python") :])
    labels = [text.rsplit(" ", 1)[1] for text in project["classifiers"]]
    for minor in range(8, 20):
        version = f"3.{minor}"
        supported = version in constraints_tool.PYTHONS
        if supported and version not in declared:
            found.append(f"pyproject.toml refuses Python {version}")
        if (version in offered) != supported or (version in labels) != supported:
            found.append(f"Python {version}: supported {supported}, conda {version in offered}")
    if "3.10" in declared:
        found.append("pyproject.toml accepts Python 3.10")
    return found


def three_files() -> dict[str, str]:
    names = ("pyproject.toml", "constraints.txt", "environment.yml")
    return {name.split(".")[0]: (ROOT / name).read_text(encoding="utf-8") for name in names}


def test_the_three_files_agree():
    assert disagreements(**three_files()) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("constraints", "torch==2.13.0", "torch==2.12.0", "torch is not pinned"),
        ("constraints", "torch==2.13.0", "torch==2.13.0 ; sys_platform == 'linux'", "torch is not pinned"),
        ("constraints", "numpy==", "numpy>=", "not an exact pin"),
        ("constraints", "\npsutil==", "\n# psutil==", "0 pins of psutil"),
        ("constraints", "nbval==0.11.0", "nbval==0.12.0", "outside nbval==0.11.*"),
        ("constraints", "\nnumpy==", "\nnvidia-cublas==13.1\nnumpy==", "torch's own business"),
        ("pyproject", '"jupyterlab>=4.2"', '"jupyterlab>=99"', "outside jupyterlab>=99"),
        ("pyproject", '"psutil>=5.9"', '"psutil>=5.9", "pandas"', "0 pins of pandas"),
        ("pyproject", 'requires-python = ">=3.11"', 'requires-python = ">=3.10"', "accepts Python 3.10"),
        ("pyproject", 'requires-python = ">=3.11"', 'requires-python = ">=3.12"', "refuses Python 3.11"),
        ("environment", "  - pip\n", "  - pip\n  - numpy\n", "not only python and pip"),
        ("environment", ">=3.11,<3.14", ">=3.11", "Python 3.14"),
        ("environment", "      - -c constraints.txt\n", "", "the pip part"),
        ("environment", "nodefaults", "defaults", "channels"),
    ],
)
def test_a_disagreement_is_found(file: str, old: str, new: str, told: str):
    files = three_files()
    assert old in files[file]
    files[file] = files[file].replace(old, new)
    assert told in "\n".join(disagreements(**files))


def test_the_oldest_allowed_torch_is_the_promised_one():
    project = tomllib.loads(three_files()["pyproject"])["project"]
    torch = next(Requirement(text) for text in project["dependencies"] if text.startswith("torch"))
    assert str(torch.specifier) == ">=2.6"


def test_constraints_name_no_package_index_and_say_how_to_renew_them():
    text = three_files()["constraints"]
    assert text.startswith(constraints_tool.HEADER)
    assert "make constraints" in constraints_tool.HEADER
    assert not re.search(r"https?:|index-url|find-links|file:", text)


# --- JupyterLab's defaults ---------------------------------------------------------------------------------


def schema_problems(defaults: dict[str, dict[str, Any]]) -> list[str]:
    """Check settings against the installed JupyterLab's schemas: known plugin, known key, fitting value."""
    jupyter = Path(sys.prefix, "share", "jupyter")
    found = []
    for plugin, values in defaults.items():
        package, name = plugin.split(":")
        places = (jupyter / "lab" / "schemas", jupyter / "labextensions" / package / "schemas")
        path = next((path for place in places if (path := place / package / f"{name}.json").exists()), None)
        if path is None:
            found.append(f"{plugin}: JupyterLab has no such plugin")
            continue
        schema = json.loads(path.read_text(encoding="utf-8"))
        for key, value in values.items():
            if key not in schema["properties"]:
                found.append(f"{plugin}: unknown key {key}")
                continue
            known = schema["properties"][key]
            validator = jsonschema.Draft7Validator({**known, "definitions": schema.get("definitions", {})})
            found += [f"{plugin}: {key}: {error.message}" for error in validator.iter_errors(value)]
            # The schemas describe the cell editors only by their default value.
            if isinstance(value, dict) and "properties" not in known:
                usual = known["default"]
                found += [f"{plugin}: {key}: unknown key {inner}" for inner in value if inner not in usual]
                found += [
                    f"{plugin}: {key}: {inner} is no {type(usual[inner]).__name__}"
                    for inner in value
                    if inner in usual and type(value[inner]) is not type(usual[inner])
                ]
    return found


def test_defaults_fit_the_installed_jupyterlab():
    assert schema_problems(json.loads(DEFAULTS.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("plugin", "values"),
    [
        ("@jupyterlab/notebook-extension:trakcer", {"windowingMode": "none"}),
        ("@jupyterlab/notebook-extension:tracker", {"windowMode": "none"}),
        ("@jupyterlab/notebook-extension:tracker", {"windowingMode": "nothing"}),
        ("@jupyterlab/notebook-extension:tracker", {"codeCellConfig": {"lineNumber": False}}),
        ("@jupyterlab/notebook-extension:tracker", {"codeCellConfig": {"lineWrap": "on"}}),
        ("@jupyterlab/apputils-extension:notification", {"checkForUpdates": "false"}),
        ("@jupyterlab/apputils-extension:notification", {"fetchNews": False}),
        ("@jupyterlab/toc-extension:registry", {"includeOutput": 0}),
        ("@jupyter-widgets/jupyterlab-manager:plugin", {"saveState": "yes"}),
    ],
)
def test_a_wrong_default_is_found(plugin: str, values: dict[str, Any]):
    assert schema_problems({plugin: values})


def answer(url: str, token: str) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)


def test_a_running_jupyterlab_uses_the_defaults(tmp_path: Path):
    """What `make lab` starts answers with our settings, opens the start page, and serves the course."""
    installed = Path(sys.prefix, "share/jupyter/lab/settings/overrides.d/pytorch-gpu-course.json")
    if not installed.exists() and "CI" not in os.environ:
        pytest.skip("the project is not installed in this environment (pip install -e .)")
    assert installed.read_text(encoding="utf-8") == DEFAULTS.read_text(encoding="utf-8"), "run: make setup"

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = "of-this-test"
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    folders |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "DISPLAY"))},
        **{key: str(tmp_path / name) for key, name in folders.items()},
        "LAB_ARGS": f"--port={port} --no-browser --IdentityProvider.token={token}",
    }
    log = tmp_path / "log"
    with log.open("w") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "tools.lab"], cwd=ROOT, env=environment, stdout=file, stderr=file
        )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                answer(f"{url}/api/status", token)
                break
            except OSError:
                assert server.poll() is None, log.read_text()
                time.sleep(0.1)
        for plugin, values in json.loads(DEFAULTS.read_text(encoding="utf-8")).items():
            schema = answer(f"{url}/lab/api/settings/{plugin}", token)["schema"]
            for key, value in values.items():
                assert schema["properties"][key]["default"] == value, f"{plugin}: {key}"
        names = {item["name"] for item in answer(f"{url}/api/contents/notebooks", token)["content"]}
        assert lab.START.rsplit("/", 1)[1] in names
        assert f"{lab.START}?token=" in log.read_text()
    finally:
        server.terminate()
        server.wait(timeout=20)


# --- tools/lab.py ------------------------------------------------------------------------------------------


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An ordinary computer: a display, a person who is not root, every port free."""
    for name in ("SSH_CONNECTION", "BROWSER", "JUPYTER_PORT", "LAB_ARGS", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(lab.os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(lab, "is_free", lambda port: True)
    return monkeypatch


def added(arguments: list[str]) -> list[str]:
    """What tools.lab puts between the fixed beginning and the person's own options."""
    command = lab.lab_command(arguments)
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    return command[5 : len(command) - len(arguments)]


def test_an_ordinary_start_adds_nothing(desk: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert added([]) == []
    assert capsys.readouterr().out == ""


def test_a_busy_usual_port_is_replaced_and_said(desk: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    desk.setattr(lab, "is_free", lambda port: port > 8889)
    assert added([]) == ["--port=8890"]
    assert "8888" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--port=9000"], ["--port", "9000"], ["--ServerApp.port=9000"]])
def test_a_busy_port_that_was_asked_for_is_refused(
    desk: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
):
    desk.setattr(lab, "is_free", lambda port: port != 9000)
    with pytest.raises(SystemExit) as stopped:
        lab.lab_command(arguments)
    assert stopped.value.code == 2
    assert "Port 9000 is in use" in capsys.readouterr().out
    assert added(["--port=9001"]) == ["--ServerApp.port_retries=0"]


def test_root_gets_allow_root_and_stays_on_this_machine(
    desk: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    desk.setattr(lab.os, "geteuid", lambda: 0, raising=False)
    assert added([]) == ["--allow-root", "--ip=localhost"]
    assert "localhost" in capsys.readouterr().out
    assert added(["--ip=0.0.0.0"]) == ["--allow-root"]
    assert added(["--allow-root"]) == []


@pytest.mark.parametrize(
    ("system", "variables", "browser"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":1"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "a b c d"}, False),
        ("win32", {}, True),
    ],
)
def test_no_display_means_no_browser(
    desk: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    system: str,
    variables: dict[str, str],
    browser: bool,
):
    desk.delenv("DISPLAY")
    desk.setattr(lab.sys, "platform", system)
    for name, value in variables.items():
        desk.setenv(name, value)
    assert added([]) == ([] if browser else ["--no-browser"])
    assert ("No display" in capsys.readouterr().out) is not browser


def test_a_port_really_in_use_is_seen():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not lab.is_free(port)
        command = [sys.executable, "-m", "tools.lab", "--port", str(port)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
        assert result.returncode == 2
        assert f"Port {port} is in use" in result.stdout.decode("utf-8")
        assert b"Traceback" not in result.stderr
    assert lab.is_free(port)


# --- tools/bootstrap.py ------------------------------------------------------------------------------------


def load_bootstrap(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Course:
    """A copy of what bootstrap needs, in a folder whose name has a space; run it with a chosen PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "my course"
        self.programs = folder / "programs"
        self.programs.mkdir(parents=True)
        (self.folder / "tools").mkdir(parents=True)
        for name in ("pyproject.toml", "constraints.txt", "tools/jupyterlab_defaults.json"):
            shutil.copy(ROOT / name, self.folder / name)
        shutil.copy(BOOTSTRAP, self.folder / "tools")

    def program(self, name: str, *lines: str) -> None:
        """Put a shell script on the PATH."""
        path = self.programs / name
        path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n", encoding="utf-8")
        path.chmod(0o755)

    def python(self, name: str, version: str, kind: str = "CPython", wide: bool = True, venv: bool = True):
        """Put a Python on the PATH that answers bootstrap's question and can do nothing else."""
        self.program(name, f"printf '%s\\n' {version} {kind} {wide} {venv} {self.programs / name}")

    def run(self, *arguments: str, starter: str = sys.executable, **environment: str) -> tuple[int, str]:
        """Run bootstrap; returns its exit status and everything it printed."""
        kept = {key: os.environ[key] for key in ("HOME", "LANG", "TMPDIR") if key in os.environ}
        result = subprocess.run(
            [starter, str(self.folder / "tools" / "bootstrap.py"), *arguments],
            env={**kept, "PATH": f"{self.programs}:/usr/bin:/bin", "PYTHONUTF8": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        text = result.stdout.decode("utf-8", "replace")
        assert "Traceback" not in text
        return result.returncode, text


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_bootstrap_is_written_in_the_language_of_old_pythons():
    """Nothing that Python 2.7 answers with a SyntaxError, instead of the sentence that turns it away."""
    tree = ast.parse(BOOTSTRAP.read_text(encoding="utf-8"))
    modern = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Starred, ast.Nonlocal, ast.YieldFrom)
    modern += (ast.AsyncFunctionDef, ast.Await, ast.Match)
    for node in ast.walk(tree):
        assert not isinstance(node, modern), f"line {node.lineno}"
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            annotated = [one for one in arguments.args if one.annotation]
            assert not (node.returns or annotated or arguments.kwonlyargs or arguments.posonlyargs), node.name
        if isinstance(node, ast.Raise):
            assert node.cause is None, f"line {node.lineno}"
        if isinstance(node, ast.Dict):
            assert None not in node.keys, f"line {node.lineno}"


def old_python(version: str) -> str | None:
    """Path of a Python that is too old: on the PATH, or among those that pyenv keeps."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = map(str, pyenv.glob(f"versions/{version}.*/bin/python"))
    for path in (shutil.which(f"python{version}"), *kept):
        if path and not subprocess.run([path, "-c", ""], capture_output=True).returncode:
            return path
    return None


@posix_only
@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.10"])
def test_an_old_python_reads_a_sentence(course: Course, version: str):
    old = old_python(version)
    if old is None:
        pytest.skip(f"no Python {version} on this machine")
    status, text = course.run("lab", starter=old, PYTHON=old)
    assert status == 1
    assert "needs Python 3.11, 3.12 or 3.13" in text
    assert not (course.folder / ".venv").exists()


@posix_only
def test_an_old_python_finds_a_newer_one(course: Course):
    old = old_python("2.7") or old_python("3.6") or old_python("3.8")
    if old is None:
        pytest.skip("no old Python on this machine")
    course.python("python3.12", "3.12")  # answers, but cannot make an environment
    status, text = course.run("setup", starter=old, PYTHON="")
    assert "Making .venv with Python 3.12" in text
    assert status == 1


@posix_only
@pytest.mark.parametrize(
    ("python", "told"),
    [
        ({"version": "3.10"}, "needs Python 3.11, 3.12 or 3.13 (64 bit), but there is only: Python 3.10"),
        ({"version": "3.14"}, "needs Python 3.11, 3.12 or 3.13"),
        ({"version": "3.12", "kind": "PyPy"}, "only: PyPy 3.12"),
        ({"version": "3.12", "wide": False}, "(32 bit)"),
        ({"version": "3.12", "venv": False}, "sudo apt install python3.12-venv"),
    ],
)
def test_an_unsuitable_python_is_named(course: Course, python: dict[str, Any], told: str):
    course.python("mine", **python)
    status, text = course.run("lab", PYTHON="mine")
    assert status == 1
    assert told in text
    assert re.search("[一-鿿]", text), "the Chinese line is missing"
    assert not (course.folder / ".venv").exists()


@posix_only
def test_a_python_that_does_not_start_is_named(course: Course):
    status, text = course.run("lab", PYTHON="/nowhere/python")
    assert (status, "PYTHON=/nowhere/python does not start" in text) == (1, True)


@posix_only
def test_pythons_are_tried_in_order(course: Course, monkeypatch: pytest.MonkeyPatch):
    bootstrap = load_bootstrap(course.folder / "tools" / "bootstrap.py")
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.setenv("PATH", str(course.programs))
    course.python("too-old", "3.9")
    course.python("python3", "3.9")
    course.python("python3.11", "3.11")
    course.python("python3.12", "3.12", venv=False)
    monkeypatch.setattr(bootstrap.sys, "executable", str(course.programs / "too-old"))
    assert bootstrap.choose_python().version == "3.11"
    course.python("python3.13", "3.13")
    assert bootstrap.choose_python().version == "3.13"
    course.python("too-old", "3.12")  # who starts it with a fitting one gets that one
    assert bootstrap.choose_python().path.endswith("too-old")


@posix_only
def test_no_network_is_one_clear_line_and_the_next_run_goes_on(course: Course):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    status, text = course.run("setup", **nowhere)
    assert (status, "The package index cannot be reached" in text) == (1, True)
    bootstrap = load_bootstrap(course.folder / "tools" / "bootstrap.py")
    assert bootstrap.read_stamp()["state"] == "incomplete"
    assert state(bootstrap) == (False, None)  # completed next time, not made anew


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("ERROR: Could not install: OSError: [Errno 28] No space left on device", "disk is full"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "cannot be reached"),
        ("ReadTimeoutError(\"HTTPSConnectionPool(host='x', port=443): Read timed out.", "cannot be reached"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] …", "not trusted"),
        ("ERROR: Could not install: OSError: [Errno 13] Permission denied: '/x'", "permission"),
        ("ERROR: No matching distribution found for torch==2.13.0", "no build of a package for this machine"),
        ("ERROR: something that nobody thought of", "pip install failed"),
    ],
)
def test_every_failure_of_pip_says_what_to_do(output: str, told: str):
    problem = load_bootstrap(BOOTSTRAP).explain(output, "pip install")
    assert told in problem.english
    assert "\n" not in problem.english + problem.chinese
    assert problem.status == 1


def test_a_wrong_command_is_told_the_right_ones(course: Course):
    status, text = course.run("lba")
    assert status == 2
    assert "lab" in text and "test" in text


@pytest.fixture
def finished(course: Course, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bootstrap in a course whose .venv is complete: a real environment, stand-ins for the packages."""
    monkeypatch.delenv("PYTHON", raising=False)
    bootstrap = load_bootstrap(course.folder / "tools" / "bootstrap.py")
    venv = [sys.executable, "-m", "venv", "--without-pip", str(course.folder / ".venv")]
    subprocess.run(venv, check=True)
    bootstrap.pip_install = lambda extras, quietly: fake_install(bootstrap)
    bootstrap.write_stamp(state="incomplete", root=bootstrap.ROOT)
    bootstrap.set_up("")
    assert bootstrap.ready("")
    return bootstrap


def fake_install(bootstrap: ModuleType) -> None:
    folder = Path(bootstrap.site_packages(bootstrap.venv_version()))
    for name in bootstrap.MODULES:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "__init__.py").touch()
        if not list(folder.glob(f"{name}-*")):
            (folder / f"{name}-1.0.dist-info").mkdir()


def state(bootstrap: ModuleType) -> tuple[bool, str | None]:
    """Whether the environment counts as complete, and the reason to make it anew."""
    reason = bootstrap.why_rebuild(bootstrap.read_stamp(), bootstrap.venv_version())
    return bootstrap.ready(""), reason and reason[0]


def test_a_complete_environment_is_left_alone(finished: ModuleType, capsys: pytest.CaptureFixture[str]):
    def never(*ignored: object, **also: object) -> None:
        raise AssertionError("installed again")

    capsys.readouterr()
    finished.pip_install = finished.make_venv = never
    begin = time.perf_counter()
    finished.set_up("")
    assert time.perf_counter() - begin < 1
    assert capsys.readouterr().out == ""
    assert not finished.ready("test")  # the test tools are not there yet


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "tools/jupyterlab_defaults.json"])
def test_a_changed_file_is_noticed(finished: ModuleType, name: str):
    path = Path(finished.ROOT, name)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("torch", "toch").replace("none", "full"), encoding="utf-8")
    assert state(finished) == (False, None)
    path.write_text(text, encoding="utf-8", newline="\r\n")  # a checkout on Windows is no change
    assert state(finished) == (True, None)


def test_rules_for_tests_and_style_are_no_reason_to_install(finished: ModuleType):
    with Path(finished.ROOT, "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n# another rule\n")
    assert state(finished) == (True, None)


def test_another_version_of_a_package_is_kept_and_a_missing_one_is_put_back(finished: ModuleType):
    folder = Path(finished.site_packages(finished.venv_version()))
    (folder / "torch-1.0.dist-info").rename(folder / "torch-1.0+cu126.dist-info")
    assert state(finished) == (True, None)
    (folder / "numpy-1.0.dist-info").rmdir()
    assert state(finished) == (False, None)  # pip puts it back
    finished.set_up("")
    assert state(finished) == (True, None)


def test_deleted_files_a_dead_python_a_killed_set_up_and_a_moved_folder_mean_a_new_environment(
    finished: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    folder = Path(finished.site_packages(finished.venv_version()))
    shutil.rmtree(folder / "torch")
    assert state(finished) == (False, "files of torch are gone")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").touch()

    good = finished.read_stamp()
    finished.write_stamp(state="installing")
    assert state(finished) == (False, "the last set-up did not finish")
    finished.write_stamp(**{**good, "root": "/elsewhere"})
    assert state(finished) == (False, "its folder was moved")
    finished.write_stamp(**good)
    assert state(finished) == (True, None)

    monkeypatch.setattr(finished, "venv_python", lambda: str(folder / "python"))
    assert state(finished) == (False, "its Python is gone or does not fit")


@posix_only
def test_a_broken_environment_is_made_anew(
    finished: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    python = Path(finished.venv_python())
    python.unlink()
    python.symlink_to("/nowhere/python3")
    quick = Path(finished.ROOT).parent / "programs" / "quick"  # like python -m venv, but without pip: seconds
    quick.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m venv --without-pip "$3"\n', encoding="utf-8")
    quick.chmod(0o755)
    monkeypatch.setattr(finished, "choose_python", lambda: finished.Python("3.x", "", True, True, str(quick)))
    finished.set_up("")
    assert "made anew: its Python is gone" in capsys.readouterr().out
    assert state(finished) == (True, None)


def test_a_folder_of_somebody_else_is_not_removed(finished: ModuleType, capsys: pytest.CaptureFixture[str]):
    shutil.rmtree(finished.VENV)
    os.mkdir(finished.VENV)
    thesis = Path(finished.VENV, "thesis.txt")
    thesis.write_text("years of work", encoding="utf-8")
    with pytest.raises(finished.Problem, match="was not made by this course"):
        finished.set_up("")
    assert thesis.exists()


def test_two_set_ups_do_not_meet(finished: ModuleType):
    first, second = finished.Lock(), finished.Lock()
    with first:
        second.file = open(finished.LOCK, "w")
        assert second.taken()
    assert not second.taken()
    second.file.close()


@posix_only
def test_a_full_disk_is_explained_and_does_not_keep_anybody_from_cleaning(
    finished: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def no_room(**stamp: object) -> None:
        raise full

    assert "disk is full" in finished.explain(str(full), "The set-up").english
    monkeypatch.setattr(finished, "write_stamp", no_room)
    assert finished.main(["clean"]) == 0
    assert not os.path.exists(finished.VENV)


def test_variables_from_outside_do_not_reach_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET"):
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    environment = load_bootstrap(BOOTSTRAP).clean_environment()
    assert "/elsewhere" not in environment.values()
    assert environment["PIP_USER"] == "0"


# --- make --------------------------------------------------------------------------------------------------

needs_make = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


@needs_make
@posix_only
def test_every_command_has_its_make_target_and_help_lists_them():
    bootstrap = load_bootstrap(BOOTSTRAP)
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, check=True).stdout.decode("utf-8")
    listed = set(re.findall(r"^  make (\S+)", text, re.MULTILINE))
    assert listed == {*bootstrap.COMMANDS, "help"}
    for name in bootstrap.COMMANDS:
        plan = subprocess.run(["make", "-n", name, "ARGS=-x"], cwd=ROOT, capture_output=True, check=True)
        assert f"tools/bootstrap.py {name}" in plan.stdout.decode("utf-8")


@needs_make
@posix_only
def test_make_without_any_python_says_what_to_install(tmp_path: Path):
    make = shutil.which("make")
    assert make
    result = subprocess.run([make, "lab"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True)
    assert result.returncode != 0
    assert b"Install Python 3.11, 3.12 or 3.13" in result.stdout


@needs_make
@posix_only
def test_options_reach_the_commands(course: Course):
    shutil.copy(ROOT / "Makefile", course.folder)
    course.program("python3", 'echo "$PYTHON|$LAB_ARGS|$*"')
    environment = {"PATH": f"{course.programs}:/usr/bin:/bin"}
    for target, told in (("lab", "mine|--port=9000 --debug|"), ("test", "-k 'a or b'")):
        result = subprocess.run(
            ["make", target, "PYTHON=mine", "LAB_ARGS=--port=9000 --debug", "ARGS=-k 'a or b'"],
            cwd=course.folder,
            env=environment,
            capture_output=True,
        )
        assert told.replace("'", "") in result.stdout.decode("utf-8")


# --- the real thing ----------------------------------------------------------------------------------------


@posix_only
@pytest.mark.slow
def test_a_real_environment_is_made_once_and_mended(tmp_path: Path):
    """Minutes, and the network: make it, run again in under a second, delete torch, make it work again."""
    folder = tmp_path / "course"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode("utf-8").split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)

    def setup() -> tuple[float, str]:
        begin = time.perf_counter()
        result = subprocess.run(
            [sys.executable, "tools/bootstrap.py", "setup"], cwd=folder, capture_output=True, check=True
        )
        return time.perf_counter() - begin, result.stdout.decode("utf-8")

    setup()
    seconds, text = setup()
    assert (seconds < 1, text) == (True, "")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shutil.rmtree(folder / ".venv" / "lib" / version / "site-packages" / "torch")
    assert "files of torch are gone" in setup()[1]
    python = folder / ".venv" / "bin" / "python"
    question = "import torch, course_utils; print(torch.__version__, course_utils.__file__)"
    told = subprocess.run([python, "-c", question], cwd=tmp_path, capture_output=True, check=True).stdout
    assert Version(told.split()[0].decode()).base_version == constraints_tool.TORCH
    assert str(folder) in told.decode()
