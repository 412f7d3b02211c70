"""Faults are planted one by one in copies of the notebooks, and every one must be reported.

The check tool reports faults of form and text, strict nbval what the cells do. Faults for the check tool are planted in
the small lesson and in one real lesson, another one every day, and nightly in all of them. Faults that need a run are
planted in the small lesson, and a changed output in the real one.
"""

from __future__ import annotations

import base64
import copy
import datetime
import io
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
import pytest
import small_lesson
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from tools.check import ROOT, Finding, check_file, fix
from tools.check.notebook import WIDGET_VIEW
from tools.notebook_file import canonical, code_hash, read

COLUMNS = ("cells", "executed", "compared", "silent", "exempt")  # of the summary
REAL = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


# --- places -------------------------------------------------------------------------------------------


def prose(notebook: NotebookNode) -> NotebookNode:
    """Return the second cell with a pair of language blocks (the first belongs to the title)."""
    cells = [c for c in notebook.cells if c.cell_type == "markdown" and '<div lang="zh-Hant">' in c.source]
    return cells[1]


def heading(notebook: NotebookNode) -> NotebookNode:
    return next(c for c in notebook.cells[1:] if c.cell_type == "markdown" and c.source.startswith("## "))


def shown(notebook: NotebookNode) -> NotebookNode:
    """Return a code cell with HTML output and without a picture, and not the set-up cell."""
    cells = [c for c in notebook.cells if c.cell_type == "code"][1:]
    return next(
        c
        for c in cells
        if any(
            "text/html" in o.get("data", {}) and "data:image" not in o.data["text/html"] for o in c.outputs
        )
    )


def translated(notebook: NotebookNode) -> NotebookNode:
    """Return a code cell whose HTML output speaks both languages; not the set-up cell."""
    cells = [c for c in notebook.cells if c.cell_type == "code"][1:]
    return next(
        c
        for c in cells
        if any("text/html" in o.get("data", {}) for o in c.outputs)
        and 'lang="zh-Hant"' in html(c)["text/html"]
    )


def html(cell: NotebookNode) -> NotebookNode:
    return next(o.data for o in cell.outputs if "text/html" in o.get("data", {}))


def picture(notebook: NotebookNode) -> NotebookNode:
    return next(
        c
        for c in notebook.cells
        if c.cell_type == "code"
        and any("data:image" in o.get("data", {}).get("text/html", "") for o in c.outputs)
    )


# --- faults that the check tool finds -----------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A fault: how to plant it (returns the cell, or None for the file), and the rule that must answer."""

    name: str
    rule: str
    plant: Callable[[NotebookNode], NotebookNode | None]


def chinese(bad: str) -> Callable[[NotebookNode], NotebookNode]:
    """Plant a sentence at the end of a Chinese block."""

    def plant(notebook: NotebookNode) -> NotebookNode:
        cell = prose(notebook)
        at = cell.source.index("</div>", cell.source.index('<div lang="zh-Hant">'))
        cell.source = cell.source[:at].rstrip("\n") + bad + "\n\n" + cell.source[at:]
        return cell

    return plant


def replaced(place: Callable, pattern: str, new: str) -> Callable[[NotebookNode], NotebookNode]:
    """Plant by replacing the first match of a pattern in a cell's source; the pattern must match."""

    def plant(notebook: NotebookNode) -> NotebookNode:
        cell = place(notebook)
        cell.source, times = re.subn(pattern, lambda _: new, cell.source, count=1, flags=re.S)
        assert times, f"{pattern!r} is not in the cell"
        return cell

    return plant


def appended(place: Callable, text: str) -> Callable[[NotebookNode], NotebookNode]:
    def plant(notebook: NotebookNode) -> NotebookNode:
        cell = place(notebook)
        cell.source += text
        if cell.cell_type == "code":  # as if it had been executed, so that no other rule answers
            cell.metadata.setdefault("course", NotebookNode()).ran = code_hash(cell.source)
        return cell

    return plant


