"""Rules for code: cells, the scripts that they write, results that nobody sees, claims that cannot be false."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from functools import cache

from nbformat import NotebookNode

from tools.notebook_file import ROOT, code_hash
from tools.written import LEARNERS, LONGEST, WIDEST, Script, script_in

from . import strings
from .text import Findings

COURSE = ("bilingual.py", "course_utils/**/*.py", "torch_doctor/**/*.py", "notebooks/**/*.py")
DISPLAYED = {"_repr_mimebundle_", "_repr_html_"}
SHOWS_ITSELF = (
    "show"  # an explorer's; that of an exercise, which returns what to show, is not called in a lesson
)
# Of a learner's script; `train` is there because lesson 06 copies workers/train.py into mine/.
ALLOWED_IMPORTS = {"torch", "train", *sys.stdlib_module_names}
SCORED = {"faster.py": "shared.program"}  # what the scoreboard trains is the course's program
LONGEST_CELL = 25  # lines

MACHINE_PATH = re.compile(
    r"/(?:home|Users|root|tmp|work|mnt|private|var/folders|opt/conda)/[\w.-]+"
    r"|[A-Za-z]:\\+Users\\+|site-packages|ipykernel_\d+"
)
_RULES_FOR_CODE = [
    (r"^\s*%%?(?:timeit|prun|memit)\b", "%timeit prints what differs in each run: use compare()"),
    (r"^\s*%%writefile\b(?! mine/\w+\.py\s*$)", "%%writefile elsewhere than mine/NAME.py"),
    (r"\bclear_output\s*\(", "nbval does not understand clear_output: display once, at the end"),
    (r"from\s+tqdm\s+import|import\s+tqdm\s*$|\btqdm\.tqdm\s*\(", "plain tqdm writes times to stderr"),
    (r"\bOutput\s*\(\s*\)|\binteract(?:ive|ive_output)?\s*\(", "nbval does not understand captured output"),
    (r"\bupdate_display\s*\(|display_id\s*=", "nbval does not understand an updated display"),
    (r"#\s*(?:NBVAL_|PYTEST_VALIDATE_IGNORE)", "an nbval comment: use tags and metadata.course.exempt"),
]


def check_code(cell: NotebookNode, position: int, findings: Findings) -> None:
    """Report what is wrong with a code cell that is the `position`-th of its notebook."""
    if cell.execution_count is None:
        findings.add("order", "never executed")
    elif cell.execution_count != position:
        findings.add("order", f"execution count {cell.execution_count}, position {position}")
    if cell.metadata.get("course", {}).get("ran") != code_hash(cell.source):
        findings.add("stale", "the code changed after it was executed")
    lines = cell.source.splitlines()
    script = script_in(cell.source)
    if not script and len(lines) > LONGEST_CELL:
        findings.add("length", f"{len(lines)} lines, allowed are {LONGEST_CELL}")
    if lines[-1].rstrip().endswith(";"):
        findings.add("code", "the last line ends in ;", "write `_ = …` instead; nbval sees the value")
    for pattern, what in _RULES_FOR_CODE:
        if re.search(pattern, cell.source, re.M):
            findings.add("code", what)
    if found := MACHINE_PATH.search(cell.source):
        findings.add("machine path", found[0])
    if script:
        check_script(script, findings)
        return
    source = re.sub(r"^(\s*)[%!].*$", r"\1pass", cell.source, flags=re.M)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return  # a cell may show a syntax error; whether it should is for nbval to say
    check_nothing_is_lost(tree, findings)
    check_claims(tree, findings)
    strings.check_python(source, findings, findings.place)


def check_script(script: Script, findings: Findings) -> None:
    """Report what is wrong with a script that a cell writes as a Python file."""
    place, lines = findings.place, script.text.splitlines()
    if len(lines) + 1 > LONGEST:
        findings.add("length", f"{len(lines) + 1} lines, allowed are {LONGEST}")
    for number, line in enumerate(lines, 2):
        if len(line) > WIDEST:
            findings.add("length", f"line {number} has {len(line)} characters, allowed are {WIDEST}")
    try:
        tree = ast.parse(script.text)
    except SyntaxError as error:
        findings.add("script", f"line {(error.lineno or 0) + 1}: {error.msg}")
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            if name.partition(".")[0] not in ALLOWED_IMPORTS and name != SCORED.get(script.name):
                findings.add("script", f"imports {name}")
    strings.check_python(script.text, findings, place)
    findings.at(place)


@cache
def showing() -> frozenset[str]:
    """Return the names of the course's functions whose result is something to show, as they are annotated.

    Such a result is an object of a class that has a form for a notebook (`_repr_mimebundle_`); the class itself
    counts, too.
    """
    paths = (path for pattern in COURSE for path in ROOT.glob(pattern))
    inside = (path for path in paths if not LEARNERS & set(path.relative_to(ROOT).parts))
    sources = [path.read_text(encoding="utf-8") for path in inside]

    def nodes_where(pattern: str) -> Iterator[ast.AST]:  # to parse all files takes a second
        found = [source for source in sources if re.search(pattern, source)]
        return (node for source in found for node in ast.walk(ast.parse(source)))

    classes = {
        node.name
        for node in nodes_where("|".join(DISPLAYED))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name in DISPLAYED for part in node.body)
    }
    names = rf"\b(?:{'|'.join(classes)})\b"
    nodes = list(nodes_where(rf"->.*{names}|{names} as "))
    functions = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and classes & {_last_name(part) for part in ast.walk(node.returns)}
    }
    imports = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    other_names = {alias.asname for alias in imports if alias.asname and alias.name in classes}
    return frozenset(classes | functions | other_names) - {SHOWS_ITSELF}


def _last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name (`figures.Picture`: "Picture"), "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def check_nothing_is_lost(tree: ast.Module, findings: Findings) -> None:
    """Report a call whose result is to be shown where Jupyter does not show it: it shows the last expression only."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or node is tree.body[-1] or not isinstance(node.value, ast.Call):
            continue
        name = _last_name(node.value.func)
        if name in showing():
            findings.add("lost output", f"line {node.lineno}: {name}(…) shows nothing")


def check_claims(tree: ast.Module, findings: Findings) -> None:
    """Report a claim about a value in which nothing is measured or computed."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or _last_name(call.func) != "claim":
            continue
        values = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "value")]
        for value in values:
            inner = value.body if isinstance(value, ast.Lambda) else value
            names = {node.id for node in ast.walk(inner) if isinstance(node, ast.Name)}
            if not names - set(dir(builtins)):
                what = f"line {call.lineno}: {ast.unparse(value)} is the same on every machine"
                findings.add("constant claim", what)
