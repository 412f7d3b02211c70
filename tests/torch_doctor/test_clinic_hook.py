"""The card below a traceback, in a real kernel: the traceback stays as it was, and nothing is held, slowed or broken."""

import gc
import importlib
import json
import os
import time
import weakref
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from torch_doctor import hook
from torch_doctor.errors import catalogue, matching

ERROR = "CUDA out of memory. Tried to allocate 20.00 MiB"
OOM = f"raise RuntimeError({ERROR!r})"
SLOW = (
    "class Slow(Exception):\n    asked = 0\n"
    "    def __str__(self):\n        Slow.asked += 1\n        return 'x'\nraise Slow(Slow())"
)


def run(*cells: str) -> list[list[Any]]:
    """Run cells in a kernel as nbclient does and return their outputs."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, allow_errors=True, timeout=400, kernel_name="python3")
    client.execute(env=dict(os.environ))
    return [cell.outputs for cell in notebook.cells]


@pytest.fixture(scope="module")
def notebook() -> dict[str, list[Any]]:
    """Return the outputs of one notebook, by a name for each cell."""
    cells = {
        "without": OOM,
        "slow without": SLOW,
        "asked without": "print(Slow.asked)",
        "install": "from torch_doctor import hook\nhook.install(), hook.install(), hook.install()",
        "known": OOM,
        "unknown": "1/0",
        "syntax": "def f(:",
        "chained": "try:\n    1/0\nexcept ZeroDivisionError as e:\n    " + OOM.replace("\n", "") + " from e",
        "awaited": f"import asyncio\nawait asyncio.sleep(0)\n{OOM}",
        "magic": f"%%time\n{OOM}",
        "quiet": OOM + ";",
        "several": "class A(Exception):\n    pass\nprint('before')\n" + OOM,
        "slow": SLOW,
        "asked": "print(Slow.asked)",
        "broken": "from torch_doctor.errors import matching\nkeep = matching.find_cause\n"
        "def broken(*a, **k): raise SystemExit(3)\nmatching.find_cause = lambda *a, **k: 1/0\n" + OOM,
        "late": "def late(*a, **k): raise TimeoutError\nmatching.find_cause = late\n" + OOM,
        "restored": "matching.find_cause = keep\n" + OOM,
        "removed": "hook.remove()\nhook.remove()\n" + OOM,
    }
    return dict(zip(cells, run(*cells.values()), strict=True))


def kinds(outputs: list[Any]) -> list[str]:
    return [output.output_type for output in outputs]


def traceback(outputs: list[Any]) -> list[str]:
    return [
        [error.ename, error.evalue, *error.traceback] for error in outputs if error.output_type == "error"
    ][0]


@pytest.mark.parametrize(
    "names, expected",
    [
        ("known chained awaited quiet restored", ["error", "display_data"]),
        ("several", ["stream", "error", "display_data"]),
        ("without unknown syntax removed", ["error"]),
        ("broken late", ["error"]),  # a fault of the hook stays its own
    ],
)
def test_one_card_follows_a_known_error(
    names: str, expected: list[str], notebook: dict[str, list[Any]]
) -> None:
    assert {name: kinds(notebook[name]) for name in names.split()} == dict.fromkeys(names.split(), expected)


def test_a_card_is_in_both_languages(notebook: dict[str, list[Any]]) -> None:
    assert notebook["install"][0]["data"]["text/plain"] == "(True, True, True)"
    card = notebook["known"][1]["data"]
    assert "course-clinic" in card["text/html"] and "記憶體" in card["text/html"]
    assert card["text/plain"].startswith("Error clinic · 錯誤門診: CUDA out of memory.")


def test_the_traceback_is_the_one_that_would_have_been(notebook: dict[str, list[Any]]) -> None:
    def same(lines: list[str]) -> list[str]:  # the cells have numbers of their own
        return [line.split("\n", 1)[-1] if "Cell" in line else line for line in lines]

    assert same(traceback(notebook["without"])) == same(traceback(notebook["known"]))


def test_a_magic_that_swallows_nothing(notebook: dict[str, list[Any]]) -> None:
    assert "error" in kinds(notebook["magic"])


def test_the_text_of_an_error_is_not_asked_for_again(notebook: dict[str, list[Any]]) -> None:
    """The traceback itself asks once or twice; the hook must not add to that."""
    # Under load a line and its end can arrive as two outputs.
    asked, without = (
        "".join(output["text"] for output in notebook[name] if output.output_type == "stream").strip()
        for name in ("asked", "asked without")
    )
    assert asked == without != ""


def test_setting_up_installs_it_unless_told_otherwise() -> None:
    on, off = "from course_utils import setup\nsetup()", "setup(clinic=False)"
    variable = "import os\nos.environ['COURSE_CLINIC'] = 'off'\nsetup()"
    outputs = run(on, OOM, off, OOM, variable, OOM)
    assert kinds(outputs[1]) == ["error", "display_data"]
    assert kinds(outputs[3]) == kinds(outputs[5]) == ["error"]


def test_a_stored_notebook_with_a_card_is_valid(notebook: dict[str, list[Any]]) -> None:
    cell = new_code_cell(OOM, outputs=notebook["known"], execution_count=1)
    nbformat.validate(json.loads(nbformat.writes(new_notebook(cells=[cell]))))


# --- in this process ----------------------------------------------------------------------------------


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    yield shell
    InteractiveShell.clear_instance()


def test_outside_of_ipython_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    assert hook.install() is False
    hook.remove()


@pytest.mark.parametrize(
    ("value", "on"), [("off", False), ("OFF", False), ("0", False), ("on", True), ("", True)]
)
def test_the_variable_rules(shell: Any, monkeypatch: pytest.MonkeyPatch, value: str, on: bool) -> None:
    monkeypatch.setenv("COURSE_CLINIC", value)
    assert hook.install() is on
    assert len(hook._installed(shell)) == on


def test_other_hooks_are_left_alone(shell: Any) -> None:
    others = list(shell.events.callbacks["post_run_cell"])
    hook.install()
    hook.remove()
    assert shell.events.callbacks["post_run_cell"] == others


def test_a_module_that_was_loaded_again_replaces_its_hook(shell: Any) -> None:
    hook.install()
    old = hook._after_cell
    importlib.reload(hook)
    hook.install()
    assert hook._installed(shell) == [hook._after_cell] and hook._after_cell is not old


def test_nothing_of_the_error_is_held() -> None:
    """A tensor in a frame of the traceback must die with the traceback: that is what lesson 02 teaches to free."""

    class Big:
        pass

    def fail() -> None:
        big = Big()
        fail.watch = weakref.ref(big)  # type: ignore[attr-defined]
        raise RuntimeError(ERROR)

    def cell() -> None:
        try:
            fail()
        except RuntimeError as error:
            result = SimpleNamespace(error_in_exec=error, error_before_exec=None)
            with capture_output() as shown:
                hook._after_cell(result)
            assert shown.stdout or shown.outputs

    cell()
    gc.collect()
    assert fail.watch() is None  # type: ignore[attr-defined]


def test_a_card_takes_a_moment_only() -> None:
    result = SimpleNamespace(error_in_exec=RuntimeError(ERROR), error_before_exec=None)
    for read in (catalogue.entries, catalogue.searches, catalogue.expression):
        read.cache_clear()
    times = []
    for _ in range(5):
        start = time.process_time()
        with capture_output():
            hook._after_cell(result)
        times.append(time.process_time() - start)
    print(f"first {times[0] * 1000:.0f} ms, then {min(times[1:]) * 1000:.1f} ms")
    assert times[0] < 2 and min(times[1:]) < 0.1


def test_an_unknown_error_costs_next_to_nothing() -> None:
    matching.find_cause("x")
    result = SimpleNamespace(error_in_exec=ZeroDivisionError("division by zero"), error_before_exec=None)
    start = time.process_time()
    for _ in range(100):
        hook._after_cell(result)
    assert (time.process_time() - start) / 100 < 0.02


@pytest.mark.parametrize(
    "result", [None, SimpleNamespace(), SimpleNamespace(error_in_exec=3, error_before_exec=None)]
)
def test_a_strange_result_is_ignored(result: Any) -> None:
    hook._after_cell(result)