def changed(
    place: Callable, change: Callable[[NotebookNode], object]
) -> Callable[[NotebookNode], NotebookNode]:
    def plant(notebook: NotebookNode) -> NotebookNode:
        cell = place(notebook)
        change(cell)
        return cell

    return plant


def in_file(change: Callable[[NotebookNode], object]) -> Callable[[NotebookNode], None]:
    def plant(notebook: NotebookNode) -> None:
        change(notebook)

    return plant


def in_html(place: Callable, pattern: str, new: str) -> Callable[[NotebookNode], NotebookNode]:
    """Plant by replacing the first match of a pattern in a stored HTML output."""

    def plant(notebook: NotebookNode) -> NotebookNode:
        cell = place(notebook)
        data = html(cell)
        data["text/html"], times = re.subn(pattern, lambda _: new, data["text/html"], count=1, flags=re.S)
        assert times, f"{pattern!r} is not in the output"
        return cell

    return plant


def never_run(cell: NotebookNode) -> None:
    cell.execution_count, cell.outputs = None, []


def png(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def stream(name: str, text: str) -> Callable[[NotebookNode], None]:
    return lambda cell: cell.outputs.append(new_output("stream", name=name, text=text))


def same_id(notebook: NotebookNode) -> NotebookNode:
    notebook.cells[2].id = notebook.cells[1].id
    return notebook.cells[2]


WHITE = png(Image.new("RGB", (20, 20), "white"))
DATA = r"(?<=base64,)[A-Za-z0-9+/=]+"
ERROR = new_output("error", ename="ValueError", evalue="no", traceback=[])
PLAIN_PNG = new_output("display_data", data={"image/png": png(Image.linear_gradient("L"))})
HIDING = {"slideshow": {"slide_type": "-"}}
A_SECTION = {"slideshow": {"slide_type": "slide"}}
A_WIDGET = new_output("display_data", data={WIDGET_VIEW: {}, "text/plain": "⟨w⟩"})
ONLY_TEXT = new_output("display_data", data={"text/plain": "IntSlider(value=3)"})

ACTIVE = "active content"
ALT = "A chart · 一張圖表"
REMOTE = f'<img alt="{ALT}" src="https://example.org/x.png">'
ACTIVE_MARKUP = {
    "script": "<script>alert(1)</script>",
    "frame": '<iframe srcdoc="x"></iframe>',
    "remote picture": REMOTE,
    "handler": f'<img alt="{ALT}" src="data:image/png;base64,{WHITE}" onerror="alert(1)">',
    "handler without quotation marks": "<p onclick=alert(1)>1</p>",
    "handler after a slash": '<p/onclick="alert(1)">1</p>',
    "handler in an unfinished tag": '<p onclick="alert(1)"',
    "script as a link": '<a href="javascript:alert(1)">1</a>',
    "script as a disguised link": '<a href=" Java&#10;Script:alert(1)">1</a>',
    "page as a link": '<a href="data:text/html,1">1</a>',
    "form": '<form action="https://example.org"></form>',
    "drawing": "<svg></svg>",
    "comment": "<!-- 1 -->",
    "address in a style": '<th style="background:url(https://example.org/x)">1</th>',
    "style": "<style>p {color: red}</style>",
}
JAVASCRIPT = new_output("display_data", data={"application/javascript": "1", "text/plain": "1"})
MARKDOWN_OUTPUT = new_output("display_data", data={"text/markdown": "<script>1</script>", "text/plain": "1"})

CHECK_FAULTS = [
    # two languages
    Fault("missing translation", "translation", replaced(prose, r'<div lang="zh-Hant">.*?</div>\n?', "")),
    Fault(
        "empty translation",
        "translation",
        replaced(prose, r'<div lang="zh-Hant">.*?</div>', '<div lang="zh-Hant">\n\n\n\n</div>'),
    ),
    Fault(
        "English in the Chinese block",
        "translation",
        replaced(
            prose,
            r'<div lang="zh-Hant">.*?</div>',
            '<div lang="zh-Hant">\n\nStill to be translated.\n\n</div>',
        ),
    ),
    Fault("Chinese in the English block", "language", replaced(prose, r"\n\n</div>", "張量。\n\n</div>")),
    Fault("text outside the blocks", "language", appended(prose, "\n\nThis is only in English.\n")),
    Fault("unknown language", "language", replaced(prose, 'lang="zh-Hant"', 'lang="zh-Hans"')),
    Fault("unclosed block", "html", replaced(prose, r"</div>(?!.*</div>)", "")),
    Fault(
        "no blank line in a block",
        "blank lines",
        replaced(prose, r'<div lang="en">\n\n', '<div lang="en">\n'),
    ),
    Fault("heading in one language", "heading", replaced(heading, r" · [^\n]*", "")),
    Fault(
        "heading inside a block",
        "heading",
        replaced(prose, r'<div lang="en">\n\n', '<div lang="en">\n\n## A\n\n'),
    ),
    Fault("wrong section number", "heading", in_file(lambda nb: replaced(heading, r"\.\d+", ".99")(nb))),
    Fault("translation missing in code", "translation", appended(shown, "\nbi(en='Only English.')")),
    Fault(
        "translation missing in an output",
        "translation",
        in_html(translated, r'<(\w+) lang="zh-Hant">.*?</\1>', ""),
    ),
    # Chinese as written in Taiwan
    Fault("half-width punctuation", "punctuation", chinese("這裡,是逗號。")),
    Fault("half-width brackets", "punctuation", chinese("張量 (tensor) 是資料。")),
    Fault("curly quotation marks", "punctuation", chinese("這是“引號”。")),
    Fault("no space before Latin", "spacing", chinese("用GPU 計算。")),
    Fault("Simplified character", "simplified", chinese("这是张量。")),
    Fault("Simplified word in shared characters", "simplified", chinese("以后再說。")),
    Fault("Mainland term", "glossary", chinese("放進內存。")),
    Fault(
        "term missing in the Chinese",
        "glossary",
        replaced(prose, r"\n\n</div>", " Mind the bandwidth.\n\n</div>"),
    ),
    Fault("bold next to Chinese", "bold", chinese("**GPU（顯示卡）**是晶片。")),
    # what JupyterLab does not render
    Fault("forbidden tag", "tag", appended(prose, "\n\n<svg></svg>\n")),
    Fault("bare hidden", "tag", appended(prose, "\n\n<p hidden></p>\n")),
    Fault("GitHub alert", "tag", appended(prose, "\n\n> [!NOTE]\n")),
    Fault("footnote", "tag", appended(prose, "[^1]")),
    # what could run or load something in a reader's browser
    Fault("script in a Markdown cell", ACTIVE, appended(prose, "\n\n<script>alert(1)</script>\n")),
    Fault("script beside code", ACTIVE, appended(prose, "\n\n<p>`<script>alert(1)</script>`\n</p>\n")),
    Fault("handler in a Markdown cell", ACTIVE, appended(prose, '\n\n<p onclick="alert(1)"></p>\n')),
    Fault("script as a link", ACTIVE, appended(prose, "\n\n[…](javascript:alert(1))\n")),
    Fault("script as an encoded link", ACTIVE, appended(prose, "\n\n[…](java&#115;cript:alert(1))\n")),
    Fault("script as a short link", ACTIVE, appended(prose, "\n\n<javascript:alert(1)>\n")),
    Fault("remote picture", ACTIVE, appended(prose, f"\n\n![{ALT}](https://example.org/x.png)\n")),
    Fault("remote picture of this scheme", ACTIVE, appended(prose, f"\n\n![{ALT}](//example.org/x.png)\n")),
    *(
        Fault(f"{name} in an output", ACTIVE, in_html(shown, r"\Z", planted_markup))
        for name, planted_markup in ACTIVE_MARKUP.items()
    ),
    Fault("handler in a picture", ACTIVE, in_html(picture, "<img ", '<img onerror="alert(1)" ')),
    Fault(
        "tag in what the notebook tests do not compare",
        ACTIVE,
        in_html(shown, r"\Z", f'<div class="measured-block" lang="en"><p>{REMOTE}</p></div>'),
    ),
    Fault(
        "handler in what the notebook tests do not compare",
        ACTIVE,
        in_html(shown, r"\Z", '<div class="measured-block" lang="en"><p onclick="alert(1)">1</p></div>'),
    ),
    Fault("JavaScript output", ACTIVE, changed(shown, lambda c: c.outputs.append(JAVASCRIPT))),
    Fault("tag in a Markdown output", ACTIVE, changed(shown, lambda c: c.outputs.append(MARKDOWN_OUTPUT))),
    # links and pictures
    Fault("broken link", "link", appended(prose, "\n\n[…](no_such_file.ipynb)\n")),
    Fault("absolute link", "link", appended(prose, "\n\n[…](/etc/hosts)\n")),
    Fault("missing alternative text", "alternative text", in_html(picture, r'\salt="[^"]*"', "")),
    Fault("alternative text in one language", "alternative text", in_html(picture, r' · [^"]*(?=")', "")),
    Fault(
        "picture without a place for the text",
        "alternative text",
        changed(picture, lambda c: c.outputs.append(PLAIN_PNG)),
    ),
    Fault("broken picture", "picture", in_html(picture, DATA, WHITE[:40])),
    Fault("blank picture", "picture", in_html(picture, DATA, WHITE)),
    # executed, in order, fresh
    Fault("stale output", "stale", replaced(shown, r"\Z", "\n# changed later")),
    Fault("never-run cell", "order", changed(shown, never_run)),
    Fault("execution order", "order", changed(shown, lambda c: c.update(execution_count=99))),
    Fault("stderr", "stderr", changed(shown, stream("stderr", "a warning\n"))),
    Fault("error output", "error", changed(shown, lambda c: c.outputs.append(ERROR))),
    Fault(
        "machine path in an output", "machine path", changed(shown, stream("stdout", "in /home/eva/course\n"))
    ),
    Fault("machine path in the code", "machine path", appended(shown, "\nopen('/Users/eva/data')")),
    Fault("object address", "noise", changed(shown, stream("stdout", "<object at 0x7f0123456789>\n"))),
    # code that nbval does not understand
    Fault("trailing semicolon", "code", appended(shown, "\n1;")),
    Fault("clear_output", "code", appended(shown, "\nclear_output()")),
    Fault("plain tqdm", "code", appended(shown, "\nfrom tqdm import tqdm")),
    Fault("%timeit", "code", appended(shown, "\n%timeit 1")),
    Fault("nbval comment", "code", appended(shown, "\n# NBVAL_IGNORE_OUTPUT")),
    Fault("too long a cell", "length", appended(shown, "\n0" * 30)),
    # results that nobody sees, claims that cannot be false
    Fault("lost output", "lost output", appended(shown, "\nfacts({'a': 1})\n0")),
    Fault(
        "lost output in a loop",
        "lost output",
        appended(shown, "\nfor i in range(2):\n    tables.facts({'a': i})"),
    ),
    Fault("claim that is true", "constant claim", appended(shown, "\nclaim('1', True)")),
    Fault(
        "claim with a true function",
        "constant claim",
        appended(shown, "\nclaim('1', lambda: True, needs='cuda')"),
    ),
    Fault(
        "claim with a number", "constant claim", appended(shown, "\nclaim('1', value=2 * 3.0, at_least=5)")
    ),
    # metadata and form
    Fault("noise in a cell's metadata", "noise", changed(shown, lambda c: c.metadata.update(scrolled=True))),
    Fault(
        "noise in an output's metadata",
        "noise",
        changed(picture, lambda c: c.outputs[0].metadata.update(a=1)),
    ),
    Fault("noise in the notebook's metadata", "noise", in_file(lambda nb: nb.metadata.update(widgets={}))),
    Fault("stored widget", "widget", changed(shown, lambda c: c.outputs.append(A_WIDGET))),
    Fault("widget without a static form", "widget", changed(shown, lambda c: c.outputs.append(ONLY_TEXT))),
    Fault("a section within a slide", "slideshow", in_file(lambda nb: nb.cells[0].metadata.pop("slideshow"))),
    Fault(
        "a slide that begins no section", "slideshow", changed(shown, lambda c: c.metadata.update(A_SECTION))
    ),
    Fault("a slide type that hides", "slideshow", changed(shown, lambda c: c.metadata.update(HIDING))),
    Fault("missing cell id", "cell id", changed(prose, lambda c: c.pop("id"))),
    Fault("cell id twice", "cell id", same_id),
    Fault("missing lesson metadata", "lesson", in_file(lambda nb: nb.metadata.course.pop("minutes"))),
    Fault("another lesson's number", "lesson", in_file(lambda nb: nb.metadata.course.update(lesson="77"))),
    Fault(
        "title not as in the heading",
        "lesson",
        in_file(lambda nb: nb.metadata.course.title.update(en="Other")),
    ),
    Fault(
        "exempt without a reason",
        "exempt",
        changed(shown, lambda c: c.metadata.update(tags=["nbval-ignore-output"])),
    ),
    Fault("skipped cell", "exempt", changed(shown, lambda c: c.metadata.update(tags=["nbval-skip"]))),
    Fault("too large a file", "size", changed(shown, stream("stdout", "x" * 1_000_001))),
    Fault("raw cell", "format", changed(prose, lambda c: c.update(cell_type="raw"))),
]

FILE_RULES = ("size",)
FIXED = {
    "no blank line in a block",
    "no space before Latin",
    "noise in a cell's metadata",
    "noise in an output's metadata",
    "noise in the notebook's metadata",
    "a section within a slide",
    "a slide type that hides",
    "missing cell id",
    "cell id twice",
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

    def notebook(self) -> NotebookNode:
        return nbformat.v4.reads(self.stored)

    def check(self, notebook: NotebookNode) -> list[Finding]:
        """Write a faulted notebook and return the findings that are new."""
        self.target.write_text(canonical(notebook), encoding="utf-8")
        return self.check_again()

    def check_again(self) -> list[Finding]:
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


TODAY = REAL[datetime.date.today().toordinal() % len(REAL)]
NAMES = ["small", TODAY.name]
NAMES += [pytest.param(path.name, marks=pytest.mark.nightly) for path in REAL if path != TODAY]


def planted(fault: Fault, bench: Bench) -> tuple[NotebookNode, NotebookNode | None]:
    """Return a notebook with the fault, and the cell where it is."""
    notebook = bench.notebook()
    try:
        return notebook, fault.plant(notebook)
    except StopIteration:
        pytest.skip(f"{bench.target.name} has no place for this fault")


@pytest.mark.parametrize("name", NAMES)
def test_the_copy_without_a_fault_is_clean(bench: Bench) -> None:
    assert [str(finding) for finding in bench.findings] == []


@pytest.mark.parametrize("fault", CHECK_FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("name", NAMES)
def test_check_reports(fault: Fault, bench: Bench) -> None:
    notebook, cell = planted(fault, bench)
    new = bench.check(notebook)
    answers = [finding for finding in new if finding.rule == fault.rule]
    assert answers, f"not reported; instead: {[str(finding) for finding in new]}"
    if cell is not None:
        place = "file" if fault.rule in FILE_RULES else f"cell {notebook.cells.index(cell)} ("
        assert any(place in finding.place for finding in answers), [str(finding) for finding in answers]


def test_check_reports_another_json_form(bench_of: Callable[[str], Bench]) -> None:
    bench = bench_of("small")
    bench.target.write_text(bench.stored.rstrip("\n"), encoding="utf-8")
    assert [finding.rule for finding in bench.check_again()] == ["canonical"]


@pytest.mark.parametrize("fault", [f for f in CHECK_FAULTS if f.name in FIXED], ids=lambda fault: fault.name)
@pytest.mark.parametrize("name", NAMES)
def test_fix(fault: Fault, bench: Bench) -> None:
    """What is mechanical is fixed, and a second run changes nothing."""
    assert bench.check(planted(fault, bench)[0])
    assert fix(bench.target)
    assert [str(finding) for finding in bench.check_again()] == []
    assert not fix(bench.target), "a second run changes the file again"


@pytest.mark.parametrize("name", NAMES)
def test_fix_leaves_a_clean_notebook_alone(bench: Bench) -> None:
    bench.target.write_text(bench.stored, encoding="utf-8")
    assert not fix(bench.target)
    assert bench.target.read_text(encoding="utf-8") == bench.stored


def test_fix_never_fakes_an_execution(bench_of: Callable[[str], Bench]) -> None:
    bench = bench_of("small")
    notebook = bench.notebook()
    never_run(shown(notebook))
    cell_of(notebook, "bytes").source += "\n# changed"
    bench.check(notebook)
    fix(bench.target)
    assert sorted(finding.rule for finding in bench.check_again()) == ["order", "stale"]


# --- faults that nbval finds --------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A fault that shows when the notebook runs: which cell must fail, and with which words."""

    name: str
    cell: str | None  # None: no cell fails, but the run does
    words: str
    plant: Callable[[NotebookNode], object]


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == name)


def edit(name: str, old: str, new: str) -> Callable[[NotebookNode], None]:
    def plant(notebook: NotebookNode) -> None:
        cell = cell_of(notebook, name)
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    return plant


def stored(name: str, old: str, new: str) -> Callable[[NotebookNode], None]:
    """Change what is stored as the cell's output, in every form of it."""

    def plant(notebook: NotebookNode) -> None:
        times = 0
        for output in cell_of(notebook, name).outputs:
            for holder in (output, output.get("data", {})):
                for key in ("text", "text/plain", "text/html"):
                    times += holder.get(key, "").count(old)
                    if key in holder:
                        holder[key] = holder[key].replace(old, new)
        assert times, f"{old!r} is not stored"

    return plant


def swap(notebook: NotebookNode) -> None:
    cells = notebook.cells
    one, other = (next(i for i, c in enumerate(cells) if c.id == name) for name in ("bytes", "device"))
    cells[one], cells[other] = cells[other], cells[one]


def exempt_all(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        cell.metadata.update(tags=["nbval-ignore-output"], course={"exempt": "no reason is good enough"})


# The cell still prints an honest device, but the tensor that goes on is on another one.
WRONG_DEVICE = "y, x = x, x.to('meta')\nprint('y lives on', y.device)"

RUN_FAULTS = [
    Run("changed output text", "bytes", "Cell outputs differ", stored("bytes", "bytes", "bits")),
    Run("changed number in an exact fact", "bytes", "Cell outputs differ", stored("bytes", "4000", "4001")),
    Run("changed fact in the code", "bytes", "Cell outputs differ", edit("bytes", "10, 100", "10, 101")),
    Run("device that no machine has", "device", "Cell outputs differ", edit("device", "try_gpu()", "'meta'")),
    Run(
        "wrong device under an honest output",
        "device-claim",
        "ClaimError",
        edit("device", "x = x.to(try_gpu())", WRONG_DEVICE),
    ),
    Run(
        "claim that does not hold",
        "ratio-claim",
        "ClaimError",
        edit("ratio-claim", "at_least=2", "at_least=20"),
    ),
    Run(
        "lower threshold, which still holds",
        "ratio-claim",
        "Cell outputs differ",
        edit("ratio-claim", "at_least=2", "at_least=1"),
    ),
    Run(
        "changed statement in the stored output",
        "ratio-claim",
        "Cell outputs differ",
        stored("ratio-claim", small_lesson.STATEMENT, "Never: " + small_lesson.STATEMENT),
    ),
    Run(
        "changed translation in the code",
        "note",
        "Cell outputs differ",
        edit("note", "總和是對的", "總和是錯的"),
    ),
    Run(
        "missing output",
        "note",
        "Unexpected output fields",
        lambda nb: cell_of(nb, "note").update(outputs=[]),
    ),
    Run(
        "output of an older version",
        "exercise",
        "Cell outputs differ|Missing output",
        lambda nb: cell_of(nb, "exercise").outputs.append(copy.deepcopy(cell_of(nb, "note").outputs[0])),
    ),
    Run(
        "changed alternative text", "picture", "Cell outputs differ", edit("picture", "A grey ramp", "A ramp")
    ),
    Run("cells in another order", "device", "NameError", swap),
    Run("exception", "exercise", "ZeroDivisionError", edit("exercise", "2 + 2", "2 / 0")),
    Run(
        "warning on stderr",
        "exercise",
        "On stderr came:\n.*UserWarning: no",
        edit("exercise", "answer =", "import warnings\nwarnings.warn('no')\nanswer ="),
    ),
    Run("never-run cell", "exercise", "never executed", lambda nb: never_run(cell_of(nb, "exercise"))),
    Run(
        "skipped cell",
        "exercise",
        "nbval-skip is forbidden",
        lambda nb: cell_of(nb, "exercise").metadata.update(tags=["nbval-skip"]),
    ),
    Run(
        "exempt without a reason",
        "exercise",
        "needs a reason",
        lambda nb: cell_of(nb, "exercise").metadata.update(tags=["nbval-ignore-output"]),
    ),
    Run(
        "nbval comment",
        "exercise",
        "comments are not used",
        edit("exercise", "answer =", "# NBVAL_SKIP\nanswer ="),
    ),
    Run("nothing compared", None, "nothing was compared", exempt_all),
]


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
    faults: list[Run]
    cells: set[str]


def copies(small: Path) -> list[Planted]:
    """Plant all faults in few copies: every run of a notebook starts a kernel."""
    clean = read(small)
    made: list[Planted] = []
    for fault in RUN_FAULTS:
        alone = read(small)
        fault.plant(alone)
        cells = touched(clean, alone) | ({fault.cell} if fault.cell else set())
        one = next((one for one in made if not one.cells & cells), None)
        if one is None:
            made.append(one := Planted(read(small), [], set()))
        fault.plant(one.notebook)
        one.faults.append(fault)
        one.cells |= cells
    return made


@dataclass
class SmallRuns:
    """What strict nbval reported about the small lesson: failed cells by notebook and position, and all it printed."""

    failed: dict[tuple[str, int], str]
    printed: str
    place: dict[str, tuple[str, int | None]]  # of a fault, by its name: the notebook and the cell's position


@pytest.fixture(scope="module")
def small_runs(small: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallRuns:
    """All faulted copies of the small lesson, and the one without a fault, in two runs side by side."""
    folder = tmp_path_factory.mktemp("nbval")
    paths = [folder / "clean.ipynb"]
    shutil.copy(small, paths[0])
    small_lesson.write_room(folder)
    place: dict[str, tuple[str, int | None]] = {}
    for number, one in enumerate(copies(small)):
        paths.append(folder / f"faults{number}.ipynb")
        paths[-1].write_text(canonical(one.notebook), encoding="utf-8")
        for fault in one.faults:
            place[fault.name] = paths[-1].stem, fault.cell and code_position(one.notebook, fault.cell)
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(run_nbval, (paths[::2], paths[1::2])))
    assert [status for status, _, _ in runs] == [pytest.ExitCode.TESTS_FAILED] * 2
    return SmallRuns(runs[0][1] | runs[1][1], runs[0][2] + runs[1][2], place)


def test_nbval_passes_the_lesson_without_a_fault(small_runs: SmallRuns) -> None:
    failed, printed = small_runs.failed, small_runs.printed
    assert not [place for place in failed if place[0] == "clean"]
    assert summary("clean", printed) == {"cells": 10, "executed": 10, "compared": 9, "silent": 0, "exempt": 1}


def summary(notebook: str, printed: str) -> dict[str, int]:
    """Return a notebook's counts in the summary table."""
    row = re.search(rf"^{notebook}\.ipynb((?: +\d+){{5}}) +[\d.]+$", printed, re.M)
    assert row, printed
    return dict(zip(COLUMNS, map(int, row[1].split()), strict=True))


@pytest.mark.parametrize("fault", RUN_FAULTS, ids=[fault.name for fault in RUN_FAULTS])
def test_nbval_reports(fault: Run, small_runs: SmallRuns) -> None:
    failed, (notebook, position) = small_runs.failed, small_runs.place[fault.name]
    mine = {place: message for (name, place), message in failed.items() if name == notebook}
    if position is None:
        assert not mine
        assert f"FAILED {notebook}.ipynb: {fault.words}" in small_runs.printed
        return
    assert position in mine, f"cell {fault.cell} passed; failed: {mine}"
    assert re.search(fault.words, mine[position]), mine[position]


def cell(source: str, count: int, output: str = "") -> NotebookNode:
    outputs = [new_output("stream", name="stdout", text=output)] if output else []
    return new_code_cell(source, execution_count=count, outputs=outputs)


def test_nbval_notices_a_dead_kernel_and_an_endless_cell(tmp_path: Path) -> None:
    """A dead kernel fails at once, not at the time limit of 300 seconds; an endless cell fails at its time limit."""

    def fails(name: str, source: str, *options: str) -> tuple[dict[tuple[str, int], str], str]:
        cells = [cell("print(1)", 1, "1\n"), cell(source, 2), cell("print(2)", 3, "2\n")]
        nbformat.write(new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
        status, failed, printed = run_nbval([tmp_path / f"{name}.ipynb"], *options)
        assert status == pytest.ExitCode.TESTS_FAILED
        return failed, printed

    with ThreadPoolExecutor() as pool:
        endless = pool.submit(
            fails, "endless", "import time\nwhile True: time.sleep(1)", "--nbval-cell-timeout=10"
        )
        failed, printed = fails("dead", "import os\nos._exit(1)")
    assert "The kernel died in this cell" in failed["dead", 1]
    assert "Kernel dead" in failed["dead", 2]
    assert "FAILED dead.ipynb: 2 cells never ran" in printed
    seconds = float(re.search(r"dead\.ipynb(?: +\d+){5} +([\d.]+)", printed)[1])
    assert seconds < 150, "the dead kernel was noticed only near the time limit"
    assert "Timeout of 10 seconds" in endless.result()[0]["endless", 1]


@pytest.mark.parametrize("name", NAMES[1:])
def test_nbval_reports_a_changed_output_of_a_real_notebook(name: str, tmp_path: Path) -> None:
    """A stored text is changed; later cells are cut off, because they take minutes."""
    shutil.copytree(
        ROOT / "notebooks", tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "mine")
    )
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


def test_list_of_faults(capsys: pytest.CaptureFixture[str]) -> None:
    """Print the list, so that a reader of the log sees what was planted."""
    with capsys.disabled():
        print("\nfaults planted for the check tool: " + "; ".join(fault.name for fault in CHECK_FAULTS))
        print("faults planted for nbval: " + "; ".join(fault.name for fault in RUN_FAULTS))
    assert len(CHECK_FAULTS) + len(RUN_FAULTS) >= 20
