"""List what the notebook checks do not compare in the stored outputs, with the reason: ``python -m tools.sanitized``.

``--write`` writes ``tests/sanitized_places.csv``, so that each new place is seen in a diff.
"""

import argparse
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator

from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbval.plugin import get_sanitize_patterns

from bilingual import toml_of
from tools.notebook_file import ROOT, lessons, read

LIST = ROOT / "tests" / "sanitized_places.csv"
_SANITIZE = get_sanitize_patterns((ROOT / "tests" / "sanitize.cfg").read_text(encoding="ascii"))

# By what contains a place: classes of the elements around it, the innermost first, or the kind of output.
REASONS = toml_of(__file__)
_VERDICTS = {f"course-{name}" for name in ("holds", "fails", "unclear", "model", "needs", "solved", "card")}


def sanitized(text: str) -> str:
    """Return a text as nbval compares it: without what a machine may change."""
    for pattern, replacement in _SANITIZE:
        text = re.sub(pattern, replacement, text)
    return text


def _marks(html: str) -> Iterator[list[str]]:
    """Yield for each mark the `course-` classes around it, the innermost first; a picture is a mark, too."""
    for tag in BeautifulSoup(html, "html.parser").find_all(True):
        around = [name for element in (tag, *tag.parents) for name in element.get("class", ())]
        if {"measured", "measured-block"} & set(tag.get("class", ())):
            yield [name for name in around if name.startswith("course-")]
        if tag.get("src", "").startswith("data:image/"):
            yield ["picture"]


def _kind(classes: list[str]) -> str:
    """Return the key of REASONS for a mark inside of these classes; what is unknown is returned as it is."""
    names = [name for name in classes if name not in _VERDICTS]
    for key in sorted(REASONS, key=lambda key: -len(key.split())):
        if set(key.split()) <= set(names):
            return key
    return " ".join(names)


def figure_text(plain: str) -> str:
    """Return the lines below the first one of a figure's plain text, "" for anything else."""
    return plain.partition("\n")[2] if plain.startswith("figure:") else ""


def places(notebook: NotebookNode) -> list[tuple[str, str, int]]:
    """Return what is not compared in a notebook: cell, kind (a key of REASONS, if it is known), how many places."""
    found = []
    for cell in notebook.cells:
        counts: Counter[str] = Counter()
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            printed = output.get("text", "")
            counts["written"] += len(re.findall(r"\b(?:Writing|Overwriting) mine/\w+\.py", printed))
            counts.update(map(_kind, _marks(data.get("text/html", ""))))
            counts["marks"] += len(re.findall("⟨[^⟨⟩]*⟩", printed + data.get("text/markdown", "")))
            counts["series"] += len(re.findall("^⟨[^⟨⟩]*⟩$", figure_text(data.get("text/plain", "")), re.M))
        found += [(cell.id, kind, n) for kind, n in counts.items() if n]
    return found


def listing() -> str:
    """Return the list of all lessons as CSV; a place of a kind for which no reason is given is a KeyError."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(["lesson", "cell", "what", "places", "reason"])
    for number, path in lessons().items():
        rows.writerows([number, cell, what, n, REASONS[what]] for cell, what, n in places(read(path)))
    return table.getvalue()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.sanitized", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {LIST.name} instead of printing")
    if parser.parse_args().write:
        LIST.write_text(listing(), encoding="utf-8")
    else:
        print(listing(), end="")


if __name__ == "__main__":
    main()
