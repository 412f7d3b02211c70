"""Slides of a lesson: one file per language that needs no network, with the instructor's notes in the notes view.

A slide begins where a cell has the type "slide" or "subslide"; what is longer than a screen goes on below it, which
``paginate.js`` decides in the browser, where the heights are known. Nothing is shrunk below 20 px at 1024 × 768, and no
text is left out. ``reveal/`` holds what the slides use of reveal.js 5.2.1 (npm), unchanged, with its licence.
"""

import html
from collections.abc import Iterator
from importlib import resources
from string import Template

from bs4 import BeautifulSoup
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from tools.site.course import HTML_LANGUAGES
from tools.site.notebook import listing, markdown, output_html

_INLINE = {"a", "code", "em", "strong", "span", "b", "i"}


def _reveal(*names: str) -> str:
    """Return files of reveal.js, one after the other."""
    return "\n".join(_own(f"reveal/{name}") for name in names)


def _own(name: str) -> str:
    return resources.files("tools.slides").joinpath(name).read_text(encoding="utf-8")


def _blocks(markup: str) -> str:
    """Return HTML whose outermost nodes are all block elements, since only these can be moved to another slide."""
    soup = BeautifulSoup(markup, "html.parser")
    for node in list(soup.children):
        if node.name is None and node.strip():
            node.wrap(soup.new_tag("p"))
        elif node.name in _INLINE:
            node.wrap(soup.new_tag("p"))
    for box in soup.find_all("div", class_=None, recursive=False):
        box.unwrap()
    for solution in soup.find_all("details", open=True):
        del solution["open"]
    for link in soup.find_all("a", href=True):
        if ":" not in link["href"]:
            link.unwrap()  # another lesson, which does not lie beside this file
    return str(soup)


def _cell(cell: NotebookNode) -> str:
    if cell.cell_type == "markdown":
        return _blocks(markdown(cell.source))
    shown = listing(cell.source) if cell.source.strip() else ""
    return shown + "".join(_blocks(output_html(output)) for output in cell.get("outputs", ()))


def slides(notebook: NotebookNode) -> Iterator[tuple[str, str, str]]:
    """Yield (type, HTML, notes as HTML) for each slide of an edition for instructors.

    The type is ``"slide"`` (to the right of the one before) or ``"subslide"`` (below it). A cell without a type
    continues its slide; "notes" are not shown, "skip" is left out.
    """
    kind, body, notes, asked = "slide", "", "", False
    for cell in notebook.cells:
        given = cell.metadata.get("slideshow", {}).get("slide_type", "")
        if given == "skip" or cell.cell_type == "raw":
            continue
        if given == "notes":
            notes += markdown(cell.source)
            continue
        if body and (given in ("slide", "subslide") or asked):
            yield kind, body, notes
            kind, body, notes = given or "subslide", "", ""
        body += _cell(cell)
        # What follows a question answers it.
        asked = cell.cell_type == "code" and cell.source.lstrip().startswith("predict(")
    if body:
        yield kind, body, notes


def deck(notebook: NotebookNode, language: str) -> str:
    """Return the slides of an edition for instructors as one page of HTML.

    Args:
        notebook: The edition, with outputs (see :func:`tools.editions.lesson`).
        language: Its language, ``"en"``, ``"zh-TW"`` or ``"zh-CN"``.
    """
    columns: list[list[str]] = []
    section = ""
    for kind, body, notes in slides(notebook):
        if kind == "slide" or not columns:
            columns.append([])
        # Whoever has gone on below a section's heading still reads what belongs to the section.
        section, notes = (notes, notes) if kind == "slide" else (section, notes + section)
        aside = f'<aside class="notes">{notes}</aside>' if notes else ""
        columns[-1].append(f"<section>{body}{aside}</section>")
    title = BeautifulSoup(columns[0][0], "html.parser").find(["h1", "h2"])
    cards = resources.files("course_utils").joinpath("style.css").read_text(encoding="utf-8")
    return Template(_own("deck.html")).substitute(
        language=HTML_LANGUAGES[language],
        title=html.escape(title.get_text() if title else ""),
        style="\n".join(
            (
                _reveal("reset.css", "reveal.css"),
                HtmlFormatter(style="default").get_style_defs(".code"),
                cards,
                _own("deck.css"),
            )
        ),
        slides="\n".join(f"<section>{''.join(column)}</section>" for column in columns),
        reveal=_reveal("reveal.js", "notes.js").replace("</script", "<\\/script"),
        paginate=_own("paginate.js"),
    )
