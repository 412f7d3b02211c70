"""The code cells of all lessons, and the calls in them; each notebook is read and parsed once."""

import ast
from collections.abc import Iterator
from functools import cache

from tools.notebook_file import Cell, lessons
from tools.notebook_file import cells as cells_of

NOTEBOOKS = list(lessons().values())


@cache
def cells() -> list[Cell]:
    """Return all code cells, in the order of the course."""
    return [cell for path in NOTEBOOKS for cell in cells_of(path) if cell.code]


@cache
def every_call() -> list[tuple[str, Cell, ast.Call]]:
    """Return the name, the cell and the node of every call in the lessons, not in the scripts they write."""
    nodes = ((cell, node) for cell in cells() for node in ast.walk(ast.parse(cell.source)))
    return [(ast.unparse(node.func), cell, node) for cell, node in nodes if isinstance(node, ast.Call)]


def calls(*names: str) -> Iterator[tuple[Cell, ast.Call]]:
    """Yield every call of one of `names` (``claim``, ``figures.bars``) in the lessons, with its cell."""
    return ((cell, node) for name, cell, node in every_call() if name in names)


def first_arguments(*names: str) -> list[tuple[str, str]]:
    """Return (lesson, first argument) of every call of one of `names`."""
    return [(cell.lesson, ast.literal_eval(call.args[0])) for cell, call in calls(*names)]
