"""What the pages show: the lessons of one language, README's introduction, and what the search looks through."""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_output

from bilingual import Bilingual, texts
from tools.editions import lesson as edition
from tools.notebook_file import ROOT, read
from tools.site.notebook import Page, cell_soup, markdown, page

HTML_LANGUAGES = {"en": "en", "zh-TW": "zh-Hant-TW", "zh-CN": "zh-Hans-CN"}
LANGUAGE_NAMES = {"en": "English", "zh-TW": "繁體中文", "zh-CN": "简体中文"}


TEXTS: dict[str, Bilingual] = texts(Path(__file__).with_name("texts"))  # what the pages themselves say


@dataclass
class Lesson:
    """A lesson in one language."""

    number: str  # "01"
    name: str  # of its files, "01_cuda_check"
    title: str  # without the number
    minutes: dict[str, int]  # "reading" (and to run and guess) and "exercises"
    goals: str  # "After this lesson you can …": a list as HTML, or ""
    page: Page
    summary: str  # its last section as HTML, for the cheat sheets; "" if there is none

    @property
    def full_title(self) -> str:
        """The title with the number."""
        return f"{int(self.number)} {self.title}"


def _summary_cells(original: NotebookNode) -> set[str]:
    """Return the ids of the cells that sum a lesson up: the text under "Summary", and what follows it if that is a table."""
    cells = original.cells
    for i, cell in enumerate(cells):
        if cell.cell_type == "markdown" and re.match(r"## [\d.]* ?Summary", cell.source):
            after = cells[i + 1 : i + 2]
            return {cell.id, *(one.id for one in after if one.cell_type == "code")}
    return set()


def _summary(made: NotebookNode, ids: set[str], pages: list[str], pictures: dict[str, bytes]) -> str:
    parts = []
    for cell in made.cells:
        if cell.get("id") not in ids:
            continue
        soup = cell_soup(cell, pictures, pages, f"sum-{cell.id}")
        if cell.cell_type == "code":
            parts += [str(part) for folded in soup.find_all("details") for part in folded.contents[1:]]
            continue
        for heading in soup.find_all(["h2", "h3"]):
            heading.decompose()
        last = soup.find_all(recursive=False)[-1:]
        if last and last[0].name == "p" and last[0].find("strong"):
            last[0].decompose()  # what the next lesson is about
        parts.append(str(soup))
    return "".join(parts)


def lesson(path: Path, language: str, pages: list[str]) -> Lesson:
    """Return a lesson in the language that ``course_utils.language.use`` has chosen, with links to `pages`."""
    original = read(path)
    made = edition(path.name, language, "student", outputs=True)
    # An explorer that needs no measurement is drawn again, with words in this language alone.
    for cell in made.cells:
        found = re.search(r"^(\w+)\.EXPLORER\.show\(\)", cell.source, re.M)
        if cell.cell_type == "code" and found:
            stored = [str(output.get("data", {}).get("text/html")) for output in cell.outputs]
            kept = [
                out for out, text in zip(cell.outputs, stored, strict=True) if "course-figure" not in text
            ]
            drawn = import_module(f"lesson_{path.name[:2]}.{found[1]}").EXPLORER
            cell.outputs = [*kept, new_output("display_data", {"text/html": drawn.html(**drawn.defaults())})]
    about, labels = original.metadata["course"], (str(TEXTS["code"]), str(TEXTS["output"]))
    whole = page(made, pages, labels)
    first = next(cell for cell in made.cells if cell.cell_type == "markdown")
    goals = BeautifulSoup(markdown(first.source), "html.parser").find("ul")
    summary = _summary(made, _summary_cells(original), pages, whole.pictures)
    title = Bilingual(**about["title"]).one() or ""
    return Lesson(about["lesson"], path.stem, title, about["minutes"], str(goals or ""), whole, summary)


# --- README's introduction ----------------------------------------------------------------------------


def introduction(language: str) -> str:
    """Return what README says before "Start", the first ### of its half, as HTML."""
    half = "English" if language == "en" else "繁體中文"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {half}\n(.*?)^### ", readme, re.S | re.M)
    text = re.sub(r"\(#last-verified[^)]*\)", "(verified.html)", found.strip())  # a page of its own here
    return markdown(Bilingual(text, text).one() or text)
