"""Faults are planted one by one in copies of the notebooks, and every one must be reported.

The check tool reports faults of form and text, strict nbval what the cells do. Faults for the check tool are planted in
the small lesson, and nightly in all real ones. Faults that need a run are planted in the small lesson, and nightly a
changed output in the real ones.
"""

import base64
import copy
import io
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
import pytest
import small_lesson
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image
from tabled import tables

from tools.check import ROOT, Finding, check_file, fix
from tools.check.notebook import WIDGET_VIEW
from tools.notebook_file import canonical, code_hash, read

COLUMNS = ("cells", "executed", "compared", "silent", "exempt")  # of the summary
REAL = [path.name for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]
NAMES = ["small", *(pytest.param(name, marks=pytest.mark.nightly) for name in REAL)]

Plant = Callable[
    [NotebookNode], NotebookNode | None
]  # changes a notebook, returns the cell, or None for the file
Place = Callable[[NotebookNode], NotebookNode]  # a cell of a notebook


# --- places -------------------------------------------------------------------------------------------


def prose(notebook: NotebookNode) -> NotebookNode:
    """Return the second cell with a pair of language blocks (the first belongs to the title)."""
    return [c for c in notebook.cells if c.cell_type == "markdown" and '<div lang="zh-Hant">' in c.source][1]


def heading(notebook: NotebookNode) -> NotebookNode:
    return next(c for c in notebook.cells[1:] if c.cell_type == "markdown" and c.source.startswith("## "))


def html(cell: NotebookNode) -> NotebookNode:
    """Return the first output of a cell that has HTML, or an empty one."""
    return next((o.data for o in cell.get("outputs", []) if "text/html" in o.get("data", {})), NotebookNode())


def with_html(holds: Callable[[str], bool]) -> Place:
    """Return the place of the first code cell, not the set-up, whose HTML is so."""
    return lambda notebook: next(
        c
        for c in [c for c in notebook.cells if c.cell_type == "code"][1:]
        if holds(html(c).get("text/html", ""))
    )


shown = with_html(lambda text: bool(text) and "data:image" not in text)
translated = with_html(lambda text: 'lang="zh-Hant"' in text)
picture = with_html(lambda text: "data:image" in text)


# --- how to plant -------------------------------------------------------------------------------------


def substituted(text: str, pattern: str, new: str) -> str:
    text, times = re.subn(pattern, lambda _: new, text, count=1, flags=re.S)
    assert times, f"{pattern!r} is not there"
    return text


def edit(place: Place, change: Callable[[NotebookNode], object]) -> Plant:
    def plant(notebook: NotebookNode) -> NotebookNode:
        cell = place(notebook)
        change(cell)
        return cell

    return plant


def sub(place: Place, pattern: str, new: str) -> Plant:
    """Replace the first match of a pattern in a cell's source; the pattern must match."""
    return edit(place, lambda cell: cell.update(source=substituted(cell.source, pattern, new)))


def in_html(place: Place, pattern: str, new: str) -> Plant:
    """Replace the first match of a pattern in a stored HTML output."""
    return edit(
        place, lambda c: html(c).update({"text/html": substituted(html(c)["text/html"], pattern, new)})
    )


def add(place: Place, text: str) -> Plant:
    def change(cell: NotebookNode) -> None:
        cell.source += text
        if cell.cell_type == "code":  # as if it had been executed, so that no other rule answers
            cell.metadata.setdefault("course", NotebookNode()).ran = code_hash(cell.source)

    return edit(place, change)


def meta(place: Place, **entries: object) -> Plant:
    return edit(place, lambda cell: cell.metadata.update(nbformat.from_dict(entries)))


def output(place: Place, kind: str = "display_data", **what: object) -> Plant:
    return edit(place, lambda cell: cell.outputs.append(new_output(kind, **what)))


def printed(text: str, name: str = "stdout") -> Plant:
    return output(shown, "stream", name=name, text=text)


def in_file(change: Callable[[NotebookNode], object]) -> Plant:
    return lambda notebook: change(notebook) and None


