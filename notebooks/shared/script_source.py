"""Show functions of a script in a notebook, as they stand in its file."""

import ast
from pathlib import Path

from IPython.display import Markdown


def source(script: str, *functions: str) -> Markdown:
    """Return functions of a script in the folder ``workers``, as a listing.

    Args:
        script: The file's name.
        functions: Their names, in the order in which to show them.
    """
    text = Path("workers", script).read_text(encoding="utf-8")
    named = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    parts = [str(ast.get_source_segment(text, named[name])) for name in functions]
    return Markdown("```python\n" + "\n\n".join(parts) + "\n```")
