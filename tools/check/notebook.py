"""Rules for a notebook's form: order, freshness, metadata, outputs, pictures."""

import base64
import binascii
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.notebook_file import canonical, read

from . import markup
from . import text as texts
from .code import MACHINE_PATH, check_code
from .markdown import check_alternative_text, check_blocks, check_links, check_markdown, fix_markdown
from .text import Findings

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python"}
LARGEST = 1_000_000  # bytes; a clone of the repository should stay quick
CELL_METADATA = {
    "slideshow": {"slide_type"},
    "tags": None,
    "course": {"exempt", "ran"},
    "jupyter": {"source_hidden"},
}

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_WIDGET_REPR = re.compile(
    r"^(?:[HVG]?Box|GridBox|\w*Slider|\w*Buttons?|Dropdown|HTML|Output|Stack|Tab|interactive)\(.*\)$", re.S
)
_DATA_URI = re.compile(r"data:image/([\w+.-]+);base64,([A-Za-z0-9+/=\s]*)")
_IMG = re.compile(r"<img\b([^<>]*)>", re.I)
# --- checking -----------------------------------------------------------------------------------------


def check_notebook(path: Path, root: Path, findings: Findings) -> None:
    """Report everything that is wrong with one notebook; links must not leave `root`, the repository."""
    name = path.name
    stored = path.read_text(encoding="utf-8")
    findings.at(f"{name}: file")
    try:
        notebook = read(path)
        cells = notebook.cells
    except (ValueError, AttributeError, KeyError) as error:
        findings.add("format", f"not readable as a notebook: {error}")
        return
    if path.stat().st_size > LARGEST:
        findings.add("size", f"{path.stat().st_size:,} bytes, allowed are {LARGEST:,}")
    if stored != canonical(notebook):
        findings.add("canonical", "not in the canonical form")
    _check_schema(notebook, findings)
    _check_lesson(notebook, name, findings)
    executed = 0
    ids: set[str] = set()
    for number, cell in enumerate(cells):
        findings.at(f"{name}: cell {number} ({cell.get('id', 'no id')})")
        if not cell.get("id"):
            findings.add("cell id", "no id")
        elif cell.id in ids:
            findings.add("cell id", "another cell has the same id")
        ids.add(cell.get("id", ""))
        executed += cell.cell_type == "code"
        _check_cell(cell, executed, path.parent, root, findings)
    findings.at(f"{name}: file")
    if not executed:
        findings.add("order", "no code cell")


def _check_cell(cell: NotebookNode, executed: int, folder: Path, root: Path, findings: Findings) -> None:
    _check_cell_metadata(cell, findings)
    if not cell.source.strip():
        findings.add("empty", "an empty cell")
    elif cell.cell_type == "markdown":
        check_markdown(cell.source, findings)
        markup.check_markdown(cell.source, findings)
        check_links(cell.source, folder, root, findings)
        if cell.get("attachments"):
            findings.add("picture", "a picture attached to the cell")
    elif cell.cell_type == "code":
        check_code(cell, executed, findings)
        for output in cell.outputs:
            _check_output(cell, output, folder, root, findings)
    else:
        findings.add("format", f"a {cell.cell_type} cell")