def chinese(bad: str) -> Plant:
    """Add a sentence to a Chinese block."""

    def change(cell: NotebookNode) -> None:
        end = cell.source.index("</div>", cell.source.index('<div lang="zh-Hant">'))
        cell.source = cell.source[:end].rstrip("\n") + bad + "\n\n" + cell.source[end:]

    return edit(prose, change)


def never_run(cell: NotebookNode) -> None:
    cell.execution_count, cell.outputs = None, []


def same_id(notebook: NotebookNode) -> NotebookNode:
    notebook.cells[2].id = notebook.cells[1].id
    return notebook.cells[2]


def png(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


# --- faults that the check tool finds: rule, name, how to plant it ------------------------------------

WHITE, RAMP = png(Image.new("RGB", (20, 20), "white")), png(Image.linear_gradient("L"))
ZH, EN = r'<div lang="zh-Hant">.*?</div>\n?', r'<div lang="en">\n\n'
ALT = "A chart · 一張圖表"
REMOTE = f'<img alt="{ALT}" src="https://example.org/x.png">'
ACTIVE_MARKUP, ACTIVE_MARKDOWN, CODE = (
    {
        name: text.replace("{remote}", REMOTE).replace("{alt}", ALT).replace("{white}", WHITE)
        for name, text in table.items()
    }
    for table in tables("test_planted_faults").values()
)
JAVASCRIPT = {"application/javascript": "1", "text/plain": "1"}
MARKDOWN_OUTPUT = {"text/markdown": "<script>1</script>", "text/plain": "1"}

# Each rule for a text is planted once: test_text_rules.py has all that it reports.
CHECK_FAULTS: dict[str, dict[str, Plant]] = {
    "translation": {
        "missing translation": sub(prose, ZH, ""),
        "empty translation": sub(prose, ZH, '<div lang="zh-Hant">\n\n\n\n</div>'),
        "English in the Chinese block": sub(prose, ZH, '<div lang="zh-Hant">\n\nTo be translated.\n\n</div>'),
        "missing in code": add(shown, "\nbi(en='Only English.')"),
        "missing in an output": in_html(translated, r'<(\w+) lang="zh-Hant">.*?</\1>', ""),
    },
    "language": {
        "Chinese in the English block": sub(prose, r"\n\n</div>", "張量。\n\n</div>"),
        "text outside the blocks": add(prose, "\n\nThis is only in English.\n"),
        "unknown language": sub(prose, 'lang="zh-Hant"', 'lang="zh-Hans"'),
    },
    "html": {"unclosed block": sub(prose, r"</div>(?!.*</div>)", "")},
    "blank lines": {"no blank line in a block": sub(prose, EN, '<div lang="en">\n')},
    "heading": {
        "in one language": sub(heading, r" · [^\n]*", ""),
        "inside a block": sub(prose, EN, '<div lang="en">\n\n## A\n\n'),
        "wrong section number": in_file(sub(heading, r"\.\d+", ".99")),
    },
    "punctuation": {"half-width punctuation": chinese("這裡,是逗號。")},
    "spacing": {"no space before Latin": chinese("用GPU 計算。")},
    "simplified": {"Simplified character": chinese("这是张量。")},
    "glossary": {
        "Mainland term": chinese("放進內存。"),
        "term missing in the Chinese": sub(prose, r"\n\n</div>", " Mind the bandwidth.\n\n</div>"),
    },
    "bold": {"next to Chinese": chinese("**GPU（顯示卡）**是晶片。")},
    "tag": {
        "forbidden": add(prose, "\n\n<svg></svg>\n"),
        "bare hidden": add(prose, "\n\n<p hidden></p>\n"),
        "GitHub alert": add(prose, "\n\n> [!NOTE]\n"),
        "footnote": add(prose, "[^1]"),
    },
    "active content": {f"{name} in text": add(prose, f"\n\n{it}\n") for name, it in ACTIVE_MARKDOWN.items()}
    | {f"{name} in an output": in_html(shown, r"\Z", it) for name, it in ACTIVE_MARKUP.items()}
    | {
        "handler in a picture": in_html(picture, "<img ", '<img onerror="alert(1)" '),
        "JavaScript output": output(shown, data=JAVASCRIPT),
        "tag in a Markdown output": output(shown, data=MARKDOWN_OUTPUT),
    },
    "link": {
        "broken": add(prose, "\n\n[…](no_such_file.ipynb)\n"),
        "absolute": add(prose, "\n\n[…](/etc/hosts)\n"),
    },
    "alternative text": {
        "missing": in_html(picture, r'\salt="[^"]*"', ""),
        "in one language": in_html(picture, r' · [^"]*(?=")', ""),
        "picture without a place for it": output(picture, data={"image/png": RAMP}),
    },
    "picture": {
        "broken": in_html(picture, r"(?<=base64,)[A-Za-z0-9+/=]+", WHITE[:40]),
        "blank": in_html(picture, r"(?<=base64,)[A-Za-z0-9+/=]+", WHITE),
    },
    "stale": {"changed after it ran": sub(shown, r"\Z", "\n# changed later")},
    "order": {
        "never-run cell": edit(shown, never_run),
        "execution order": edit(shown, lambda c: c.update(execution_count=99)),
    },
    "stderr": {"warning": printed("a warning\n", "stderr")},
    "error": {"error output": output(shown, "error", ename="ValueError", evalue="no", traceback=[])},
    "machine path": {
        "in an output": printed("in /home/eva/course\n"),
        "in the code": add(shown, "\nopen('/Users/eva/data')"),
    },
    "code": {name: add(shown, f"\n{line}") for name, line in CODE.items()},
    "length": {"too long a cell": add(shown, "\n0" * 30)},
    "lost output": {"in a loop": add(shown, "\nfor i in range(2):\n    tables.facts({'a': i})")},
    "constant claim": {"true function": add(shown, "\nclaim('1', lambda: True, needs='cuda')")},
    "noise": {
        "object address": printed("<object at 0x7f0123456789>\n"),
        "in a cell's metadata": meta(shown, scrolled=True),
        "in an output's metadata": edit(picture, lambda c: c.outputs[0].metadata.update(a=1)),
        "in the notebook's metadata": in_file(lambda nb: nb.metadata.update(widgets={})),
    },
    "widget": {
        "stored": output(shown, data={WIDGET_VIEW: {}, "text/plain": "⟨w⟩"}),
        "without a static form": output(shown, data={"text/plain": "IntSlider(value=3)"}),
    },
    "slideshow": {
        "a section within a slide": in_file(lambda nb: nb.cells[0].metadata.pop("slideshow")),
        "a slide that begins no section": meta(shown, slideshow={"slide_type": "slide"}),
        "a slide type that hides": meta(shown, slideshow={"slide_type": "-"}),
    },
    "cell id": {"missing": edit(prose, lambda c: c.pop("id")), "twice": same_id},
    "lesson": {
        "missing minutes": in_file(lambda nb: nb.metadata.course.pop("minutes")),
        "no minutes for the exercises": in_file(lambda nb: nb.metadata.course.minutes.update(exercises=None)),
        "another lesson's number": in_file(lambda nb: nb.metadata.course.update(lesson="77")),
        "title not as in the heading": in_file(lambda nb: nb.metadata.course.title.update(en="Other")),
    },
    "exempt": {
        "without a reason": meta(shown, tags=["nbval-ignore-output"]),
        "skipped cell": meta(shown, tags=["nbval-skip"]),
    },
    "size": {"too large a file": printed("x" * 1_000_001)},
    "format": {"raw cell": edit(prose, lambda c: c.update(cell_type="raw"))},
}
FIXED = {  # by `fix`
    "blank lines": ["no blank line in a block"],
    "spacing": ["no space before Latin"],
    "noise": ["in a cell's metadata", "in an output's metadata", "in the notebook's metadata"],
    "slideshow": ["a section within a slide", "a slide type that hides"],
    "cell id": ["missing", "twice"],
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small lesson, executed, in a folder that stands for the repository."""
    return small_lesson.write(tmp_path_factory.mktemp("small"))


@dataclass(frozen=True)
class Bench:
    """Where the faulted copies of one notebook are written, one after the other."""

    stored: str  # the notebook without a fault
    target: Path
    root: Path
    findings: frozenset[Finding]  # of the copy without a fault

    def planted(self, plant: Plant) -> tuple[NotebookNode, NotebookNode | None]:
        """Write the notebook with a fault, and return it and the cell where the fault is."""
        notebook = nbformat.v4.reads(self.stored)
        try:
            cell = plant(notebook)
        except StopIteration:
            pytest.skip(f"{self.target.name} has no place for this fault")
        self.target.write_text(canonical(notebook), encoding="utf-8")
        return notebook, cell

    def check(self) -> list[Finding]:
        """Return the findings that are new."""
        return [finding for finding in check_file(self.target, self.root) if finding not in self.findings]


@pytest.fixture(scope="module")
def bench_of(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bench]:
    """Return a function that copies a notebook ("small" or a file name) beside what its links point to, once."""

    @cache
    def make(name: str) -> Bench:
        original = small if name == "small" else ROOT / "notebooks" / name
        root = tmp_path_factory.mktemp("copy")
        # No symbolic links: Windows allows them to administrators only.
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "test-results", "mine")
        shutil.copytree(original.parents[1], root, ignore=ignored, dirs_exist_ok=True)
        target = root / "notebooks" / original.name
        return Bench(target.read_text(encoding="utf-8"), target, root, frozenset(check_file(target, root)))

    return make


@pytest.fixture
def bench(name: str, bench_of: Callable[[str], Bench]) -> Bench:
    """Return the copy of the notebook that a test's parameter names."""
    return bench_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_copy_without_a_fault_is_clean(bench: Bench) -> None:
    assert [str(finding) for finding in bench.findings] == []
    bench.target.write_text(bench.stored, encoding="utf-8")
    assert not fix(bench.target)
    assert bench.target.read_text(encoding="utf-8") == bench.stored


@pytest.mark.parametrize(
    "rule, fault", [(rule, name) for rule, faults in CHECK_FAULTS.items() for name in faults]
)
@pytest.mark.parametrize("name", NAMES)
def test_check_reports(rule: str, fault: str, bench: Bench) -> None:
    notebook, cell = bench.planted(CHECK_FAULTS[rule][fault])
    new = bench.check()
    answers = [finding for finding in new if finding.rule == rule]
    assert answers, f"not reported; instead: {[str(finding) for finding in new]}"
    if cell is not None:
        place = "file" if rule == "size" else f"cell {notebook.cells.index(cell)} ("
        assert any(place in finding.place for finding in answers), [str(finding) for finding in answers]


def test_check_reports_another_json_form(bench_of: Callable[[str], Bench]) -> None:
    bench = bench_of("small")
    bench.target.write_text(bench.stored.rstrip("\n"), encoding="utf-8")
    assert [finding.rule for finding in bench.check()] == ["canonical"]


@pytest.mark.parametrize("rule, fault", [(rule, name) for rule, names in FIXED.items() for name in names])
@pytest.mark.parametrize("name", NAMES)
def test_fix(rule: str, fault: str, bench: Bench) -> None:
    """What is mechanical is fixed, and a second run changes nothing."""
    bench.planted(CHECK_FAULTS[rule][fault])
    assert bench.check()
    assert fix(bench.target)
    assert [str(finding) for finding in bench.check()] == []
    assert not fix(bench.target), "a second run changes the file again"


def test_fix_never_fakes_an_execution(bench_of: Callable[[str], Bench]) -> None:
    bench = bench_of("small")
    never, changed = edit(shown, never_run), sub(at("bytes"), r"\Z", "\n# changed")
    bench.planted(lambda notebook: never(notebook) and changed(notebook))
    fix(bench.target)
    assert sorted(finding.rule for finding in bench.check()) == ["order", "stale"]


# --- faults that nbval finds --------------------------------------------------------------------------


def at(name: str) -> Place:
    return lambda notebook: next(cell for cell in notebook.cells if cell.id == name)


def stored(name: str, old: str, new: str) -> Plant:
    """Change what is stored as the cell's output, in every form of it."""

    def change(cell: NotebookNode) -> None:
        holders = [holder for output in cell.outputs for holder in (output, output.get("data", {}))]
        found = [(holder, key) for holder in holders for key in ("text", "text/plain", "text/html")]
        found = [(holder, key) for holder, key in found if old in holder.get(key, "")]
        assert found, f"{old!r} is not stored"
        for holder, key in found:
            holder[key] = holder[key].replace(old, new)

    return edit(at(name), change)


def swap(notebook: NotebookNode) -> None:
    cells = notebook.cells
    one, other = (cells.index(at(name)(notebook)) for name in ("bytes", "device"))
    cells[one], cells[other] = cells[other], cells[one]


def older_version(notebook: NotebookNode) -> None:
    at("exercise")(notebook).outputs.append(copy.deepcopy(at("note")(notebook).outputs[0]))


def exempt_all(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        cell.metadata.update(tags=["nbval-ignore-output"], course={"exempt": "no reason is good enough"})


DIFFERS = "Cell outputs differ"
# The cell still prints an honest device, but the tensor that goes on is on another one.
WRONG_DEVICE = "y, x = x, x.to('meta')\nprint('y lives on', y.device)"
NEVER = "Never: " + small_lesson.STATEMENT

# Name: the cell that must fail (none: no cell fails, but the run does), words of the message, how to plant it.
RUN_FAULTS: dict[str, tuple[str, str, Plant]] = {
    "changed output text": ("bytes", DIFFERS, stored("bytes", "bytes", "bits")),
    "changed number in an exact fact": ("bytes", DIFFERS, stored("bytes", "4000", "4001")),
    "changed fact in the code": ("bytes", DIFFERS, sub(at("bytes"), "10, 100", "10, 101")),
    "device that no machine has": ("device", DIFFERS, sub(at("device"), r"try_gpu\(\)", "'meta'")),
    "wrong device under an honest output": (
        "device-claim", "ClaimError", sub(at("device"), r"x = x.to\(try_gpu\(\)\)", WRONG_DEVICE),
    ),
    "claim that does not hold": ("ratio-claim", "ClaimError", sub(at("ratio-claim"), "least=2", "least=20")),
    "lower threshold, which still holds": ("ratio-claim", DIFFERS, sub(at("ratio-claim"), "least=2", "least=1")),
    "changed statement": ("ratio-claim", DIFFERS, stored("ratio-claim", small_lesson.STATEMENT, NEVER)),
    "changed translation in the code": ("note", DIFFERS, sub(at("note"), "總和是對的", "總和是錯的")),
    "missing output": ("note", "Unexpected output fields", edit(at("note"), lambda c: c.update(outputs=[]))),
    "output of an older version": ("exercise", f"{DIFFERS}|Missing output", older_version),
    "changed alternative text": ("picture", DIFFERS, sub(at("picture"), "A grey ramp", "A ramp")),
    "cells in another order": ("device", "NameError", swap),
    "exception": ("exercise", "ZeroDivisionError", sub(at("exercise"), r"2 \+ 2", "2 / 0")),
    "warning on stderr": (
        "exercise", "On stderr came:\n.*UserWarning: no", sub(at("exercise"), r"\A", "import warnings\nwarnings.warn('no')\n"),
    ),
    "never-run cell": ("measure", "never executed", edit(at("measure"), never_run)),
    "skipped cell": ("picture", "nbval-skip is forbidden", meta(at("picture"), tags=["nbval-skip"])),
    "exempt without a reason": ("measure", "needs a reason", meta(at("measure"), tags=["nbval-ignore-output"])),
    "nbval comment": ("measure", "comments are not used", sub(at("measure"), r"\A", "# NBVAL_SKIP\n")),
    "nothing compared": ("", "nothing was compared", exempt_all),
}  # fmt: skip
# By day one fault of each cell, so that all are in one copy, and the one that needs the whole notebook.
BY_DAY = [
    "changed output text", "wrong device under an honest output", "claim that does not hold", "missing output",
    "warning on stderr", "exempt without a reason", "skipped cell", "nothing compared",
]  # fmt: skip
BY_NIGHT = [name for name in RUN_FAULTS if name not in BY_DAY]


def run_nbval(paths: list[Path], *options: str) -> tuple[int, dict[tuple[str, int], str], str]:
    """Run strict nbval over notebooks of one folder.

    Returns:
        The exit status, the message of each failed cell by notebook and position among the code cells, and
        everything that was printed.
    """
    report = paths[0].with_suffix(".xml")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "--color=no", "-q",
         f"--junitxml={report}", *options, *map(str, paths)],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=600,
        env={name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"},
    )  # fmt: skip
    assert report.exists(), done.stdout + done.stderr
    failed: dict[tuple[str, int], str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        for failure in case.iter("failure"):
            notebook = (case.get("classname") or "").rsplit(".", 1)[0].rsplit(".", 1)[-1]
            failed[notebook, int((case.get("name") or "").removeprefix("Cell "))] = failure.text or ""
    return done.returncode, failed, done.stdout + done.stderr


def code_position(notebook: NotebookNode, name: str) -> int:
    return [cell.id for cell in notebook.cells if cell.cell_type == "code"].index(name)


def touched(clean: NotebookNode, planted: NotebookNode) -> set[str]:
    """Return the cells that were changed or moved."""
    pairs = zip(clean.cells, planted.cells, strict=True)
    return {name for one, other in pairs if one != other for name in (one.id, other.id)}


@dataclass
class Planted:
    """A copy of the small lesson with faults in cells of their own, so that each must be reported for itself."""

    notebook: NotebookNode
    faults: list[str]
    cells: set[str]


def copies(small: Path, names: list[str]) -> list[Planted]:
    """Plant faults in few copies: every run of a notebook starts a kernel."""
    clean = read(small)
    made: list[Planted] = []
    for name in names:
        cell, _, plant = RUN_FAULTS[name]
        alone = read(small)
        plant(alone)
        cells = touched(clean, alone) | ({cell} - {""})
        one = next((one for one in made if not one.cells & cells), None)
        if one is None:
            made.append(one := Planted(read(small), [], set()))
        plant(one.notebook)
        one.faults.append(name)
        one.cells |= cells
    return made


def dead(folder: Path) -> Path:
    """Write a notebook whose kernel dies in its second cell."""
    cells = [cell("print(1)", 1, "1\n"), cell("import os\nos._exit(1)", 2), cell("print(2)", 3, "2\n")]
    nbformat.write(new_notebook(cells=cells), folder / "dead.ipynb")
    return folder / "dead.ipynb"


def cell(source: str, count: int, output: str = "") -> NotebookNode:
    outputs = [new_output("stream", name="stdout", text=output)] if output else []
    return new_code_cell(source, execution_count=count, outputs=outputs)


@dataclass
class SmallRuns:
    """What strict nbval reported about the small lesson: failed cells by notebook and position, and all it printed."""

    failed: dict[tuple[str, int], str]
    printed: str
    status: int
    place: dict[str, tuple[str, int | None]]  # of a fault, by its name: the notebook and the cell's position


def run_copies(small: Path, folder: Path, names: list[str], *others: Path) -> SmallRuns:
    """Run copies of the small lesson with these faults, and other notebooks of the folder."""
    paths = list(others)
    small_lesson.write_room(folder)
    place: dict[str, tuple[str, int | None]] = {}
    for number, one in enumerate(copies(small, names)):
        paths.append(folder / f"faults{number}.ipynb")
        paths[-1].write_text(canonical(one.notebook), encoding="utf-8")
        for name in one.faults:
            must_fail = RUN_FAULTS[name][0]
            place[name] = paths[-1].stem, code_position(one.notebook, must_fail) if must_fail else None
    status, failed, printed = run_nbval(paths)
    return SmallRuns(failed, printed, status, place)


@pytest.fixture(scope="module")
def small_runs(small: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallRuns:
    """Run the copies with the faults by day, the one without a fault, and a kernel that dies."""
    folder = tmp_path_factory.mktemp("nbval")
    shutil.copy(small, folder / "clean.ipynb")
    return run_copies(small, folder, BY_DAY, folder / "clean.ipynb", dead(folder))


@pytest.fixture(scope="module")
def more_runs(small: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallRuns:
    return run_copies(small, tmp_path_factory.mktemp("nbval"), BY_NIGHT)


def test_nbval_passes_the_lesson_without_a_fault(small_runs: SmallRuns) -> None:
    assert not [place for place in small_runs.failed if place[0] == "clean"]
    row = re.search(r"^clean\.ipynb((?: +\d+){5}) +[\d.]+$", small_runs.printed, re.M)
    assert row, small_runs.printed
    counts = dict(zip(COLUMNS, map(int, row[1].split()), strict=True))
    assert counts == {"cells": 10, "executed": 10, "compared": 9, "silent": 0, "exempt": 1}


def judge_fault(name: str, runs: SmallRuns) -> None:
    failed, (notebook, position) = runs.failed, runs.place[name]
    must_fail, words, _ = RUN_FAULTS[name]
    mine = {place: message for (where, place), message in failed.items() if where == notebook}
    assert runs.status == pytest.ExitCode.TESTS_FAILED
    if position is None:
        assert not mine
        assert f"FAILED {notebook}.ipynb: {words}" in runs.printed
        return
    assert position in mine, f"cell {must_fail} passed; failed: {mine}"
    assert re.search(words, mine[position]), mine[position]


@pytest.mark.parametrize("name", BY_DAY)
def test_nbval_reports(name: str, small_runs: SmallRuns) -> None:
    judge_fault(name, small_runs)


@pytest.mark.nightly
@pytest.mark.parametrize("name", BY_NIGHT)
def test_nbval_reports_every_other_fault(name: str, more_runs: SmallRuns) -> None:
    judge_fault(name, more_runs)


def test_nbval_notices_a_dead_kernel_at_once(small_runs: SmallRuns) -> None:
    """And not at the time limit of 300 seconds."""
    assert "The kernel died in this cell" in small_runs.failed["dead", 1]
    assert "Kernel dead" in small_runs.failed["dead", 2]
    assert "FAILED dead.ipynb: 2 cells never ran" in small_runs.printed
    row = re.search(r"dead\.ipynb(?: +\d+){5} +([\d.]+)", small_runs.printed)
    assert row and float(row[1]) < 150, "the dead kernel was noticed only near the time limit"


@pytest.mark.nightly
def test_nbval_ends_an_endless_cell(tmp_path: Path) -> None:
    cells = [cell("print(1)", 1, "1\n"), cell("import time\nwhile True: time.sleep(1)", 2)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "endless.ipynb")
    _, failed, _ = run_nbval([tmp_path / "endless.ipynb"], "--nbval-cell-timeout=10")
    assert "Timeout of 10 seconds" in failed["endless", 1]


@pytest.mark.nightly
@pytest.mark.parametrize("name", REAL)
def test_nbval_reports_a_changed_output_of_a_real_notebook(name: str, tmp_path: Path) -> None:
    """A stored text is changed; later cells are cut off, because they take minutes."""
    ignored = shutil.ignore_patterns(".*", "mine")
    shutil.copytree(ROOT / "notebooks", tmp_path, dirs_exist_ok=True, ignore=ignored)
    notebook = read(ROOT / "notebooks" / name)
    textual = [
        (position, output.data)
        for position, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        if "text/plain" in output.get("data", {})
        and "nbval-ignore-output" not in cell.metadata.get("tags", [])
    ]
    position, data = textual[1]  # the first after the set-up
    data["text/plain"] = "planted " + data["text/plain"]
    path = tmp_path / f"planted_{name}"  # beside the others, which lesson 00 lists
    expected = {(path.stem, code_position(notebook, notebook.cells[position].id))}
    notebook.cells = notebook.cells[: position + 1]
    path.write_text(canonical(notebook), encoding="utf-8")
    _, failed, printed = run_nbval([path])
    assert set(failed) == expected, printed
