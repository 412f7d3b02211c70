"""What lessons import: a dozen documented names that cost nothing until they are used, and modules in good order."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from lesson_cells import calls, cells

import course_utils
from course_utils.processes import run_fresh

ROOT = Path(course_utils.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
HEAVY = ("matplotlib", "ipywidgets", "torch.distributed", "IPython", "psutil", "torch")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


TREES = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


# --- cost ---------------------------------------------------------------------------------------------


def test_importing_costs_next_to_nothing() -> None:
    """The issue allows 100 ms beyond torch (of this process, whatever others do); nothing heavy may come along at all."""
    code = (
        "import sys, time\n"
        "start = time.process_time()\n"
        "import course_utils\n"
        "print(time.process_time() - start)\n"
        "print(*sorted(sys.modules))\n"
    )
    runs = [run_fresh(code).splitlines() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    for heavy in HEAVY:
        assert heavy not in runs[0][1].split(), heavy


def test_measuring_loads_torch_and_nothing_else() -> None:
    """A script that uses the helpers outside notebooks needs neither plots nor widgets."""
    code = (
        "import sys, time, torch\n"
        "before = set(sys.modules)\n"
        "start = time.process_time()\n"
        "from course_utils import best_time, bi, ceilings, compare, machine, try_all_gpus, try_gpu\n"
        "print(time.process_time() - start)\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    runs = [run_fresh(code).splitlines() for _ in range(2)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    loaded = runs[0][1].split()
    for heavy in ("matplotlib", "ipywidgets", "torch.distributed", "IPython"):
        assert heavy not in loaded, heavy


def test_drawing_does_without_pyplot() -> None:
    code = (
        "import sys\n"
        "from course_utils.explorers import visible_devices\n"
        "visible_devices.EXPLORER.html(value='2,0', count=3)\n"
        "print('matplotlib.pyplot' in sys.modules)\n"
    )
    assert run_fresh(code) == "False"


# --- names --------------------------------------------------------------------------------------------


def test_few_names() -> None:
    assert 10 <= len(course_utils.__all__) <= 20
    assert dir(course_utils) == course_utils.__all__ == sorted(course_utils.__all__)


@pytest.mark.parametrize("name", course_utils.__all__)
def test_every_name_is_there(name: str) -> None:
    value = getattr(course_utils, name)
    assert value is getattr(course_utils, name), "loaded once"
    home = value.__name__ if inspect.ismodule(value) else value.__module__
    assert home == course_utils._HOMES[name]


def test_editors_see_the_same_names() -> None:
    spelled = {
        alias.asname
        for node in ast.walk(TREES["course_utils"])
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("course_utils")
        for alias in node.names
    }
    assert spelled == set(course_utils.__all__)


def test_a_typing_mistake_is_answered_with_the_list() -> None:
    with pytest.raises(AttributeError, match="'comparee'.*check, claim, compare"):
        course_utils.comparee  # noqa: B018
    with pytest.raises(ImportError):
        from course_utils import comparee  # type: ignore[attr-defined]  # noqa: F401


def test_what_the_lessons_import_exists() -> None:
    found = 0
    for cell in cells("code"):
        code = "\n".join("" if line.startswith(("%", "!")) else line for line in cell.text.splitlines())
        for node in ast.walk(ast.parse(code)):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] == "course_utils"
            ):
                for alias in node.names:
                    found += 1
                    assert hasattr(importlib.import_module(node.module), alias.name), (cell.id, alias.name)
    assert found > 20


# --- docstrings ---------------------------------------------------------------------------------------


def public_functions() -> Iterator[tuple[str, FunctionType]]:
    """Yield what lessons may call: the public face, and what they take from its two modules."""
    for name in course_utils.__all__:
        value = getattr(course_utils, name)
        if not inspect.ismodule(value):
            yield name, value
            continue
        for inner, function in vars(value).items():
            called = any(calls(f"{name}.{inner}"))
            if inspect.isfunction(function) and (called or inner in ("new", "show")):
                yield f"{name}.{inner}", function


PUBLIC = dict(public_functions())


def sections(doc: str) -> dict[str, str]:
    """Return the parts of a docstring: "" for its beginning, and one for each ``Args:``, ``Returns:`` …"""
    parts = re.split(r"^(Args|Returns|Raises):$", inspect.cleandoc(doc), flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def raised(function: Callable[..., Any]) -> set[str]:
    """Return the exceptions that a function's own body raises on purpose."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        node.exc.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
    }


