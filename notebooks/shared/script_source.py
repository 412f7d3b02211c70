"""Show parts of a script in a notebook, as they stand in its file."""

import ast
import textwrap
from pathlib import Path

from IPython.display import Markdown


def source(script: str, *parts: str) -> Markdown:
    """Return functions, classes and methods of a script in the folder ``workers``, as a listing.

    Args:
        script: The file's name, below that folder.
        parts: Names, in the order in which to show them: ``"save"``, ``"Model"`` or ``"Model.forward"``.
    """
    text = Path("workers", script).read_text(encoding="utf-8")
    found = []
    for part in parts:
        inside = ast.parse(text)
        for name in part.split("."):
            kinds = ast.FunctionDef, ast.ClassDef
            inside = next(node for node in inside.body if isinstance(node, kinds) and node.name == name)
        found.append(textwrap.dedent(" " * inside.col_offset + str(ast.get_source_segment(text, inside))))
    return Markdown("```python\n" + "\n\n".join(found) + "\n```")
