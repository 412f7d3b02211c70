"""Faults are planted one by one in copies of the small lesson, and every one must be reported.

The check tool reports faults of form and text, strict nbval what the cells do.
"""

import base64
import copy
import io
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pytest
import small_lesson
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image
from sample import sample
from tabled import tables

from tools.check import ROOT, check_file, fix
from tools.notebook_file import canonical, code_hash, read

TABLES = tables("test_planted_faults")
# Of the small lesson in the summary: cells, executed, compared, silent, exempt; and with the faults of `run`.
COUNTS, FAULTY = (10, 10, 9, 0, 1), (10, 10, 5, 1, 2)
ALT = "A chart · 一張圖表"


def png(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


FILLED = {
    "{remote}": f'<img alt="{ALT}" src="https://example.org/x.png">',
    "{alt}": ALT,
    "{white}": png(Image.new("RGB", (20, 20), "white")),
    "{ramp}": png(Image.linear_gradient("L")),
    "{large}": "x" * 1_000_001,
    "None": None,
}


def filled(value: Any) -> Any:
    """Return what a table gives, with its placeholders replaced."""
    if isinstance(value, dict):
        return {key: filled(one) for key, one in value.items()}
    if not isinstance(value, str) or value in FILLED:
        return FILLED.get(value, value) if isinstance(value, str) else value
    for name in ("{remote}", "{alt}", "{white}"):
        value = value.replace(name, FILLED[name])
    return value


def merge(into: NotebookNode, given: dict[str, Any]) -> None:
    for key, value in given.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = nbformat.from_dict(value)


def replaced(text: str, pattern: str, new: str) -> str:
    text, times = re.subn(pattern, lambda _: new, text, count=1, flags=re.S)
    assert times, f"{pattern!r} is not there"
    return text


def plant(notebook: NotebookNode, fault: dict[str, Any]) -> int | None:
    """Change a notebook as the table says, and return the number of the cell where the fault is."""
    fault, cells = filled(fault), notebook.cells
    at = next((at for at, cell in enumerate(cells) if cell.id == fault["at"]), None)
    cell = notebook if at is None else cells[at]
    htmls = [o.data for o in cell.get("outputs", []) if "text/html" in o.get("data", {})]
    match fault:
        case {"old": pattern, "new": new}:
            cell.source = replaced(cell.source, pattern, new)
        case {"html": pattern, "new": new}:
            htmls[0]["text/html"] = replaced(htmls[0]["text/html"], pattern, new)
        case {"stored": old, "new": new}:
            stored = str(cell.outputs)
            for holder in (part for output in cell.outputs for part in (output, output.get("data", {}))):
                texts = {key: text.replace(old, new) for key, text in holder.items() if isinstance(text, str)}
                holder.update(texts)
            assert str(cell.outputs) != stored, f"{old!r} is not stored"
        case {"add": text}:
            cell.source += text
            if cell.cell_type == "code":  # as if it had been executed, so that no other rule answers
                cell.metadata.setdefault("course", NotebookNode()).ran = code_hash(cell.source)
        case {"set": given}:
            merge(cell, given)
        case {"drop": path}:
            *above, last = path.split(".")
            for key in above:
                cell = cell[key]
            del cell[last]
        case {"output": given}:
            cell.outputs.append(new_output(given.pop("output_type", "display_data"), **given))
        case {"output_of": name}:
            cell.outputs.append(copy.deepcopy(next(c for c in cells if c.id == name).outputs[0]))
        case {"before": name}:
            cells.insert(next(i for i, c in enumerate(cells) if c.id == name), cells.pop(at))
    return at


# --- faults that the check tool finds -----------------------------------------------------------------

CHECK_FAULTS = {
    (rule, name): fault for rule, faults in TABLES["check"].items() for name, fault in faults.items()
}
for name, text in TABLES["active_markdown"].items():
    CHECK_FAULTS["active content", f"{name} in text"] = {"at": "facts", "add": f"\n\n{text}\n"}
for name, text in TABLES["active_markup"].items():
    CHECK_FAULTS["active content", f"{name} in an output"] = {
        "at": "device-claim",
        "html": r"\Z",
        "new": text,
    }
FIXED = [
    ("blank lines", "no blank line in a block"),
    ("spacing", "no space before Latin"),
    ("noise", "in a cell's metadata"),
    ("noise", "in an output's metadata"),
    ("noise", "in the notebook's metadata"),
    ("cell id", "missing"),
    ("cell id", "twice"),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small lesson, executed, in a folder that stands for the repository."""
    return small_lesson.write(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def target(small: Path) -> Path:
    """Where the faulted copies of the small lesson are written, one after the other."""
    return small.with_name("01_copy.ipynb")


def planted(small: Path, target: Path, *faults: dict[str, Any]) -> int | None:
    """Write a copy with faults; return the number of the cell of the last one."""
    notebook = read(small)
    places = [plant(notebook, fault) for fault in faults]
    target.write_text(canonical(notebook), encoding="utf-8")
    return places[-1] if places else None


def check(target: Path) -> list[str]:
    return [str(finding) for finding in check_file(target, target.parents[1])]


def test_the_copy_without_a_fault_is_clean(small: Path, target: Path) -> None:
    planted(small, target)
    assert check(target) == [] and not fix(target)
    target.write_text(target.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")
    (finding,) = check(target)
    assert " : canonical : " in finding, "another form of JSON"


@pytest.mark.parametrize("rule, fault", CHECK_FAULTS)
def test_check_reports(rule: str, fault: str, small: Path, target: Path) -> None:
    about = CHECK_FAULTS[rule, fault]
    at = planted(small, target, about)
    place = f"cell {at} (" if at is not None and "place" not in about else "file"
    assert [line for line in check(target) if f" : {rule} : " in line and place in line], check(target)


@pytest.mark.parametrize("rule, fault", FIXED)
def test_fix(rule: str, fault: str, small: Path, target: Path) -> None:
    """What is mechanical is fixed, and a second run changes nothing."""
    planted(small, target, CHECK_FAULTS[rule, fault])
    assert check(target) and fix(target)
    assert check(target) == [] and not fix(target), "a second run changes the file again"


def test_fix_never_fakes_an_execution(small: Path, target: Path) -> None:
    changed = {"at": "bytes", "old": r"\Z", "new": "\n# changed"}
    planted(small, target, CHECK_FAULTS["order", "never-run cell"], changed)
    fix(target)
    assert sorted(line.split(" : ")[1] for line in check(target)) == ["order", "stale"]


# --- faults that nbval finds --------------------------------------------------------------------------


def run_nbval(
    paths: list[Path], pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[tuple[str, int], str], str]:
    """Run strict nbval over notebooks of one folder, of which some fail, in this process, which has PyTorch already.

    Returns:
        The message of each failed cell by notebook and position among the code cells, and everything that was printed.
    """
    report = paths[0].with_suffix(".xml")
    options = ["-p", "no:cacheprovider", "--color=no", "-q", f"--junitxml={report}", *map(str, paths)]
    plugins = [
        one
        for one in pytestconfig.pluginmanager.get_plugins()
        if getattr(one, "__file__", "") == str(ROOT / "conftest.py")
    ]
    with patch.dict(os.environ):  # the run sets variables of its own
        status = pytest.main(options, plugins)
    printed = "".join(capsys.readouterr())
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    failed: dict[tuple[str, int], str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        for failure in case.iter("failure"):
            notebook = (case.get("classname") or "").rsplit(".", 1)[0].rsplit(".", 1)[-1]
            failed[notebook, int((case.get("name") or "").removeprefix("Cell "))] = failure.text or ""
    return failed, printed


def copies(small: Path, faults: dict[str, dict[str, Any]]) -> list[tuple[NotebookNode, list[str]]]:
    """Plant faults of different cells in one copy, since every run of a notebook starts a kernel."""
    made: list[tuple[NotebookNode, list[str], set[str]]] = []
    for name, fault in faults.items():
        cells = {fault["at"], fault["fails"], fault.get("before", fault["at"])}
        free = (one for one in made if not one[2] & cells)
        one = next(free, None) or (read(small), [], set())
        if one not in made:
            made.append(one)
        plant(one[0], fault)
        one[1].append(name)
        one[2].update(cells)
    return [(notebook, names) for notebook, names, _ in made]


def ran(path: Path, *sources: tuple[str, str]) -> NotebookNode:
    """Write a notebook of these sources, with what each has printed, and return it."""
    cells = [new_code_cell(source, execution_count=at) for at, (source, _) in enumerate(sources, 1)]
    for cell, (_, text) in zip(cells, sources, strict=True):
        cell.outputs = [new_output("stream", name="stdout", text=text)] * bool(text)
    nbformat.write(made := new_notebook(cells=cells), path)
    return made


def dead(folder: Path) -> Path:
    """Write a notebook whose kernel dies in its second cell."""
    ran(folder / "dead.ipynb", ("print(1)", "1\n"), ("import os\nos._exit(1)", ""), ("print(2)", "2\n"))
    return folder / "dead.ipynb"


def nothing_compared(folder: Path) -> Path:
    """Write a notebook without a fault in a cell, in which nothing is compared, not even a clock that has stopped."""
    made = ran(path := folder / "nothing.ipynb", ("x = 1", ""), ("print(1)", "2\n"))
    clock = {"text/html": '<div class="course-launch-live"></div>', "text/plain": "launch"}
    made.cells[0].outputs = [new_output("display_data", clock)]
    made.cells[1].metadata = nbformat.from_dict(
        {"tags": ["nbval-ignore-output"], "course": {"exempt": "no reason is good enough"}}
    )
    nbformat.write(made, path)
    return path


@pytest.mark.parametrize("which", sample(["run", "run_at_night"], ["run"]))
def test_nbval_reports(
    which: str,
    small: Path,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each fault, and a dead kernel at once, not at the time limit of 300 seconds; what has no fault passes."""
    small_lesson.write_room(tmp_path)
    paths, place = [dead(tmp_path), nothing_compared(tmp_path)], {}
    if which == "run_at_night":  # by day the lessons themselves pass
        paths.append(Path(shutil.copy(small, tmp_path / "clean.ipynb")))
    for number, (notebook, names) in enumerate(copies(small, TABLES[which])):
        paths.append(tmp_path / f"faults{number}.ipynb")
        paths[-1].write_text(canonical(notebook), encoding="utf-8")
        code = [cell.id for cell in notebook.cells if cell.cell_type == "code"]
        place |= {name: (paths[-1].stem, code) for name in names}
    failed, printed = run_nbval(paths, pytestconfig, capsys)

    for name, fault in TABLES[which].items():
        words, (notebook, code) = fault.get("words", "Cell outputs differ"), place[name]
        message = failed.get((notebook, code.index(fault["fails"])), "the cell passed")
        assert re.search(words, message), (name, message)

    rows = {stem: tuple(map(int, counts.split()))
            for stem, counts in re.findall(r"^(\w+)\.ipynb((?: +\d+){5}) +[\d.]+$", printed, re.M)}  # fmt: skip
    assert rows["nothing"] == (2, 2, 0, 1, 1) and "FAILED nothing.ipynb: nothing was compared" in printed
    assert not {"nothing", "clean"} & {stem for stem, _ in failed}, printed
    assert rows.get("clean") == (COUNTS if which == "run_at_night" else None), printed
    assert which == "run_at_night" or rows["faults0"] == FAULTY, printed

    assert "The kernel died in this cell" in failed["dead", 1] and "Kernel dead" in failed["dead", 2]
    assert "FAILED dead.ipynb: 2 cells never ran" in printed
    row = re.search(r"dead\.ipynb(?: +\d+){5} +([\d.]+)", printed)
    assert row and float(row[1]) < 150, "the dead kernel was noticed only near the time limit"