def lacks(function: Callable[..., Any]) -> list[str]:
    """Return what the docstring of `function` fails to say."""
    doc = sections(function.__doc__ or "")
    signature = inspect.signature(function)
    wrong = []
    first = doc[""].strip().splitlines()[:1]
    if not first or not first[0].endswith((".", ":")) or len(first[0]) < 15:
        wrong.append("one line that says what it does")
    for parameter in signature.parameters:
        if f"`{parameter}`" not in doc[""] and not re.search(
            rf"^    {parameter}: \S", doc.get("Args", ""), re.M
        ):
            wrong.append(f"argument {parameter}")
    returns = signature.return_annotation not in (None, "None", inspect.Signature.empty)
    if returns and "Returns" not in doc and not re.match("Return|Pair|Measure", doc[""].strip()):
        wrong.append("what it returns")
    wrong += [f"raises {name}" for name in raised(function) if f"    {name}: " not in doc.get("Raises", "")]
    return wrong


def test_docstrings_are_looked_at() -> None:
    assert len(PUBLIC) > 20 and {"try_gpu", "claim", "figures.bars", "explorers.crossover"} <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_function_has_a_complete_docstring(name: str) -> None:
    assert lacks(PUBLIC[name]) == []


def undocumented(a: int) -> int:
    if a:
        raise ValueError("no")
    return a


def half_documented(a: int, b: int = 0) -> None:
    """Do something to `a` and say so."""
    if b:
        raise KeyError(b)


def test_an_incomplete_docstring_is_noticed() -> None:
    assert lacks(undocumented) == [
        "one line that says what it does", "argument a", "what it returns", "raises ValueError"
    ]  # fmt: skip
    assert lacks(half_documented) == ["argument b", "raises KeyError"]


@pytest.mark.parametrize("module", TREES)
def test_every_module_and_every_public_definition_has_a_docstring(module: str) -> None:
    tree = TREES[module]
    assert ast.get_docstring(tree), "the module itself"
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_"):
            continue
        assert ast.get_docstring(node), node.name
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                assert ast.get_docstring(method), f"{node.name}.{method.name}"


# --- order --------------------------------------------------------------------------------------------


def imported(node: ast.AST) -> list[str]:
    """Return the modules (and, for our package, module.name) that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports are not used here"
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def home(name: str, modules: set[str]) -> str | None:
    """Return the module of ours that `name` ("course_utils.figures.new") leads to, or None."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the import statements that run when a module is imported, not those inside functions."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def graph(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    modules = set(trees)
    edges = {
        module: {home(name, modules) for node in at_import(tree) for name in imported(node)} - {None, module}
        for module, tree in trees.items()
    }
    # The package's own module loads nothing by itself, so that naming it closes no circle.
    return {
        module: {target for target in targets if target != "course_utils"}
        for module, targets in edges.items()
    }  # type: ignore[misc]


def circle(edges: dict[str, set[str]]) -> list[str] | None:
    """Return one circle of modules that import each other, or None."""
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return path[path.index(module) :] + [module]
        if module in done:
            return None
        for target in sorted(edges.get(module, ())):
            if found := walk(target, [*path, module]):
                return found
        done.add(module)
        return None

    return next((found for module in sorted(edges) if (found := walk(module, []))), None)


def test_no_module_imports_itself_in_a_circle() -> None:
    edges = graph(TREES)
    assert edges["course_utils"] == set(), "the package itself loads nothing"
    assert sum(map(len, edges.values())) > 25, "the imports were not found"
    assert circle(edges) is None


def test_a_circle_is_noticed() -> None:
    trees = {
        "p": ast.parse(""),
        "p.a": ast.parse("from p.b import x"),
        "p.b": ast.parse("def f():\n  import p.a\nif 1:\n  from p import c"),
        "p.c": ast.parse("try:\n  import p.a\nexcept ImportError: pass"),
    }
    assert circle(graph(trees)) == ["p.a", "p.b", "p.c", "p.a"]
    trees["p.c"] = ast.parse("def f():\n  import p.a")
    assert circle(graph(trees)) is None


@pytest.mark.parametrize("module", TREES)
def test_the_package_stands_alone(module: str) -> None:
    """What learners install must not need the authors' tools or the tests."""
    allowed = {
        "torch",
        "numpy",
        "matplotlib",
        "ipywidgets",
        "IPython",
        "PIL",
        "filelock",
        "platformdirs",
        "sklearn",
        "psutil",
        "course_utils",
    }
    for node in ast.walk(TREES[module]):
        for name in imported(node):
            top = name.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{module} imports {name}"
