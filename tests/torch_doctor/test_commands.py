"""The commands that the doctor prints are typed here, in the environments for which it prints them.

Each environment is made with a CPU build of a tiny torch and torchvision; the machine is made up, with a GPU. The probe
examines the environment, the commands of a step are run by ``sh`` as they are printed, and afterwards this Python must
import the build for CUDA. The packages come from an index on this machine, see :mod:`made_up_index`.

Not staged here: Windows (cmd, PowerShell, winget; the forms are compared as text), conda, mamba and pixi (they are not
installed by pip), ``apt install`` of a system's package, and Colab's and Kaggle's images.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import other_pythons
import pytest
from cases import tables
from made_up_evidence import laid_over, on_windows
from made_up_index import Index, can_serve
from tabled import tabled

from torch_doctor.diagnosis.causes import Cause, catalogue
from torch_doctor.diagnosis.commands import placeholders, typed
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.install_command import install
from torch_doctor.diagnosis.places import places_of
from torch_doctor.diagnosis.releases import Build, fitting
from torch_doctor.diagnosis.run_probes import FOLDER
from torch_doctor.diagnosis.shells import Shell

ROOT = Path(__file__).parents[2]
_PROBE = """
import json, runpy, sys
found = {}
runpy.run_path(sys.argv[1])["probe"]("/", lambda **more: found.update(more))
print(json.dumps(found))
"""
_TORCH = """
import json, torch, torchvision
print(json.dumps([torch.__version__, torch.version.cuda, torchvision.__version__]))
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    why = can_serve() or ("" if os.name == "posix" else "the commands are typed into sh")
    if why:
        pytest.skip(why)
    index = Index(tmp_path_factory.mktemp("index"))
    yield index
    index.close()