def _check_schema(notebook: NotebookNode, findings: Findings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing ids are reported by a rule of their own
        try:
            nbformat.validate(json.loads(json.dumps(notebook)))
        except nbformat.ValidationError as error:
            findings.add("format", str(error).splitlines()[0])
    if (notebook.get("nbformat"), notebook.get("nbformat_minor")) != (4, 5):
        findings.add(
            "format", f"nbformat {notebook.get('nbformat')}.{notebook.get('nbformat_minor')}, not 4.5"
        )


def _check_lesson(notebook: NotebookNode, name: str, findings: Findings) -> None:
    metadata = notebook.metadata
    for noise in sorted(set(metadata) - {"course", "kernelspec", "language_info"}):
        findings.add("noise", f"notebook metadata {noise!r}")
    for key, wanted in (("kernelspec", KERNELSPEC), ("language_info", LANGUAGE_INFO)):
        if metadata.get(key) != wanted:
            findings.add("noise", f"notebook metadata {key!r} is not the plain one")
    course = metadata.get("course", {})
    if course.get("lesson") != name[:2]:
        findings.add("lesson", f"lesson is {course.get('lesson')!r}, the file says {name[:2]!r}")
    minutes = course.get("minutes")
    given = isinstance(minutes, dict) and {key: type(number) for key, number in minutes.items()}
    if given != {"reading": int, "exercises": int} or minutes["reading"] <= 0:
        findings.add("lesson", f"minutes is {minutes!r}")
    for key in sorted(set(course) - {"lesson", "title", "minutes"}):
        findings.add("lesson", f"unknown entry {key!r}")
    title = course.get("title")
    given = isinstance(title, dict) and {key: type(text) for key, text in title.items()}
    if given != {"en": str, "zh": str}:
        findings.add("lesson", f"title is {title!r}, not a text in both languages")
    else:
        texts.check_pair(title["en"], title["zh"], findings)
    first = notebook.cells[0].source if notebook.cells and notebook.cells[0].cell_type == "markdown" else ""
    heading = re.match(r"# (?:\d+\.? )?(.+?) · (.+)", first)
    if not heading:
        findings.add("heading", "the first cell does not start with the title: # N English · 中文")
    elif isinstance(title, dict) and (heading[1], heading[2].strip()) != (title.get("en"), title.get("zh")):
        findings.add("lesson", f"title is {dict(title)}, the heading {heading[0]!r}")
    numbers = []
    for cell in notebook.cells[1:]:
        if cell.cell_type == "markdown" and (found := re.match(r"#+ (\d+)\.(\d+)\b", cell.source)):
            numbers.append((int(found[1]), int(found[2])))
    wanted = [(int(name[:2]), n) for n in range(1, len(numbers) + 1)] if name[:2].isdigit() else numbers
    if numbers != wanted:
        given = ", ".join(f"{lesson}.{section}" for lesson, section in numbers)
        findings.add("heading", f"section numbers are {given}")


def _check_cell_metadata(cell: NotebookNode, findings: Findings) -> None:
    if cell.metadata != (kept := _plain_metadata(cell)):
        findings.add("noise", f"cell metadata {dict(cell.metadata)}, of which {kept} may stay")
    tags = cell.metadata.get("tags", [])
    if "nbval-skip" in tags:
        findings.add("exempt", "the tag nbval-skip")
    reason = cell.metadata.get("course", {}).get("exempt")
    if "nbval-ignore-output" in tags and not (isinstance(reason, str) and reason.strip()):
        findings.add("exempt", "nbval-ignore-output without a reason")
    elif reason is not None and "nbval-ignore-output" not in tags:
        findings.add("exempt", "a reason without the tag nbval-ignore-output")


def _check_output(
    cell: NotebookNode, output: NotebookNode, folder: Path, root: Path, findings: Findings
) -> None:
    kind = output.output_type
    if kind == "stream" and output.name == "stderr":
        findings.add("stderr", texts.short(output.text.strip()))
    if kind == "error" and "raises-exception" not in cell.metadata.get("tags", []):
        findings.add("error", f"{output.ename}: {texts.short(output.evalue)}")
    if output.get("metadata"):
        findings.add("noise", f"output metadata {sorted(output.metadata)}")
    data = output.get("data", {})
    markup.check_mime_types(data, {WIDGET_VIEW}, findings)
    if WIDGET_VIEW in data:
        findings.add("widget", "a widget's state is stored")
    if "text/html" not in data and _WIDGET_REPR.match(data.get("text/plain", "").strip()):
        findings.add("widget", "a widget without its static form")
    for mime in data:
        if mime.startswith("image/"):
            findings.add("alternative text", f"{mime} has no alternative text in JupyterLab")
            if mime != "image/svg+xml":
                _check_picture(mime.removeprefix("image/"), data[mime], findings)
    words = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
    words += [value for mime, value in data.items() if mime.startswith("text/")]
    for text in words:
        without_pictures = _DATA_URI.sub("", text)
        if found := MACHINE_PATH.search(without_pictures):
            findings.add("machine path", f"{found[0]} in the output")
        if found := _ADDRESS.search(without_pictures):
            findings.add("noise", f"{found[0]} in the output")
    if "text/html" in data:
        markup.check_html(data["text/html"], findings)
        _check_html(data["text/html"], folder, root, findings)
    if "text/markdown" in data:
        markup.check_markdown(data["text/markdown"], findings)


def _check_html(source: str, folder: Path, root: Path, findings: Findings) -> None:
    for kind, picture in _DATA_URI.findall(source):
        _check_picture(kind, picture, findings)
    source = _DATA_URI.sub("data:", source)
    for attributes in _IMG.findall(source):
        check_alternative_text(attributes, findings)
    check_blocks(source, findings, adjacent=False)
    check_links(source, folder, root, findings)


def _check_picture(kind: str, encoded: str, findings: Findings) -> None:
    from PIL import Image, UnidentifiedImageError

    try:
        raw = base64.b64decode(re.sub(r"\s", "", encoded), validate=True)
        with Image.open(io.BytesIO(raw)) as picture:
            picture.load()
            extremes = picture.convert("RGB").getextrema()
    except (binascii.Error, UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        findings.add("picture", f"broken {kind} picture ({type(error).__name__})")
        return
    if all(low == high for low, high in extremes):
        findings.add("picture", "a blank picture")


# --- fixing -------------------------------------------------------------------------------------------


def fix_notebook(notebook: NotebookNode) -> NotebookNode:
    """Fix in place what is mechanical, and return the notebook.

    Fixed: metadata, widget states, missing ids, blank lines and spaces in the text. Never touched: code, execution
    counts, outputs' content, words.
    """
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    course = notebook.metadata.get("course")
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO} | ({"course": course} if course else {})
    )
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = fix_markdown(cell.source)
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = NotebookNode()
            output.get("data", {}).pop(WIDGET_VIEW, None)
        cell.metadata = _plain_metadata(cell)
    _fix_ids(notebook.cells)
    return notebook


def _plain_metadata(cell: NotebookNode) -> NotebookNode:
    """Return the metadata of a cell that a lesson may have."""
    kept: dict[str, Any] = {}
    for key, allowed in CELL_METADATA.items():
        value = cell.metadata.get(key)
        if isinstance(value, dict) and allowed is not None:
            value = {entry: value[entry] for entry in value if entry in allowed}
        if value:
            kept[key] = value
    return nbformat.from_dict(kept)


def _fix_ids(cells: list[NotebookNode]) -> None:
    """Give a cell without an id, or with that of a cell above it, a new one."""
    taken: set[str] = set()
    for cell in cells:
        if not cell.get("id") or cell.id in taken:
            cell.id = nbformat.v4.new_raw_cell().id
        taken.add(cell.id)
