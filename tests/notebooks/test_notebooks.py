"""The notebooks and all texts are in order, and every row of the source table is taught."""

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from lesson_cells import NOTEBOOKS
from nbformat import NotebookNode

from course_utils.lesson import KINDS, all_texts, room
from tools.check import ROOT, Finding, check_file, files
from tools.notebook_file import read
from tools.sanitized import sanitized

TOPICS = list(csv.DictReader((ROOT / "tests" / "topics.csv").open(encoding="utf-8", newline="")))
SOURCE_ROWS = {"A": 13, "B": 9, "C": 7, "D": 6, "E": 8, "F": 8, "G": 10, "H": 1}  # of each part


@cache
def findings(path: Path) -> list[Finding]:
    return check_file(path)


@cache
def cells_of(lesson: str) -> dict[str, NotebookNode]:
    (path,) = [path for path in NOTEBOOKS if path.name.startswith(lesson)]
    return {cell.id: cell for cell in read(path).cells}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path) -> None:
    assert [str(finding) for finding in findings(path)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_claim_is_about_a_constant(path: Path) -> None:
    """A test of its own, because after any change of a cell the test above reports a stale output as well."""
    assert [str(finding) for finding in findings(path) if finding.rule == "constant claim"] == []


@pytest.mark.parametrize("name", ["course_utils", "torch_doctor", "notebooks"])
def test_texts_in_code(name: str) -> None:
    """The Python and TOML files; the notebooks have a test of their own."""
    found = [path for path in files([ROOT / name]) if path.suffix in (".py", ".toml")]
    assert len(found) > 10
    assert [str(finding) for path in found for finding in check_file(path)] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "TEACHING.md", "tools/README.md"])
def test_documents(name: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.S)
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("|", "<img"))]
    assert [str(finding) for finding in check_file(ROOT / name)] == []


@pytest.mark.parametrize("path", NOTEBOOKS[:-1], ids=lambda path: path.stem)
def test_every_text_is_used(path: Path) -> None:
    """Each question, claim and caption of a room is named in its notebook or in the room's modules."""
    number, folder = path.name[:2], ROOT / "notebooks"
    code = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    code += [file.read_text(encoding="utf-8") for file in (folder / room(number)).rglob("*.py")]
    names = [name for kind in KINDS for name in all_texts(number)[kind]]
    assert names
    assert [name for name in names if f'"{name}"' not in "\n".join(code)] == []


def test_no_row_of_the_source_is_dropped() -> None:
    assert Counter(name[0] for name in {row["id"] for row in TOPICS}) == SOURCE_ROWS
    assert len({(row["id"], row["lesson"]) for row in TOPICS}) == len(TOPICS), "a row stands twice"


@pytest.mark.parametrize("row", TOPICS, ids=lambda row: f"{row['id']}-{row['lesson']}")
def test_topic(row: dict[str, str]) -> None:
    assert row["status"] == "done"
    cells, named = cells_of(row["lesson"]), row["cell_ids"].split()
    assert named and set(named) <= set(cells), "a row names the cells that teach it"
    executed = [cells[name] for name in named if cells[name].cell_type == "code"]
    assert any(map(verifies, executed)), "name a cell that proves it, with a claim or compared text"


def verifies(cell: NotebookNode) -> bool:
    """Return whether executing a cell proves something: a claim, an assertion, or output that is compared.

    A picture's frame, an explorer, a question and an exercise that nobody has answered prove nothing.
    """
    if not cell.execution_count:
        return False
    if re.search(r"\bclaim\(|^\s*assert ", cell.source, re.M):
        return True
    texts = []
    for output in cell.outputs:
        data = output.get("data", {})
        if not data.get("text/plain", "").startswith(("figure:", "explorer:", "question:", "exercise")):
            html = re.sub("<style.*?</style>|<[^>]*>", "", sanitized(data.get("text/html", "")), flags=re.S)
            texts.append(html if "text/html" in data else sanitized(data.get("text/plain", "")))
        texts.append(sanitized(output.get("text", "")))
    return any(re.search(r"\w", re.sub("<[A-Z]+>", "", text)) for text in texts)
