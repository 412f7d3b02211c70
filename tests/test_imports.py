"""Who may import whom, what lessons import, and that the package works without its repository.

The layers, from the top: a lesson's room (`notebooks/lesson_05`), `notebooks/shared`, `course_utils`,
`practice_gpu`, `notebook_torchrun`, `torch_doctor`; below them the module `bilingual`, which imports the standard library only.
A module imports from its own layer or below, and no two modules import each other, not inside functions either.
The project that lesson 08 copies for its learner stands apart: it works without the course.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest
from hatchling.builders.wheel import WheelBuilder
from lesson_cells import cells

import course_utils

ROOT = Path(__file__).parents[1]
ROOMS = sorted(path.parent.name for path in (ROOT / "notebooks").glob("lesson_*/__init__.py"))
LIBRARIES = ["torch_doctor", "notebook_torchrun", "practice_gpu", "course_utils"]
OWN = [*LIBRARIES, "shared", *ROOMS]
PROJECT = {path.stem: path for path in sorted((ROOT / "notebooks/workers/forecast").glob("*.py"))}
STANDARD = sys.stdlib_module_names


@cache
def graph() -> grimp.ImportGraph:
    """Return who imports whom in the course, with the packages from outside as one module each."""
    return grimp.build_graph(
        *OWN, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


def imported(source: str) -> list[tuple[str, list[str]]]:
    """Return every import in a source: the module, and the names taken from it (none for `import x`)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(("." * node.level + (node.module or ""), [alias.name for alias in node.names]))
    return found


def package(module: str) -> str:
    return module.partition(".")[0]


def layer(module: str) -> int:
    """Return how high a module's package is; a module may import from lower packages and from its own."""
    below = [*LIBRARIES, "shared"]
    return len(below) if module.startswith("lesson_") else below.index(package(module))


def test_imports_point_down_and_never_in_a_circle() -> None:
    own = {module for module in graph().modules if package(module) in OWN}
    found = {module: graph().find_modules_directly_imported_by(module) & own for module in own}
    between = [(one, other) for one in own for other in found[one] if package(one) != package(other)]
    assert len(ROOMS) >= 7 and len(between) > 100, "the graph has lost its arrows"
    assert sorted(pair for pair in between if layer(pair[0]) <= layer(pair[1])) == []
    TopologicalSorter(found).prepare()  # raises where modules import each other
    needed = {package(name) for name, _ in imported((ROOT / "bilingual.py").read_text(encoding="utf-8"))}
    assert "html" in needed <= STANDARD, "the module below all needs no package"


def test_no_module_is_imported_by_its_name_in_a_string() -> None:
    """Only course_utils/lesson.py does that: it loads the room of the lesson that setup("05") names."""
    name = re.compile(rf"lesson_|^({'|'.join(LIBRARIES)}|shared)(\.\w+)+$")
    found = {}
    for path in (path for name in LIBRARIES for path in (ROOT / name).rglob("*.py")):
        tree, module = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
        # Neither docstrings nor the name of its own package: that is how a package finds its data files.
        left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strings = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out
        ]
        own = ".".join(module.parent.parts)
        if names := [text for text in strings if name.search(text) and text != own]:
            found[module.as_posix()] = names
    assert list(found) == ["course_utils/lesson.py"]


