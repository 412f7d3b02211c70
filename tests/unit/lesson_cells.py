"""The lessons as the unit tests read them: code cells without magics, and calls of our own functions in them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9][0-9]_*.ipynb"))


@dataclass(frozen=True)
class Cell:
    """One cell: its lesson ("01"), its id, its kind ("code" or "markdown") and its text."""

    lesson: str
    id: str
    kind: str
    text: str


def cells(*kinds: str) -> list[Cell]:
    """Return all cells of the given kinds, in the order of the course."""
    return [
        Cell(path.name[:2], cell["id"], cell["cell_type"], "".join(cell["source"]))
        for path in NOTEBOOKS
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] in kinds
    ]


def calls(*names: str) -> Iterator[tuple[Cell, ast.Call]]:
    """Yield every call of one of `names` (``claim``, ``figures.bars``) in the lessons, with its cell."""
    for cell in cells("code"):
        code = "\n".join("" if line.startswith(("%", "!")) else line for line in cell.text.splitlines())
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in names:
                yield cell, node


def first_arguments(*names: str) -> list[tuple[str, str]]:
    """Return (lesson, first argument) of every call of one of `names`."""
    return [(cell.lesson, ast.literal_eval(call.args[0])) for cell, call in calls(*names)]
