"""Rules for a notebook's form: order, freshness, metadata, outputs, pictures."""

import base64
import binascii
import io
import json
import re
import warnings
from functools import cache
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
# A cell without a type continues the slide. "-" means the same to nbconvert, but hides the cell in jupyterlab-slideshow.
SLIDE_TYPES = ("slide", "subslide", "fragment", "skip", "notes")
LARGEST = 1_000_000  # bytes; a clone of the repository should stay quick
CELL_METADATA = {
    "slideshow": {"slide_type"},
    "tags": None,
    "course": {"exempt", "ran"},
    "jupyter": {"source_hidden"},
}

FIX = "run: python -m tools.check --fix"

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_WIDGET_REPR = re.compile(
    r"^(?:[HVG]?Box|GridBox|\w*Slider|\w*Buttons?|Dropdown|HTML|Output|Stack|Tab|interactive)\(.*\)$", re.S
)
_DATA_URI = re.compile(r"data:image/([\w+.-]+);base64,([A-Za-z0-9+/=\s]*)")
_IMG = re.compile(r"<img\b([^<>]*)>", re.I)
# --- checking -----------------------------------------------------------------------------------------


def check_notebook(path: Path, root: Path, findings: Findings) -> None:
    """Report everything that is wrong with one notebook.

    Args:
        path: The notebook.
        root: The repository; links must not leave it.
        findings: Where to report.
    """
    name = path.name
    stored = path.read_text(encoding="utf-8")
    findings.at(f"{name}: file")
    try:
        notebook = read(path)
        cells = notebook.cells
    except (ValueError, AttributeError, KeyError) as error:
        findings.add("format", f"not readable as a notebook: {error}", "restore it from git")
        return
    if path.stat().st_size > LARGEST:
        findings.add(
            "size", f"{path.stat().st_size:,} bytes, allowed are {LARGEST:,}", "smaller or fewer pictures"
        )
    if stored != canonical(notebook):
        findings.add("canonical", "not in the canonical form", FIX)
    _check_schema(notebook, findings)
    _check_lesson(notebook, name, findings)
    executed = 0
    ids: set[str] = set()
    for number, cell in enumerate(cells):
        findings.at(f"{name}: cell {number} ({cell.get('id', 'no id')})")
        if not cell.get("id"):
            findings.add("cell id", "no id", FIX)
        elif cell.id in ids:
            findings.add("cell id", "another cell has the same id", FIX)
        ids.add(cell.get("id", ""))
        given = cell.metadata.get("slideshow", {}).get("slide_type", "")
        if (needed := _slide_type(cells[number - 1] if number else None, cell)) not in ("", given):
            findings.add("slideshow", f"slide_type {given!r} where a {needed} begins", FIX)
        executed += cell.cell_type == "code"
        findings += _check_cell(findings.place, json.dumps(cell), executed, path.parent, root)
    findings.at(f"{name}: file")
    if not executed:
        findings.add("order", "no code cell", "a lesson runs code")


@cache
def _check_cell(place: str, stored: str, executed: int, folder: Path, root: Path) -> Findings:
    """Return what is wrong with one cell; remembered, since most cells of a notebook that is fixed stay as they are."""
    cell, findings = nbformat.from_dict(json.loads(stored)), Findings().at(place)
    _check_cell_metadata(cell, findings)
    if not cell.source.strip():
        findings.add("empty", "an empty cell", "fill or delete it")
    elif cell.cell_type == "markdown":
        check_markdown(cell.source, findings)
        markup.check_markdown(cell.source, findings)
        check_links(cell.source, folder, root, findings)
        if cell.get("attachments"):
            findings.add("picture", "a picture attached to the cell", "make it by code, or ship it as a file")
    elif cell.cell_type == "code":
        check_code(cell, executed, findings)
        for output in cell.outputs:
            _check_output(cell, output, folder, root, findings)
    else:
        findings.add("format", f"a {cell.cell_type} cell", "use Markdown or code")
    return findings


