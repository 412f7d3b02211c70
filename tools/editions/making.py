"""A lesson in one language, made from the notebook in both."""

import html
import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bilingual import toml_of
from course_utils.language import EDITIONS

from .code import code_in, fences_in
from .first_cell import ID, first_cell
from .instructor import add as add_for_instructor
from .one_language import html_in, markdown_in

AUDIENCES = ("student", "instructor")


def edition(notebook: NotebookNode, language: str, audience: str, *, outputs: bool = False) -> NotebookNode:
    """Return a lesson in one language, with the same cells and ids; the notebook itself stays as it is.

    With `outputs`, the stored ones are kept, in this language; the words in pictures stay as they were drawn
    (:func:`tools.editions.lesson` has pictures in one language). Without, it begins with the cell that installs the
    course on Colab. For instructors, it has further cells.

    Raises:
        ValueError: There is no such edition, or the notebook lacks what the edition says otherwise.
    """
    if language not in EDITIONS or audience not in AUDIENCES:
        raise ValueError(f"no edition {language!r}, {audience!r}: choose of {EDITIONS} and {AUDIENCES}.")
    made = deepcopy(notebook)
    course = made.metadata.course
    for cell in made.cells:
        if cell.cell_type == "markdown":
            source = _changed(cell.source, f"{course.lesson}/{cell.id}")
            cell.source = markdown_in(fences_in(source, course.lesson, language), language)
        elif cell.cell_type == "code":
            cell.source = code_in(cell.source, course.lesson, language)
            if outputs:
                for data in (output.get("data", {}) for output in cell.outputs):
                    if "text/html" in data:
                        data["text/html"] = html_in(data["text/html"], language)
                        data["text/plain"] = _plain(data["text/html"])
            else:
                cell.outputs, cell.execution_count = [], None
            cell.metadata.get("course", {}).pop("ran", None)  # the hash of the source in both languages
    if not outputs:  # it is to be run, perhaps where the course is not installed
        at = next(at for at, cell in enumerate(made.cells) if cell.cell_type == "code")
        first = nbformat.v4.new_code_cell(first_cell(language), id=ID)
        first.metadata = nbformat.from_dict({"slideshow": {"slide_type": "skip"}})
        made.cells.insert(at, first)
    if audience == "instructor":
        add_for_instructor(made, language)
    course.edition = {"language": language, "audience": audience}
    return made


@cache
def changes() -> dict[str, list[dict[str, str]]]:
    """Return what an edition says otherwise, by cell."""
    found: dict[str, list[dict[str, str]]] = {}
    for entry in toml_of(Path(__file__).with_name("changes"))["change"]:
        found.setdefault(entry["cell"], []).append(entry)
    return found


def _changed(source: str, cell: str) -> str:
    for change in changes().get(cell, []):
        for side in ("en", "zh"):
            if source.count(change[side]) != 1:
                raise ValueError(f"changes.toml: cell {cell} does not hold {change[side]!r} once.")
            source = source.replace(change[side], change[f"to_{side}"])
    return source


def _plain(markup: str) -> str:
    """Return the text of an HTML output; of a picture its text alternative."""
    text = re.sub(r'<img alt="([^"]*)"[^<>]*>', r"\1\n", markup)
    text = re.sub(r"</(?:p|li|tr|div|dd|figure|summary)>", "\n", text)
    text = html.unescape(re.sub(r"<[^<>]*>", " ", text))
    return re.sub(r"[ \t]+", " ", re.sub(r"\s*\n\s*", "\n", text)).strip()
