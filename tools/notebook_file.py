"""A notebook as a file, and what is in it: its cells, and a lesson's texts in the order in which a learner reads them."""

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from bilingual import toml_of
from tools.markdown_text import hide_code, language_blocks
from tools.written import Script, script_in

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
KINDS = {"predict": "question", "claim": "claim"}  # every other call of a name in texts.toml is a figure's

_DETAILS = re.compile(r"<details\b[^>]*>.*?</details>", re.S)
_HEADING = re.compile(r"^#+ (.+?) · (.+)$", re.M)


def lessons(folder: Path = NOTEBOOKS) -> dict[str, Path]:
    """Return the notebooks of the lessons in a folder by their number, in order."""
    return {path.name[:2]: path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))}


def read(path: Path) -> NotebookNode:
    """Return the notebook as it stands; nbformat's own reader would silently invent missing cell ids."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def canonical(notebook: NotebookNode) -> str:
    """Return the one form in which a notebook is stored."""
    return nbformat.v4.writes(notebook).rstrip("\n") + "\n"


def without_clocks(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return outputs without the places of launches' clocks, empty in the end: how many launches there are is a machine's."""
    empty = '<div class="course-launch-live"></div>'
    return [one for one in outputs if "".join(one.get("data", {}).get("text/html", "")) != empty]


def code_hash(source: str) -> str:
    """Return the short hash that tells whether a cell's code is still the code that was executed."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Cell:
    """A cell of a lesson."""

    lesson: str  # "01"
    section: str  # "1.2", or "" before the first
    id: str
    code: bool
    folded: bool
    text: str
    source: str  # its text without magics; "" where it writes a script
    script: Script | None = None  # that it writes into ``mine/``


@dataclass(frozen=True)
class Passage:
    """A text that is read in one go, and the cell where it stands."""

    cell: Cell
    kind: str  # "heading", "prose", "details" (collapsed), "question", "claim" or "figure"
    en: str
    zh: str


def cells(path: Path) -> list[Cell]:
    """Return the cells of a notebook in order."""
    found, section = [], ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = source = "".join(cell["source"])
        code = cell["cell_type"] == "code"
        script = script_in(source) if code else None
        if script:
            source = ""
        elif code:
            source = "\n".join("" if line.startswith(("%", "!")) else line for line in source.splitlines())
        elif heading := re.match(r"## (.*)", source):
            number = re.match(r"\d+\.\d+", heading[1])
            section = number[0] if number else heading[1].partition(" · ")[0]
        about = (cell.get("id", ""), code, "jupyter" in cell.get("metadata", {}))
        found.append(Cell(path.name[:2], section, *about, text, source, script))
    return found


def paired_keys(given: dict[str, object]) -> Iterator[tuple[object | None, object | None]]:
    """Yield the English and the Chinese value of each pair of keys: ``en``/``zh``, ``why_en``/``why_zh`` and so on."""
    stems = {
        key.removesuffix(ending): None
        for key in given
        for ending in ("en", "zh", "zh-Hant")
        if key == ending or key.endswith("_" + ending)
    }
    for stem in stems:
        yield given.get(f"{stem}en"), given.get(f"{stem}zh", given.get(f"{stem}zh-Hant"))


@lru_cache
def _texts(room: Path) -> dict[str, dict[str, Any]]:
    file = room / "texts.toml"
    return toml_of(file) if file.exists() else {}


def _pairs(entry: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts of an entry of texts.toml, in the order in which they stand there."""
    if isinstance(entry, dict):
        for english, chinese in paired_keys(entry):
            if isinstance(english, str) and isinstance(chinese, str):
                yield english, chinese
        for value in entry.values():
            yield from _pairs(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from _pairs(value)


def _shown(cell: Cell, texts: dict[str, dict[str, Any]]) -> Iterator[Passage]:
    """Yield the texts that a code cell shows, by the names in its calls."""
    calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        given = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        kind = KINDS.get(name, "figure")
        if isinstance(given, str) and given in texts.get(kind, {}):
            for english, chinese in _pairs(texts[kind][given]):
                yield Passage(cell, kind, english, chinese)


def _prose(cell: Cell) -> Iterator[Passage]:
    """Yield the headings and language blocks of a Markdown cell."""
    collapsed = [found.span() for found in _DETAILS.finditer(hide_code(cell.source))]
    found: list[tuple[int, Passage]] = []
    for heading in _HEADING.finditer(hide_code(cell.source)):
        texts = (cell.source[slice(*heading.span(part))] for part in (1, 2))
        found.append((heading.start(), Passage(cell, "heading", *texts)))
    blocks = [block for block in language_blocks(cell.source) if not block.nested]
    for english, chinese in zip(blocks, blocks[1:], strict=False):
        if english.language == "en" and chinese.language != "en":
            hidden = any(start <= english.start < end for start, end in collapsed)
            texts = (cell.source[block.inner : block.end] for block in (english, chinese))
            found.append((english.start, Passage(cell, "details" if hidden else "prose", *texts)))
    for _, passage in sorted(found, key=lambda pair: pair[0]):
        yield passage


def passages(path: Path) -> list[Passage]:
    """Return the texts of a lesson in reading order; its room is the folder ``lesson_NN`` beside the notebook."""
    texts = _texts(path.parent / f"lesson_{path.name[:2]}")
    return [
        passage for cell in cells(path) for passage in (_shown(cell, texts) if cell.code else _prose(cell))
    ]