def _check_schema(notebook: NotebookNode, findings: Findings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing ids are reported by a rule of their own
        try:
            nbformat.validate(json.loads(json.dumps(notebook)))
        except nbformat.ValidationError as error:
            findings.add("format", str(error).splitlines()[0], "restore the cell from git, or rewrite it")
    if (notebook.get("nbformat"), notebook.get("nbformat_minor")) != (4, 5):
        findings.add("format", f"nbformat {notebook.get('nbformat')}.{notebook.get('nbformat_minor')}", FIX)


def _check_lesson(notebook: NotebookNode, name: str, findings: Findings) -> None:
    metadata = notebook.metadata
    for noise in sorted(set(metadata) - {"course", "kernelspec", "language_info"}):
        findings.add("noise", f"notebook metadata {noise!r}", FIX)
    for key, wanted in (("kernelspec", KERNELSPEC), ("language_info", LANGUAGE_INFO)):
        if metadata.get(key) != wanted:
            findings.add("noise", f"notebook metadata {key!r} is not the plain one", FIX)
    course = metadata.get("course", {})
    advice = "set metadata.course, as CONTRIBUTING describes"
    if course.get("lesson") != name[:2]:
        findings.add("lesson", f"lesson is {course.get('lesson')!r}, the file says {name[:2]!r}", advice)
    minutes = course.get("minutes")
    given = isinstance(minutes, dict) and {key: type(number) for key, number in minutes.items()}
    if given != {"reading": int, "exercises": int} or minutes["reading"] <= 0:
        findings.add("lesson", f"minutes is {minutes!r}", advice)
    for key in sorted(set(course) - {"lesson", "title", "minutes"}):
        findings.add("lesson", f"unknown entry {key!r}", advice)
    title = course.get("title")
    given = isinstance(title, dict) and {key: type(text) for key, text in title.items()}
    if given != {"en": str, "zh": str}:
        findings.add("lesson", f"title is {title!r}, not a text in both languages", advice)
    else:
        texts.check_pair(title["en"], title["zh"], findings)
    first = notebook.cells[0].source if notebook.cells and notebook.cells[0].cell_type == "markdown" else ""
    heading = re.match(r"# (?:\d+\.? )?(.+?) · (.+)", first)
    if not heading:
        findings.add("heading", "the first cell does not start with the title", "# N English · 中文")
    elif isinstance(title, dict) and (heading[1], heading[2].strip()) != (title.get("en"), title.get("zh")):
        findings.add("lesson", f"title is {dict(title)}, the heading {heading[0]!r}", "make them the same")
    numbers = []
    for cell in notebook.cells[1:]:
        if cell.cell_type == "markdown" and (found := re.match(r"#+ (\d+)\.(\d+)\b", cell.source)):
            numbers.append((int(found[1]), int(found[2])))
    wanted = [(int(name[:2]), n) for n in range(1, len(numbers) + 1)] if name[:2].isdigit() else numbers
    if numbers != wanted:
        given = ", ".join(f"{lesson}.{section}" for lesson, section in numbers)
        findings.add("heading", f"section numbers are {given}", f"number them {int(name[:2])}.1 and on")


def _check_cell_metadata(cell: NotebookNode, findings: Findings) -> None:
    for key, value in cell.metadata.items():
        allowed = CELL_METADATA.get(key, set())
        if key not in CELL_METADATA:
            noise = [key]
        else:
            noise = [] if allowed is None else sorted(set(value) - allowed)
        for entry in noise:
            findings.add("noise", f"cell metadata {entry!r}", FIX)
    if cell.metadata.get("slideshow") and cell.metadata.slideshow.get("slide_type") not in SLIDE_TYPES:
        findings.add("slideshow", f"slide_type {cell.metadata.slideshow.get('slide_type')!r}", FIX)
    tags = cell.metadata.get("tags", [])
    if "nbval-skip" in tags:
        findings.add("exempt", "the tag nbval-skip", "every cell runs; remove the tag")
    reason = cell.metadata.get("course", {}).get("exempt")
    if "nbval-ignore-output" in tags and not (isinstance(reason, str) and reason.strip()):
        findings.add("exempt", "nbval-ignore-output without a reason", "say why in metadata.course.exempt")
    elif reason is not None and "nbval-ignore-output" not in tags:
        findings.add(
            "exempt", "a reason without the tag nbval-ignore-output", "remove the reason, or add the tag"
        )


def _check_output(
    cell: NotebookNode, output: NotebookNode, folder: Path, root: Path, findings: Findings
) -> None:
    kind = output.output_type
    if kind == "stream" and output.name == "stderr":
        findings.add("stderr", texts.short(output.text.strip()), "remove the cause of the warning")
    if kind == "error" and "raises-exception" not in cell.metadata.get("tags", []):
        findings.add(
            "error", f"{output.ename}: {texts.short(output.evalue)}", "fix it, or tag it raises-exception"
        )
    if output.get("metadata"):
        findings.add("noise", f"output metadata {sorted(output.metadata)}", FIX)
    data = output.get("data", {})
    markup.check_mime_types(data, {WIDGET_VIEW}, findings)
    if WIDGET_VIEW in data:
        findings.add("widget", "a widget's state is stored", FIX)
    if "text/html" not in data and _WIDGET_REPR.match(data.get("text/plain", "").strip()):
        findings.add(
            "widget", "a widget without its static form", "show it with text/html and text/plain beside it"
        )
    for mime in data:
        if mime.startswith("image/"):
            findings.add(
                "alternative text",
                f"{mime} has no alternative text in JupyterLab",
                "show it with course_utils.figures",
            )
            if mime != "image/svg+xml":
                _check_picture(mime.removeprefix("image/"), data[mime], findings)
    words = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
    words += [value for mime, value in data.items() if mime.startswith("text/")]
    for text in words:
        without_pictures = _DATA_URI.sub("", text)
        if found := MACHINE_PATH.search(without_pictures):
            findings.add(
                "machine path", f"{found[0]} in the output", "print what is the same on every machine"
            )
        if found := _ADDRESS.search(without_pictures):
            findings.add("noise", f"{found[0]} in the output", "print what is the same in every run")
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

    advice = "execute the cell again and look at the picture"
    try:
        raw = base64.b64decode(re.sub(r"\s", "", encoded), validate=True)
        with Image.open(io.BytesIO(raw)) as picture:
            picture.load()
            extremes = picture.convert("RGB").getextrema()
    except (binascii.Error, UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        findings.add("picture", f"broken {kind} picture ({type(error).__name__})", advice)
        return
    if all(low == high for low, high in extremes):
        findings.add("picture", "a blank picture", advice)


# --- fixing -------------------------------------------------------------------------------------------


def fix_notebook(notebook: NotebookNode) -> NotebookNode:
    """Fix in place what is mechanical, and return the notebook.

    Fixed: metadata, widget states, missing ids, slide types, blank lines and spaces in the text. Never
    touched: code, execution counts, outputs' content, words.
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
        _fix_cell_metadata(cell)
    for before, cell in zip([None, *notebook.cells], notebook.cells, strict=False):
        if needed := _slide_type(before, cell):
            cell.metadata["slideshow"] = {"slide_type": needed}
    _fix_ids(notebook.cells)
    return notebook


def _fix_cell_metadata(cell: NotebookNode) -> None:
    kept: dict[str, Any] = {}
    for key, allowed in CELL_METADATA.items():
        value = cell.metadata.get(key)
        if isinstance(value, dict) and allowed is not None:
            value = {entry: value[entry] for entry in value if entry in allowed}
        if value:
            kept[key] = value
    if kept.get("slideshow", {}).get("slide_type") not in SLIDE_TYPES:
        kept.pop("slideshow", None)
    cell.metadata = nbformat.from_dict(kept)


def _slide_type(before: NotebookNode | None, cell: NotebookNode) -> str:
    """Return the type that `cell` needs after the cell `before`: "slide", "subslide", or "" where it may continue a slide.

    A section begins a slide. An exercise, prose after code, a question, and what follows a question (it answers it) begin
    one below, and so does what else is typed as a slide: the notes of a section belong to all that is below its heading.
    """
    given = cell.metadata.get("slideshow", {}).get("slide_type")
    if given in ("skip", "notes"):
        return ""
    prose = cell.cell_type == "markdown"
    if prose and re.match(r"##? ", cell.source):
        return "slide"
    after_code = before is not None and before.cell_type == "code"
    asks = [
        one is not None and one.cell_type == "code" and re.match(r"predict\(", one.source)
        for one in (before, cell)
    ]
    below = any(asks) or (prose and (after_code or re.match(r"### ", cell.source)))
    return "subslide" if below or given == "slide" else ""


def _fix_ids(cells: list[NotebookNode]) -> None:
    """Give cells without an id one made of the section's heading and the position in it."""
    taken = {cell.id for cell in cells if cell.get("id")}
    seen: set[str] = set()
    section, position = "start", 0
    for cell in cells:
        if cell.cell_type == "markdown" and (found := re.match(r"#{1,6} +(.+?)(?: ·|$)", cell.source, re.M)):
            section = re.sub(r"[^a-z0-9]+", "-", found[1].lower()).strip("-")[:40] or "section"
            position = 0
        position += 1
        if not cell.get("id") or cell.id in seen:
            candidate, extra = f"{section}-{position}", 1
            while candidate in taken:
                extra += 1
                candidate = f"{section}-{position}-{extra}"
            cell.id = candidate
            taken.add(candidate)
        seen.add(cell.id)
