"""The lessons as the unit tests read them: code cells without magics, and calls of our own functions in them."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.written import script_in

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("[0-9][0-9]_*.ipynb"))


@dataclass(frozen=True)
class Cell:
    """One cell: its lesson ("01"), its id, its kind ("code" or "markdown"), its text, and whether that is folded."""

    lesson: str
    id: str
    kind: str
    text: str
    folded: bool


@cache
def everything() -> list[Cell]:
    """Return all cells, in the order of the course; read once."""
    return [
        Cell(path.name[:2], c["id"], c["cell_type"], "".join(c["source"]), "jupyter" in c["metadata"])
        for path in NOTEBOOKS
        for c in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]


def cells(*kinds: str) -> list[Cell]:
    """Return all cells of the given kinds, in the order of the course."""
    return [cell for cell in everything() if cell.kind in kinds]


@cache
def every_call() -> list[tuple[str, Cell, ast.Call]]:
    """Return the name, the cell and the node of every call in the lessons, not in the scripts they write; parsed once."""
    return [
        (ast.unparse(node.func), cell, node)
        for cell in cells("code")
        if not script_in(cell.text)
        for node in ast.walk(ast.parse(without_magics(cell.text)))
        if isinstance(node, ast.Call)
    ]


def without_magics(code: str) -> str:
    return "\n".join("" if line.startswith(("%", "!")) else line for line in code.splitlines())


def calls(*names: str) -> Iterator[tuple[Cell, ast.Call]]:
    """Yield every call of one of `names` (``claim``, ``figures.bars``) in the lessons, with its cell."""
    return ((cell, node) for name, cell, node in every_call() if name in names)


def first_arguments(*names: str) -> list[tuple[str, str]]:
    """Return (lesson, first argument) of every call of one of `names`."""
    return [(cell.lesson, ast.literal_eval(call.args[0])) for cell, call in calls(*names)]
