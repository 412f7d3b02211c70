"""What is read from source code without executing it."""

import ast
import builtins
import re
import symtable
from collections.abc import Iterator

import course_utils

LONGEST = 100_000  # characters of a cell

# What an answer to an exercise does not need, and what somebody needs who wants to reach the course's own objects.
UNUSUAL = frozenset(
    "ctypes gc inspect sys.modules sys._getframe sys.settrace os._exit __globals__ __subclasses__ __builtins__ "
    "__closure__ __code__ __import__ f_back f_globals tb_frame exec eval compile globals "
    "bilingual course_utils torch_doctor notebook_torchrun exercises".split()
)


def python(source: str) -> str:
    """Return a cell's Python: magics and commands of the shell leave empty lines; another cell magic leaves nothing."""
    if re.match(r"%%(?!time\b|timeit\b|capture\b)", source):
        return ""
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in source.split("\n"))


def checks(tree: ast.Module) -> dict[str, ast.expr]:
    """Return what each ``check("name", …)`` that stands for itself in a cell examines, by the name."""
    return {
        node.value.args[0].value: node.value.args[1]
        for node in tree.body
        if is_check(node) and len(node.value.args) == 2 and isinstance(node.value.args[0], ast.Constant)
    }


def is_check(node: ast.stmt) -> bool:
    """Return whether a statement is a call of ``check``."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check"


def parsed(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell without magics, or None if that is no Python, or too much of it."""
    try:
        tree = ast.parse(source) if len(source) <= LONGEST else None
        _ = tree and used(ast.unparse(tree))  # raises if it is nested too deep for what follows
        return tree
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def normal(source: str) -> str:
    """Return some code as text in which only what it does counts, not comments, docstrings, layout or ``check``."""
    if (tree := parsed(source)) is None:
        return source
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module):
            node.body = [part for part in node.body if not is_check(part)]
        elif isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            text = body[0].value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                node.body = body[1:]
    return ast.dump(tree)


def bound(statement: ast.AST) -> set[str]:
    """Return the names that a statement gives a meaning to outside of functions and classes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store):
        return {statement.id}
    return set().union(*(bound(child) for child in ast.iter_child_nodes(statement)))


def used(source: str) -> set[str]:
    """Return the global names that some code asks for."""
    found, tables = set(), [symtable.symtable(source, "<cell>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        symbols = [one for one in table.get_symbols() if one.is_referenced()]
        found |= {one.get_name() for one in symbols if table.get_type() == "module" or one.is_global()}
    return found


def definitions(tree: ast.Module, statements: list[ast.stmt]) -> list[str]:
    """Return the statements of other cells, in their order, that define what a cell uses, and what they use in turn."""
    places: dict[str, list[int]] = {}
    for place, statement in enumerate(statements):
        for name in bound(statement):
            places.setdefault(name, []).append(place)
    wanted, chosen = used(ast.unparse(tree)) - bound(tree) - set(vars(builtins)), set()
    while wanted:
        for place in set(places.get(wanted.pop(), ())) - chosen:
            chosen.add(place)
            wanted |= used(ast.unparse(statements[place]))
    return [ast.unparse(statements[place]) for place in sorted(chosen)]


def unusual(source: str) -> list[str]:
    """Return the names in a source that belong to no ordinary answer."""
    tree = parsed(source)
    names = {name for node in ast.walk(tree) for name in _mentioned(node)} if tree else set()
    return sorted(name for name in names if name in UNUSUAL or re.fullmatch(r"lesson_\d\d", name))


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        if node.attr.startswith(("_", "f_", "tb_")):  # not model.eval(), torch.compile()
            yield node.attr
        if isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
    elif isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names]
        module = getattr(node, "module", None) or ""
        if module != "course_utils" or set(names) - set(course_utils.__all__):  # which every lesson imports
            names.append(module)
        yield from (part for name in names for part in name.split("."))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("__"):
        yield node.value  # getattr(answer, "__globals__")