class Place:
    """A folder with a Python in it, and the shell that is open there.

    Attributes:
        home: The home folder; its name contains a space.
        folder: The folder in which the commands are typed.
        python: The Python that is examined.
        variables: The environment variables of the shell.
    """

    def __init__(self, top: Path, index: Index) -> None:
        self.home = top / "home of ada"
        self.folder = self.home / "work"
        self.folder.mkdir(parents=True)
        self.python = Path()
        self.variables = {
            **index.variables,
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "UV_CACHE_DIR": str(index.folder / "cache"),
            "LANG": "C.UTF-8",
        }

    def type(self, commands: str, folder: Path | None = None) -> str:
        """Type `commands` into the shell, which ends at the first one that fails, and return what they print."""
        done = subprocess.run(["/bin/sh", "-e", "-c", commands], cwd=folder or self.folder, env=self.variables,
                              capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)  # fmt: skip
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    def with_path(self, folder: Path) -> Place:
        """Put `folder` first on the path."""
        self.variables["PATH"] = f"{folder}:{self.variables['PATH']}"
        return self

    def with_uv(self) -> Place:
        """Put uv on the path."""
        import uv

        folder = self.home / "tools"
        folder.mkdir()
        (folder / "uv").symlink_to(uv.find_uv_bin())
        return self.with_path(folder)

    def venv(self, path: Path, pip: bool = True, base: str | Path = sys.executable) -> Place:
        """Make an environment of the Python `base` in `path`."""
        subprocess.run([base, "-m", "venv", "--without-pip", path], check=True, timeout=120)
        self.python = path / "bin/python"
        return self.with_pip() if pip else self

    def with_pip(self) -> Place:
        """Give this Python the pip of the tests: installing one for each environment would take seconds."""
        import pip

        where = Path(self.ask("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        packages = Path(pip.__file__).parents[1]
        for file in (packages / "pip", *packages.glob("pip-*.dist-info")):
            (where / file.name).symlink_to(file)
        return self

    def active(self) -> Place:
        """Switch the environment on."""
        self.variables["VIRTUAL_ENV"] = str(self.python.parents[1])
        return self.with_path(self.python.parent)

    def with_cpu_build(self) -> Place:
        """Put the CPU build into the site-packages of this Python, as an installer would."""
        import zipfile

        where = self.ask("import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        for name in ("torch-2.13.0+cpu", "torchvision-0.28.0+cpu"):
            with zipfile.ZipFile(self.index.folder / f"cpu/{name}-py3-none-any.whl") as archive:
                archive.extractall(where)
        return self

    index: Index

    def ask(self, code: str, *arguments: str) -> str:
        """Let this Python run `code`, and return what it prints."""
        done = subprocess.run([self.python, "-c", code, *arguments], cwd=self.folder, env=self.variables,
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def evidence(self, notebook: bool = False, **more: Any) -> Evidence:
        """Return what the probe finds out about this Python, on a made-up machine with a GPU."""
        found = json.loads(self.ask(_PROBE, str(FOLDER / "interpreter.py")))
        pytorch: dict[str, Any] = {"error": "No module named 'torch'", "missing": True}
        if "torch" in found["packages"]:
            version, cuda, _ = json.loads(self.ask(_TORCH))
            pytorch = {"imported": True, "version": version, "cuda": cuda}
        machine: dict[str, Any] = {
            "caller": {"notebook": True} if notebook else {},
            "interpreter": found,
            "pytorch": pytorch,
            "bus": {"os": "linux", "arch": "x86_64", "cards": [{"vendor": "0x10de", "driver": "nvidia"}]},
            "driver": {"loaded": True, "cuInit": 0, "version": 13020, "count": 1,
                       "devices": [{"capability": 86}]},
        }  # fmt: skip
        return Evidence({**machine, **more})

    def torch(self) -> list[str | None]:
        """Return the release of torch that this Python imports, its CUDA, and the release of torchvision."""
        found: list[str | None] = json.loads(self.ask(_TORCH))
        return found


@pytest.fixture
def place(index: Index, tmp_path: Path) -> Place:
    place = Place(tmp_path, index)
    place.index = index
    return place


def every_night(*values: Any) -> list[Any]:
    """Return parameters of a test that is run with them every night, not on each change."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


def run_of(name: str, e: Evidence) -> str:
    """Return the commands of the first step of a cause."""
    return next(step.run for step in Cause.of(name, e).steps if step.run)


GOOD = ["2.13.0+cu132", "13.2", "0.28.0+cu132"]

# --- environments -------------------------------------------------------------------------------------


# Where the environment is, in which way the place has a tool for it → how the command begins.
IN = "{0} -m pip install --upgrade uv\n{0} -m uv pip install".format
WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "active": ({"active": True}, IN("python")),
    "below home": ({"env": "my env"}, IN("~/'my env/bin/python'")),
    "in the folder": ({"env": "work/.venv"}, IN(".venv/bin/python")),
    "another is active": ({"other": "other"}, IN("~/env/bin/python")),
    "without pip": ({"active": True, "pip": False, "uv": True}, "uv pip install --python python"),
    "without pip below home": (
        {"env": "my env", "pip": False, "uv": True}, "uv pip install --python ~/'my env/bin/python'"
    ),
    "without pip and uv": ({"active": True, "pip": False}, "python -m ensurepip\n" + IN("python")),
}  # fmt: skip


def stage(place: Place, way: str) -> str:
    """Make the environment of :data:`WAYS` with a CPU build, and return how the command for it begins."""
    if way == "portable":
        return portable(place)
    where, begins = WAYS[way]
    if where.get("uv"):
        place.with_uv()
    if "other" in where:
        place.venv(place.home / where["other"]).active()
    place.venv(place.home / where.get("env", "env"), where.get("pip", True))
    if where.get("active"):
        place.active()
    place.with_cpu_build()
    return begins


def portable(place: Place) -> str:
    """A Python that was copied: no environment, its packages lie beside it."""
    base, top = Path(sys.base_prefix), place.home / "app/python_embeded"
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = top / "lib" / name / "site-packages"
    packages.mkdir(parents=True)
    (top / "bin").mkdir()
    shutil.copy(base / "bin" / name, top / "bin/python")
    for file in (base / "lib").iterdir():
        if file.name != name:
            (top / "lib" / file.name).symlink_to(file)
    for file in (base / "lib" / name).iterdir():
        if file.name != "site-packages" and file.name != "EXTERNALLY-MANAGED":
            (packages.parent / file.name).symlink_to(file)
    place.python = top / "bin/python"
    place.with_pip().with_cpu_build()
    return IN("~/app/python_embeded/bin/python")


@pytest.mark.parametrize(
    "way",
    ["active", *every_night("portable", "without pip and uv", "without pip below home", "below home", "in the folder",
                            "another is active", "without pip")],
)  # fmt: skip
def test_the_command_installs_into_this_environment(way: str, place: Place) -> None:
    begins = stage(place, way)
    e = place.evidence()
    run = run_of("cpu-build", e)
    again = "--reinstall-package torch --reinstall-package torchvision torch==2.13.0 torchvision"
    assert run == f"{begins} --torch-backend=cu132 {again}"
    place.type(run)
    assert place.torch() == GOOD
    assert "torch" in place.type(str(placeholders(e)["pip_list"]))
    place.type(str(placeholders(e)["uninstall"]))
    assert "torch" not in place.evidence().get("interpreter.packages")
    assert "torchvision" not in place.evidence().get("interpreter.packages")


@pytest.mark.parametrize("way", every_night("active", "without pip", "without pip and uv"))
def test_the_command_of_a_notebook_installs_for_its_kernel(way: str, place: Place) -> None:
    stage(place, way)
    run = run_of("cpu-build", place.evidence(notebook=True))
    assert "python -m" not in run and run.startswith("import sys\n!")
    in_ipython(place, run)
    assert place.torch() == GOOD


def in_ipython(place: Place, cell: str) -> None:
    """Run `cell` in IPython, in this Python; the packages of IPython are those of the tests."""
    import IPython

    packages = Path(IPython.__file__).parents[1]
    folder = place.home / "ipython"
    folder.mkdir()
    for file in packages.iterdir():
        if not re.match(r"(torch|nvidia|uv|pip|setuptools|functorch)\b|.*(dist-info|\.pth)$", file.name):
            (folder / file.name).symlink_to(file)
    code = "import sys; from IPython.core.interactiveshell import InteractiveShell as S; r = S.instance().run_cell(sys.argv[1])"
    place.variables["PYTHONPATH"] = str(folder)
    place.ask(code + "\nassert r.success", cell)
    del place.variables["PYTHONPATH"]


# --- system Python, Python without wheels -------------------------------------------------------------

MANAGED = next((path for path in Path("/usr/bin").glob("python3.1[0-9]")
                if Path(f"/usr/lib/{path.name}/EXTERNALLY-MANAGED").exists()), None)  # fmt: skip


@pytest.mark.skipif(MANAGED is None, reason="this system does not own a Python")
@pytest.mark.parametrize("uv", every_night(False, True), ids=["without uv", "with uv"])
def test_beside_a_python_that_belongs_to_the_system_a_new_environment_is_made(uv: bool, place: Place) -> None:
    assert MANAGED
    place.python = MANAGED
    if uv:
        place.with_uv()
    e = place.evidence()
    assert "system-python" in places_of(e)
    if not uv and e.get("interpreter.ensurepip") is False:
        pytest.skip("needs the system's package venv")
    place.type(run_of("no-torch", e))
    place.python = place.home / "torch-env/bin/python"
    assert place.ask("import torch; print(torch.version.cuda)").strip() == "13.2"


@pytest.mark.nightly
def test_a_new_environment_becomes_a_kernel_of_the_notebook(place: Place) -> None:
    place.venv(place.home / "env").active()
    in_ipython(place, typed("{fresh}", placeholders(place.evidence(notebook=True))))
    place.python = place.home / "torch-env/bin/python"
    assert place.ask("import torch, ipykernel; print(torch.version.cuda)").strip() == "13.2"


@pytest.mark.nightly
def test_another_environment_becomes_a_kernel_of_the_notebook(place: Place) -> None:
    place.venv(place.home / "the other").with_cpu_build()
    other = str(place.python.parents[1])
    place.venv(place.home / "env")
    place.variables["VIRTUAL_ENV"] = other
    e = place.evidence(notebook=True)
    assert [found["ipykernel"] for found in e.get("interpreter.others")] == [False]
    run = run_of("other-python", e)
    assert run.startswith("~/'the other/bin/python' -m pip install ipykernel\n")
    place.type(run)
    assert run_of("other-python", place.evidence(notebook=True)) == run.splitlines()[1]
    place.type(run_of("other-python", place.evidence()).replace("cuda.is_available()", "version.cuda"))


OLD, NEW = other_pythons.python(9), other_pythons.python(12)


@pytest.mark.nightly
def test_uv_takes_the_newest_release_of_a_build(place: Place) -> None:
    """Where no release is named, the index of the build decides, not the newest release of all."""
    place.venv(place.home / "env").active()
    commands = install(place.evidence(), Shell(place.evidence()), Build("torch", "cu118"))
    place.type(commands)
    assert place.ask("import torch; print(torch.__version__)").strip() == "2.7.1+cu118"


@pytest.mark.skipif(OLD is None or NEW is None, reason="needs Python 3.9 and 3.12")
@pytest.mark.parametrize("way", ["uv", *every_night("its own uv", "another Python")])
def test_a_python_without_wheels_gets_an_environment_with_another(way: str, place: Place) -> None:
    assert OLD and NEW
    place.venv(place.home / "old", base=OLD)
    beside = place.home / "newer"
    beside.mkdir()
    (beside / "python3.12").symlink_to(NEW)
    place.variables["PATH"] = str(place.home / "empty")
    if way == "uv":
        place.with_uv()
    if way != "its own uv":
        place.with_path(beside)
    run = run_of("python-without-wheel", place.evidence())
    begins = {
        "uv": "uv venv --python 3.12",
        "its own uv": "~/old/bin/python -m uv venv --python 3.12",
        "another Python": "python3.12 -m venv",
    }
    assert f"\n{begins[way]} ~/torch-env\n" in f"\n{run}"
    if way == "its own uv":
        place.with_path(beside)  # uv would fetch that Python; here it finds it
    place.type(run)
    place.python = place.home / "torch-env/bin/python"
    assert place.ask("import sys, torch; print(sys.version_info[1], torch.version.cuda)").split() == [
        "12",
        "13.2",
    ]


# --- projects with a lock file ------------------------------------------------------------------------

_PROJECT = """
[project]
name = "lesson"
version = "0"
requires-python = ">=3.10"
dependencies = ["torch{pin}", "torchvision"]
"""
_CPU_INDEX = """
[tool.uv.sources]
torch = {{ index = "cpu" }}
torchvision = {{ index = "cpu" }}
[[tool.uv.index]]
name = "cpu"
url = "https://index.example/whl/cpu"
explicit = true
"""


@pytest.mark.parametrize(
    "pin, source, notebook",
    [
        ("==2.13.0", _CPU_INDEX, False),
        *(pytest.param("", "", one, marks=pytest.mark.nightly) for one in (False, True)),
    ],
    ids=["CPU index", "default index", "notebook"],
)
def test_a_uv_project_keeps_the_build(pin: str, source: str, notebook: bool, place: Place) -> None:
    place.with_uv()
    (place.folder / "pyproject.toml").write_text((_PROJECT + source).format(pin=pin))
    place.type(f"uv sync --python {sys.executable}")
    place.python = place.folder / ".venv/bin/python"
    (place.folder / "part").mkdir()
    place.folder = place.folder / "part"  # the project's file is found in the folders above, too
    e = place.evidence()
    assert {"uvproject", "no-pip"} <= places_of(e)
    run = run_of("cpu-build", e)
    assert "http" not in run.replace("'http.*'", "") and "reinstall" not in run
    if notebook:
        in_ipython(place, run_of("cpu-build", place.evidence(notebook=True)))
    else:
        place.type(run)
    assert place.torch() == GOOD
    place.type(
        "uv run python -c 'import torch; assert torch.version.cuda'\nuv sync\nuv lock --upgrade\nuv sync"
    )
    assert place.torch() == GOOD


# --- the doctor itself --------------------------------------------------------------------------------


def test_the_doctor_is_started_again_as_it_was(place: Place) -> None:
    place.venv(place.home / "my env")
    place.variables["PYTHONPATH"] = str(ROOT)
    assert "usage" in place.type(typed("{command} --help", placeholders(place.evidence())))
    words = [str(place.python), "-m", "torch_doctor", "--help"]
    e = place.evidence(caller={"command": words})
    assert "usage" in place.type(typed("{command}", placeholders(e)))
    assert typed("{command}", placeholders(e)) == "~/'my env/bin/python' -m torch_doctor --help"


def test_a_notebook_that_examines_another_python_gets_commands_for_that_one(place: Place) -> None:
    place.venv(place.home / "env").with_cpu_build()
    words = [sys.executable, "-m", "torch_doctor", "--python", str(place.python)]
    e = place.evidence(caller={"notebook": True, "examined": str(place.python), "command": words})
    assert run_of("cpu-build", e).startswith("~/env/bin/python -m pip install --upgrade uv\n")
    assert typed("{command} slow", placeholders(e)).endswith(
        " -m torch_doctor --python ~/env/bin/python slow"
    )


def test_a_line_of_a_notebook_stands_below_one_import() -> None:
    values = placeholders(Evidence({"caller": {"notebook": True}, "bus": {"os": "linux"}}))
    assert typed('env -u X {python} -c "1"\n{command}', values) == (
        'import sys\n!env -u X "{sys.executable}" -c "1"\n!"{sys.executable}" -m torch_doctor'
    )


# --- forms that are compared as text ------------------------------------------------------------------


@tabled
def test_a_path_is_typed_as_each_shell_of_windows_reads_it(
    executable: str, shell: str, typed_as: str
) -> None:
    here = {"interpreter__executable": executable, "interpreter__shell": shell}
    again = "--reinstall-package torch --reinstall-package torchvision torch==2.13.0 torchvision"
    install = f"{typed_as} -m uv pip install --torch-backend=cu132 {again}"
    assert (
        run_of("cpu-build", Evidence(on_windows(**here)))
        == f"{typed_as} -m pip install --upgrade uv\n{install}"
    )
    e = Evidence(on_windows(**here, interpreter__pip=False, interpreter__tools=["uv"]))
    argument = typed_as.removeprefix("& ").removeprefix(".\\")
    assert f"uv pip install --python {argument} " in run_of("cpu-build", e)


def test_what_hides_torch_is_renamed(place: Place) -> None:
    place.venv(place.home / "env").active()
    for file in (place.folder / "torch.py", place.folder / "torch/__init__.py"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
        e = place.evidence(pytorch={})
        e.found["interpreter"]["torch_file"] = str(file)
        place.type(run_of("shadowed", e))
        assert not file.exists() and not (place.folder / "torch").exists()


# --- which build --------------------------------------------------------------------------------------

BUILDS = tables("builds")
CARD = {"bus": {"os": "linux", "arch": "x86_64", "cards": [{"vendor": "0x10de"}]}}


def build(e: Evidence) -> str:
    """Return the build that is installed there."""
    package, tag, *new = fitting(e)
    return f"{package} {tag}{', new Python' if any(new) else ''}"


def machine(driver: int = 13000, capability: int = 86, version: str = "2.13.0", **more: Any) -> Evidence:
    """Return evidence of a machine with this driver, this card and this release of torch."""
    pytorch = {"imported": True, "version": version} if version else {"error": "x", "missing": True}
    devices = {"version": driver, "devices": [{"capability": capability}]}
    return Evidence(laid_over({"bus": {**CARD["bus"]}, "driver": devices, "pytorch": pytorch}, more))


@pytest.mark.parametrize("case", BUILDS, ids=lambda case: case["why"])
def test_a_build_fits_the_machine(case: dict[str, Any]) -> None:
    more = {path.replace(".", "__"): value for path, value in case.get("found", {}).items()}
    here = {key: case[key] for key in ("driver", "capability", "version") if key in case}
    assert build(machine(**here, **more)) == case["build"]


CASES = [
    (row["python"], row["capability"], driver, fits)
    for row in tables("builds", "python")
    for driver, fits in zip((11040, 12000, 12080, 13000)[-len(row["builds"]) :], row["builds"], strict=True)
]


@pytest.mark.parametrize("python, capability, driver, fits", CASES)
def test_where_only_the_python_stands_in_the_way_nothing_else_is_blamed(
    python: str, capability: int, driver: int, fits: str
) -> None:
    here = {"interpreter": {"python": f"{python}.4", "home": "/home/ada", "tools": ["uv"]}}
    assert build(machine(driver, capability, "1.13.1", **here)) == fits
    devices = {"driver": {"version": driver, "devices": [{"capability": capability}]}}
    old = Evidence(
        {**CARD, **devices, **here, "pytorch": {"imported": True, "version": "1.13.1", "cuda": None}}
    )
    for name, entry in catalogue().items():
        if not re.search(r"\{(install|add_torch|fresh)\}", str(entry.get("step"))):
            continue
        said = "\n".join(f"{step.text.en}\n{step.run}" for step in Cause.of(name, old).steps)
        assert "No build" not in said, name
        anew = f"has no wheel for Python {python}.4. Make a new environment" in said
        assert anew == (
            "new Python" in fits and name not in ("two-cudas", "python-without-wheel", "jetson")
        ), name
        assert not anew or ("uv venv --python 3.12" in said and "conda remove" not in said), name
    missing = Evidence({**CARD, **devices, **here, "pytorch": {"error": "x", "missing": True}})
    runs = [step.run for step in Cause.of("python-without-wheel", missing).steps]
    assert "uv venv " in runs[0]
    keeps = python in ("3.8", "3.9", "3.10") and "new Python" not in fits
    assert [fits.split()[0] in run for run in runs[1:]] == [True] * keeps, "the last release for this Python"


def test_what_serves_no_python_is_still_said() -> None:
    for python in ("3.8.4", "3.12.4"):
        machine = {**CARD, "driver": {"version": 13000, "devices": [{"capability": 37}]}}
        e = Evidence({**machine, "interpreter": {"python": python}, "pytorch": {"version": "1.13.1"}})
        for name in ("conda-cpu", "mixed-installers", "torch-broken", "two-cudas", "rocm-build", "cpu-build"):
            steps = Cause.of(name, e).steps
            assert ["No build of PyTorch serves" in step.text.en for step in steps] == [True], name


def test_nobody_with_a_gpu_is_told_to_install_the_cpu_build() -> None:
    for cuda, capability in ((13000, 86), (11080, 86), (13000, 37), (10020, 75), (11080, 120)):
        driver = {"version": cuda, "devices": [{"capability": capability}]}
        for notebook in (False, True):
            e = Evidence({**CARD, "driver": driver, "caller": {"notebook": notebook}})
            for name in catalogue():
                steps = [step for step in Cause.of(name, e).steps if "backend=cpu" in step.run]
                # Where no build serves the GPU, the CPU is offered as what it is.
                assert all("on the CPU" in step.text.en for step in steps), (name, cuda, capability)
