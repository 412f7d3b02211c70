"""Slides of a lesson for a talk: one file per language that needs no network, with the speaker's notes in the notes view.

``notebooks/lesson_NN/slides.toml`` lists the cells that are shown, chosen one by one: a section's question, its picture, one
piece of code, an exercise with its stub; and, from ``below``, only the verdict, under what stands before it. The prose is
what the speaker says, so it stands in the notes, but for its first sentences: nothing of a text in ``silent``, the whole
paragraph in ``whole``. What is higher than a screen goes on below, which ``paginate.js`` decides in the browser, where the
heights are known. Nothing is shrunk below 20 px at 1024 × 768. ``reveal/`` holds what the slides use of reveal.js 5.2.1
(npm), unchanged, with its licence.
"""

import html
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from string import Template

from bs4 import BeautifulSoup
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from bilingual import toml_of
from tools.editions.one_language import words
from tools.notebook_file import NOTEBOOKS
from tools.site.course import HTML_LANGUAGES
from tools.site.notebook import listing, markdown, output_html

HERE = Path(__file__).parent
_INLINE = {"a", "code", "em", "strong", "span", "b", "i"}


def _own(*names: str) -> str:
    """Return files of this folder, one after the other."""
    return "\n".join(HERE.joinpath(name).read_text(encoding="utf-8") for name in names)


def _blocks(markup: str) -> str:
    """Return HTML whose outermost nodes are all block elements, since only these can be moved to another slide."""
    soup = BeautifulSoup(markup, "html.parser")
    for node in list(soup.children):
        if node.name in _INLINE or (node.name is None and node.strip()):
            node.wrap(soup.new_tag("p"))
    for box in soup.find_all("div", class_=None, recursive=False):
        box.unwrap()
    for solution in soup.find_all("details", open=True):
        del solution["open"]
    for link in soup.find_all("a", href=True):
        if ":" not in link["href"]:
            link.unwrap()  # another lesson, which does not lie beside this file
    return str(soup)


def _lead(text: str, most: int) -> str:
    """Return the first sentences of a paragraph of Markdown, as many as fit into `most` columns, but at least one."""
    found = ""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])|(?<=[。！？])", text.strip()):
        whole = found.count("**") % 2 == 0 and found.count("`") % 2 == 0
        if found and whole and _width(found) + _width(sentence) > most:
            break
        found += ("" if not found or found[-1] in "。！？" else " ") + sentence
    return found.strip()


def _width(text: str) -> int:
    return len(text) + sum(character > "\u2e80" for character in text)


def _told(source: str, most: int = 260) -> str:
    """Return what a slide shows of a text cell, as Markdown: the first sentences, then its tables, lists and code."""
    # A listing may have empty lines; elsewhere they end a part.
    parts = re.findall(r"^```.*?^```$|^\S.*?(?=\n\s*\n|\Z)", source, re.M | re.S)
    if len(parts) > 1 and parts[0].startswith("#") and parts[1].startswith("1. "):
        return "\n\n".join(parts[:2])  # a summary: its sentences, without the cheat sheet
    prose = next((part for part in parts if re.match(r"[^#|\-*>`\d<]|\*\*|`[^`]", part)), None)
    announced = {after for part, after in pairwise(parts) if part is prose and part[-1] in ":："}
    others = re.compile(r"#|\||[-*] |\d+\. |```|\$\$")
    shown = [part for part in parts if part is prose or part in announced or others.match(part)]
    return "\n\n".join(_lead(part, most) if part is prose else part.replace("$$", "$") for part in shown)


@dataclass
class Slide:
    """One slide, as HTML."""

    section: str  # the name of its section; "" on the title
    body: str
    notes: str = ""  # for the speaker: the notes of the section, and the prose that is not on the slide
    first: bool = False  # of its section


def _printed(cell: NotebookNode) -> list[NotebookNode]:
    """Return the outputs of a code cell, without the line that says that a file was written."""
    return [] if cell.source.startswith("%%writefile") else cell.outputs


def _listed(cell: NotebookNode) -> str:
    """Return the code of a cell, with no more than one empty line between two parts."""
    return listing(re.sub(r"\n{3,}", "\n\n", cell.source))