def test_every_imported_package_is_declared() -> None:
    """Learners install what pyproject.toml names; the tools and tests of authors are not among it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["zh-cn"]
    declared = {re.match(r"[\w-]+", text)[0] for text in needed} | {"ipython"}  # ipykernel's
    outside = {name for name in graph().modules if graph().is_module_squashed(name)}
    outside = {name for name in outside if package(name) not in {*OWN, *STANDARD, "bilingual"}}
    importers = {
        one for name in outside & {*PROJECT} for one in graph().find_modules_that_directly_import(name)
    }
    assert {package(name) for name in importers} == {"lesson_08"}, "only its room imports the project"
    homes = packages_distributions()
    used = {name: {home.lower() for home in homes.get(name, [])} for name in outside - {*PROJECT}}
    assert {"torch", "numpy"} <= {*used} and [name for name in used if not declared & used[name]] == []


# --- the project of lesson 08 --------------------------------------------------------------------------------

NEEDED = {"torch", "numpy", "pandas", "matplotlib", *STANDARD, *PROJECT}
OPTIONAL = {"tensorboard", "pynvml", "psutil", "torch.utils.tensorboard"}  # imported where they are used


def test_the_project_imports_itself_and_libraries_only() -> None:
    own = {}
    for name, path in PROJECT.items():
        source = path.read_text(encoding="utf-8")
        found = {module for module, _ in imported(source)}
        assert {package(one) for one in found - OPTIONAL} <= NEEDED
        at_the_top = {line.split()[1] for line in source.splitlines() if line.startswith(("import", "from"))}
        assert not at_the_top & OPTIONAL, f"{name}: an empty folder may not have it"
        own[name] = found & {*PROJECT}
    TopologicalSorter(own).prepare()  # no circle
    # Its folder comes first on the path: a name that a library uses would break that library.
    assert not {*PROJECT} & {*STANDARD, *OWN, "tools", "tests", *packages_distributions()}


# --- the public face -----------------------------------------------------------------------------------------


def test_lessons_import_the_whole_face_and_nothing_behind_it() -> None:
    used: set[str] = set()
    for cell in cells():
        for module, names in imported(cell.source):
            if package(module) == "course_utils":
                assert module == "course_utils" and names, f"{cell.id}: use `from course_utils import …`"
                used |= set(names)
            elif module.startswith("lesson_"):
                assert package(module) == f"lesson_{cell.lesson}", f"{cell.id}: another lesson's room"
    assert used == set(course_utils.__all__)


COST = """
import IPython.display, sys, time
start = time.process_time()
import torch
import gc; gc.disable()  # a collection of all that torch has made takes as long, whenever it happens
middle, before = time.process_time(), set(sys.modules)
import course_utils
print((time.process_time() - middle) / (middle - start), *set(sys.modules) - before)
"""


def test_importing_costs_next_to_nothing() -> None:
    """In a kernel that has imported torch: an eighth of torch's CPU time at most, which is about 0.1 s, on any machine.

    A limit in seconds would depend on what else the machine is doing. The fastest of three, if it needs so many.
    """
    # With compiled files, as on every start but the first.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    how = {"cwd": ROOT, "env": environment, "check": True, "text": True, "stdout": subprocess.PIPE}
    shares = []
    while len(shares) < 3 and min(shares, default=1.0) >= 1 / 8:
        share, *modules = subprocess.run([sys.executable, "-c", COST], **how).stdout.split()
        assert not {"matplotlib", "ipywidgets", "torch.distributed.run"} & set(modules)
        shares.append(float(share))
    assert min(shares) < 1 / 8, shares


# --- outside of the repository -------------------------------------------------------------------------------

USE = """
from pathlib import Path

import bilingual, course_utils, torch_doctor
from course_utils import facts, launch, setup, try_gpu
from torch_doctor import doctor, explain

for package in (bilingual, course_utils, torch_doctor):
    assert Path(package.__file__).is_relative_to(Path("installed").resolve()), package.__file__
setup("01")  # its room is in the package: there is no folder `notebooks` here
from course_utils.exercises import exercises_of
assert exercises_of("01") and Path("installed/course_utils/recordings").is_dir()
facts({"device": try_gpu()})
assert "no kernel image" in str(explain("RuntimeError: CUDA error: no kernel image is available for execution on the device"))
"""
USE_ALL = """
assert str(doctor())
run = launch("ranks.py", processes=2, show="quiet")
assert run.failure is None and sorted(run.lines) == [(0, "rank 0"), (1, "rank 1")], run
"""
RANKS = """
import torch.distributed as dist

dist.init_process_group("gloo")
print("rank", dist.get_rank())
dist.destroy_process_group()
"""


@pytest.mark.parametrize("program", [USE, pytest.param(USE + USE_ALL, marks=pytest.mark.nightly)])
def test_the_package_works_without_the_repository(program: str, tmp_path: Path) -> None:
    """Build the wheel, unpack it into a folder, and use it from there as a learner's own notebook would."""
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    zipfile.ZipFile(built).extractall(tmp_path / "installed")
    (tmp_path / "use.py").write_text(program, encoding="utf-8")
    (tmp_path / "ranks.py").write_text(RANKS, encoding="utf-8")
    variables = {"PYTHONPATH": str(tmp_path / "installed"), "COURSE_DATA_DIR": str(tmp_path / "data")}
    command, how = [sys.executable, "use.py"], {"cwd": tmp_path, "env": os.environ | variables}
    result = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=400, **how)
    assert result.returncode == 0, result.stdout + result.stderr
