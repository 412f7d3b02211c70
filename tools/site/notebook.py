"""A notebook in one language as a web page: its cells as HTML, its sections, its pictures."""

import base64
import hashlib
import html
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bs4 import BeautifulSoup, Tag
from latex2mathml.converter import convert as mathml
from markdown_it import MarkdownIt
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_BLOCK_END = re.compile(
    r"</(?:p|li|td|th|tr|div|h\d|summary|pre|dt|dd|figcaption|details|table|ul|ol)>|<br\s*/?>"
)
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)
_FORMULA = re.compile(r"(?<![\\$\w])\$([^$\n]+)\$(?![\d$])")
_TERMINAL_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_FORMATTER = HtmlFormatter(nowrap=True)


@dataclass
class Section:
    """A part of a page that a search can find."""

    id: str  # its anchor; "" is the top of the page
    title: str
    level: int  # 1 for the page, 2 for a section, 3 for a part of one
    text: str = ""  # everything in it, as plain text


@dataclass
class Page:
    """A notebook as a page."""

    html: str = ""  # the cells
    sections: list[Section] = field(default_factory=list)  # the first is the page itself
    pictures: dict[str, bytes] = field(default_factory=dict)  # by file name


def listing(code: str, language: str = "ipython3") -> str:
    """Return code as a block of coloured HTML, whose tokens have Pygments' classes."""
    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    coloured = highlight(code, lexer, _FORMATTER).rstrip("\n")
    return f'<pre class="code"><code>{coloured}</code></pre>'


_READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_READER.add_render_rule(
    "fence", lambda self, tokens, i, *_: listing(tokens[i].content.rstrip("\n"), tokens[i].info)
)


def _formulas(text: str) -> str:
    """Return Markdown whose formulas, outside of code, are MathML, which browsers draw without a script."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [_FORMULA.sub(lambda formula: mathml(formula[1]), text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _FORMULA.sub(lambda formula: mathml(formula[1]), text[end:])])


def markdown(text: str) -> str:
    """Return Markdown as HTML, as JupyterLab shows it."""
    return _READER.render(_formulas(text))


def plain(markup: str) -> str:
    """Return HTML as text with a line for each block, so that no two words run together and none is cut."""
    lines = html.unescape(re.sub(r"<[^>]+>", "", _BLOCK_END.sub("\n", markup))).splitlines()
    return "\n".join(words for words in (" ".join(line.split()) for line in lines) if words)


def output_html(output: NotebookNode) -> str:
    """Return what a code cell left, as HTML."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(_TERMINAL_COLOURS.sub('', output.text), quote=False)}</pre>"
    if output.output_type == "error":
        return f"<pre>{html.escape(_TERMINAL_COLOURS.sub('', chr(10).join(output.traceback)), quote=False)}</pre>"
    data = output.data
    if "text/html" in data:
        return data["text/html"]
    if "text/markdown" in data:
        return markdown(data["text/markdown"])
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    return f"<pre>{html.escape(data.get('text/plain', ''), quote=False)}</pre>"


def _take_pictures(soup: BeautifulSoup, pictures: dict[str, bytes]) -> None:
    """Move pictures out of the page: a language has most of them in common with the others."""
    for image in soup.find_all("img", src=re.compile("^data:image/png;base64,")):
        content = base64.b64decode(image["src"].partition(",")[2])
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.png"
        pictures[name] = content
        image["width"], image["height"] = struct.unpack(">II", content[16:24])
        image["src"] = f"../images/{name}"
        image["decoding"] = "async"


def pictures_out(markup: str) -> tuple[str, dict[str, bytes]]:
    """Return HTML whose pictures are files, and these files by their names."""
    soup, pictures = BeautifulSoup(markup, "html.parser"), {}
    _take_pictures(soup, pictures)
    return str(soup), pictures


def _mend_links(soup: BeautifulSoup, lessons: Iterable[str]) -> None:
    """Let links between lessons lead to pages; what is not on the site is text."""
    pages = set(lessons)
    for link in soup.find_all("a", href=True):
        address, _, anchor = link["href"].partition("#")
        if re.match(r"[a-z]+:", address) or not address:
            continue
        name = address.rpartition("/")[2].removesuffix(".ipynb")
        if name not in pages:
            link.unwrap()
            continue
        section = re.match(r"\d+\.\d+", anchor)
        link["href"] = f"{name}.html#s{section[0]}" if section else f"{name}.html"


def _mark_headings(soup: BeautifulSoup, cell_id: str) -> None:
    """Give each heading an anchor that is the same in every language: its number, or its cell."""
    for count, heading in enumerate(soup.find_all(["h2", "h3", "h4"])):
        number = re.match(r"\d+\.\d+", heading.get_text())
        heading["id"] = f"s{number[0]}" if number else f"{cell_id}{f'-{count}' if count else ''}"


def _read_sections(soup: BeautifulSoup, sections: list[Section]) -> None:
    for child in soup.children:
        if isinstance(child, Tag) and child.name in ("h1", "h2", "h3"):
            sections.append(Section(child.get("id", ""), child.get_text().strip(), int(child.name[1])))
        elif sections and (text := plain(str(child))):
            sections[-1].text += f"{text}\n"


def page(notebook: NotebookNode, lessons: Iterable[str] = (), labels: tuple[str, str] = ("", "")) -> Page:
    """Return a notebook in one language as a page.

    Args:
        notebook: The edition, with outputs.
        lessons: Names of the pages that a link may lead to ("01_cuda_check").
        labels: What screen readers call code and outputs.
    """
    made = Page()
    for number, cell in enumerate(notebook.cells):
        soup = cell_soup(cell, made.pictures, lessons, f"c-{cell.get('id', number)}")
        _read_sections(soup, made.sections)
        if cell.cell_type == "code":
            for label, part in zip(labels, soup.find_all("div", recursive=False), strict=False):
                part["aria-label"] = label
        made.html += f"{soup}\n"
    return made


def cell_soup(cell: Any, pictures: dict[str, bytes], lessons: Iterable[str], anchor: str) -> BeautifulSoup:
    """Return one cell as a tree of elements, its pictures taken out and its links mended."""
    if cell.cell_type == "markdown":
        source = markdown(cell.source)
    elif cell.cell_type == "code":
        outputs = "".join(output_html(output) for output in cell.get("outputs", ()))
        parts = {"input": cell.source.strip() and listing(cell.source), "output": outputs}
        source = "".join(
            f'<div class="{name}" role="group">{part}</div>' for name, part in parts.items() if part
        )
    else:
        source = ""
    soup = BeautifulSoup(source, "html.parser")
    _take_pictures(soup, pictures)
    _mend_links(soup, lessons)
    for table in soup.find_all("table"):
        if "course-scroll" not in (table.parent.get("class") or ()):
            table.wrap(soup.new_tag("div", attrs={"class": "course-scroll"}))
    _mark_headings(soup, anchor)
    return soup