def _code(cell: NotebookNode, lead: str) -> str:
    """Return a code cell for a slide: its picture, or its code with what it prints, below the sentence that leads to it."""
    outputs = "".join(_blocks(output_html(output)) for output in _printed(cell))
    soup = BeautifulSoup(outputs, "html.parser")
    for answers in soup.select(".course-question details"):
        answers.decompose()
    if question := soup.select_one(".course-question"):
        return str(question)
    pictures = soup.select("figure, img:not(figure img)")
    told = _blocks(markdown(lead)) if lead else ""
    if pictures:
        return told + "".join(map(str, [*pictures[:1], *soup.select(".course-claim")[:1]]))
    return told + _listed(cell) + str(soup)


def marks(number: str, what: str = "show") -> set[str]:
    """Return the ids in a list of a lesson's slides.toml (show, silent, whole, below); headings are always shown."""
    return set(toml_of(NOTEBOOKS / f"lesson_{number}" / "slides").get(what, ()))


def slides(notebook: NotebookNode, show: set[str], language: str) -> list[Slide]:
    """Return the slides of an edition for instructors with outputs; `show` are the ids of :func:`marks`.

    What is not shown is told: prose goes to the notes of the next slide of its section, or of the last one.
    """
    made: list[Slide] = []
    section, lead, asked, exercise = "", "", False, ""
    answer = words("Answer", "答案", language)
    silent, whole, below = (
        marks(notebook.metadata.course.lesson, what) for what in ("silent", "whole", "below")
    )
    for cell in notebook.cells:
        notes_of_instructor = cell.metadata.get("slideshow", {}).get("slide_type") == "notes"
        if cell.cell_type == "raw" or "<details" in cell.source[:80]:
            continue
        if cell.cell_type == "markdown":
            heading = re.match(r"(#{1,2}) (.+)", cell.source)
            told = _told(cell.source, 9999 if cell.id in whole else 260)
            told = heading[0] if heading and cell.id in silent else told
            if heading and not notes_of_instructor:
                section = heading[2].replace("`", "") if len(heading[1]) == 2 else ""
                source = cell.source.rpartition("\n\n")[0] if not section else told
                made.append(Slide(section, _blocks(markdown(source)), first=True))
                lead, asked, exercise = "", False, ""
            elif notes_of_instructor:
                pass
            elif cell.id in show and re.match("###", cell.source):
                exercise = cell.source
                continue
            elif cell.id in show:
                made.append(Slide(section, _blocks(markdown(told))))
                lead = ""
            else:
                lead = _lead(re.split(r"\n\s*\n", cell.source.strip())[-1], 9999 if cell.id in whole else 200)
                lead = "" if cell.id in silent or re.match(r"[|>#<-]|\d\.|```", lead) else lead
            made[-1].notes += markdown(re.sub(r"^# .*", "", cell.source))
            continue
        if exercise:
            made.append(Slide(section, _blocks(markdown(exercise)) + _listed(cell)))
            asked = False
        elif cell.id in show:
            body = _code(cell, lead)
            question = "course-question" in body
            if question and made[-1].first:
                made[-1].body += body
            else:
                answers = asked and bool(_printed(cell))
                made.append(Slide(section, f'<p class="answer">{answer}</p>{body}' if answers else body))
                asked &= not answers
            asked |= question
        elif cell.id in below:
            cards = BeautifulSoup(_code(cell, ""), "html.parser").select(".course-claim")
            made[-1].body += "".join(map(str, cards[:1] if "<img" in made[-1].body else cards))
        exercise, lead = "", ""
    return made


def deck(notebook: NotebookNode, language: str) -> str:
    """Return the slides of an edition for instructors, with outputs, as one page of HTML."""
    columns: list[list[str]] = []
    for slide in slides(notebook, marks(notebook.metadata["course"]["lesson"]), language):
        if slide.first:
            columns.append([])
        name = html.escape(slide.section, quote=True)
        aside = f'<aside class="notes">{slide.notes}</aside>'
        columns[-1].append(f'<section data-of="{name}">{slide.body}{aside}</section>')
    title = BeautifulSoup(columns[0][0], "html.parser").find(["h1", "h2"])
    styles = (
        _own("reveal/reset.css", "reveal/reveal.css"),
        HtmlFormatter(style="default").get_style_defs(".code"),
        _own("../../course_utils/style.css", "deck.css"),
    )
    return Template(_own("deck.html")).substitute(
        language=HTML_LANGUAGES[language],
        title=html.escape(title.get_text() if title else ""),
        style="\n".join(styles),
        slides="\n".join(f"<section>{''.join(column)}</section>" for column in columns),
        reveal=_own("reveal/reveal.js", "reveal/notes.js").replace("</script", "<\\/script"),
        paginate=_own("paginate.js"),
    )
