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
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest
from hatchling.builders.wheel import WheelBuilder
from lesson_cells import cells, without_magics

import course_utils
from tools.written import script_in

ROOT = Path(__file__).parents[1]
ROOMS = sorted(path.parent.name for path in (ROOT / "notebooks").glob("lesson_*/__init__.py"))
LIBRARIES = ["course_utils", "notebook_torchrun", "practice_gpu", "torch_doctor"]
OWN = [*LIBRARIES, "shared", *ROOMS]
PROJECT = sorted((ROOT / "notebooks" / "workers" / "forecast").glob("*.py"))
MODULES = {path.stem for path in PROJECT}  # of the project; only lesson 08 imports them
NEEDED = {"torch", "numpy", "pandas", "matplotlib", *sys.stdlib_module_names}
OPTIONAL = {"tensorboard", "pynvml", "psutil", "torch.utils.tensorboard"}  # imported where they are used


def imports(source: str) -> Iterator[tuple[str, list[str], bool]]:
    """Yield every import: the module, the names taken from it (none for `import x`), and whether it is in a function."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, [], id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            yield "." * node.level + (node.module or ""), names, id(node) in inside


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports."""
    return {module for module, _, _ in imports(path.read_text(encoding="utf-8"))}


# --- layers and cycles ---------------------------------------------------------------------------------------


def layer(module: str) -> int:
    """Return how high a module's package is; a module may import from lower packages and from its own."""
    package = module.split(".")[0]
    below = ["torch_doctor", "notebook_torchrun", "practice_gpu", "course_utils", "shared"]
    return len(below) if package.startswith("lesson_") else below.index(package)


@cache
def graph() -> grimp.ImportGraph:
    """Return who imports whom in the course, with the packages from outside as one module each."""
    return grimp.build_graph(
        *OWN, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


def test_imports_point_down_and_never_in_a_circle() -> None:
    assert len(ROOMS) >= 7
    own = sorted(module for module in graph().modules if module.split(".")[0] in OWN)
    found = {module: graph().find_modules_directly_imported_by(module) & {*own} for module in own}
    between = {
        (one, other) for one in own for other in found[one] if one.split(".")[0] != other.split(".")[0]
    }
    assert len(between) > 100, "the graph has lost its arrows"
    assert sorted(pair for pair in between if layer(pair[0]) <= layer(pair[1])) == []
    TopologicalSorter(found).prepare()  # raises where modules import each other


def test_the_module_below_all_needs_no_package() -> None:
    needed = imported(ROOT / "bilingual.py")
    assert "html" in needed and {name.partition(".")[0] for name in needed} <= sys.stdlib_module_names


def names_of_modules(source: str, package: str = "") -> list[str]:
    """Return the strings in `source` with which it could import a module of the course by its name.

    Docstrings do not count, nor does the name of its own `package`: that is how a package finds its data files.
    """
    tree = ast.parse(source)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]
    name = re.compile(rf"lesson_|^({'|'.join(LIBRARIES)}|shared)(\.\w+)+$")
    return [text for text in strings if name.search(text) and text != package]


def test_no_module_is_imported_by_its_name_in_a_string() -> None:
    """Only course_utils/lesson.py does that: it loads the room of the lesson that setup("05") names."""
    found = {}
    for path in (path for name in LIBRARIES for path in (ROOT / name).rglob("*.py")):
        module = path.relative_to(ROOT)
        found[module.as_posix()] = names_of_modules(path.read_text("utf-8"), ".".join(module.parent.parts))
    assert found.pop("course_utils/lesson.py"), "the rooms are loaded somewhere else"
    assert {module: names for module, names in found.items() if names} == {}


def test_every_imported_package_is_declared() -> None:
    """Learners install what pyproject.toml names; the tools and tests of authors are not among it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["zh-cn"]
    declared = {re.match(r"[\w-]+", text)[0] for text in needed} | {"ipython"}  # ipykernel's
    outside = {name for name in graph().modules if graph().is_module_squashed(name)}
    outside -= {
        *OWN,
        "bilingual",
        *sys.stdlib_module_names,
        *(name for name in outside if name.split(".")[0] in OWN),
    }
    importers = {name: graph().find_modules_that_directly_import(name) for name in outside & MODULES}
    assert not [name for names in importers.values() for name in names if not name.startswith("lesson_08")]
    outside -= MODULES
    homes = packages_distributions()
    unknown = {name for name in outside if not declared & {home.lower() for home in homes.get(name, [])}}
    assert unknown == set()
    assert {"torch", "numpy"} <= outside


# --- the project of lesson 08 --------------------------------------------------------------------------------


def foreign(source: str, modules: set[str]) -> list[str]:
    """Return what a module of the project imports although an empty folder may not have it, or has it too late."""
    found = []
    for name, _, inside in imports(source):
        top = name.partition(".")[0]
        if {name, top} & OPTIONAL:
            found += [] if inside else [f"{name} at the top"]
        elif top not in NEEDED | modules:
            found.append(name)
    return found


def test_the_project_imports_itself_and_libraries_only() -> None:
    assert {
        path.name: found for path in PROJECT if (found := foreign(path.read_text("utf-8"), MODULES))
    } == {}
    assert foreign("import torch, other\nimport psutil", MODULES) == ["other", "psutil at the top"]
    TopologicalSorter({path.stem: MODULES & imported(path) for path in PROJECT}).prepare()  # no circle


def test_no_module_of_the_project_hides_another() -> None:
    """Its folder comes first on the path: a name that a library uses would break that library."""
    assert not MODULES & {*sys.stdlib_module_names, *OWN, "tools", "tests", *packages_distributions()}


# --- the public face -----------------------------------------------------------------------------------------


def test_lessons_import_the_whole_face_and_nothing_behind_it() -> None:
    used: set[str] = set()
    for cell in cells("code"):
        if script_in(cell.text):
            continue
        for module, names, _ in imports(without_magics(cell.text)):
            top = module.partition(".")[0]
            if top == "course_utils":
                assert module == top and names, (
                    f"{cell.id} imports {module}; use `from course_utils import …`"
                )
                used |= set(names)
            elif top.startswith("lesson_"):
                assert top == f"lesson_{cell.lesson}", f"{cell.id} imports {module}, another lesson's room"
    assert used == set(course_utils.__all__)


def test_importing_costs_next_to_nothing() -> None:
    """In a kernel that has imported torch: an eighth of torch's CPU time at most, which is about 0.1 s, on any machine.

    A limit in seconds would depend on what else the machine is doing. The fastest of three, if it needs so many.
    """
    code = (
        "import IPython.display, sys, time\n"
        "start = time.process_time()\n"
        "import torch\n"
        "import gc; gc.disable()\n"  # a collection of all that torch has made takes as long, whenever it happens
        "middle, before = time.process_time(), set(sys.modules)\n"
        "import course_utils\n"
        "print((time.process_time() - middle) / (middle - start), *set(sys.modules) - before)\n"
    )
    # With compiled files, as on every start but the first.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    shares = []
    while len(shares) < 3 and min(shares, default=1.0) >= 1 / 8:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, text=True)
        share, *modules = done.stdout.split()
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
