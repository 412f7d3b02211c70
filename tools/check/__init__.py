"""The checks over notebooks and over every text in two languages.

``python -m tools.check`` reports, ``python -m tools.check --fix`` first fixes what is mechanical.
"""

from pathlib import Path

from tools.notebook_file import ROOT, canonical, cells, read
from tools.written import LEARNERS

from .markdown import check_blocks, check_links
from .notebook import check_notebook, fix_notebook
from .strings import check_python, check_toml
from .terms import check_glosses, check_words
from .text import Finding, Findings, check_bold

__all__ = ["ROOT", "Finding", "check_file", "files", "fix"]

DEFAULT = (
    "notebooks",
    "bilingual.py",
    "course_utils",
    "notebook_torchrun",
    "torch_doctor",
    "README.md",
    "CONTRIBUTING.md",
    "TEACHING.md",
    "tools/README.md",
    *(
        f"tools/{name}.toml"
        for name in ("classroom/progress", "editions/texts", "grade/texts", "my_course/update", "site/texts")
    ),
)
SUFFIXES = (".ipynb", ".py", ".toml", ".md")


def files(paths: list[Path]) -> list[Path]:
    """Return the files to check under the given files and folders; not what a learner has in ``mine/`` and ``results/``.

    Raises:
        FileNotFoundError: A path does not exist.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist; give notebooks, folders or nothing.")
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [
            file
            for file in inside
            if file.suffix in SUFFIXES
            and not {".ipynb_checkpoints", *LEARNERS} & set(file.relative_to(path).parts)
        ]
    return found


def check_file(path: Path, root: Path = ROOT) -> list[Finding]:
    """Return what is wrong with one file; an empty list is good."""
    findings = Findings()
    place = path.resolve().relative_to(root).as_posix() if path.resolve().is_relative_to(root) else path.name
    if path.suffix == ".ipynb":
        check_notebook(path, root, findings)
        _check_lesson(path, place, findings)
    elif path.suffix == ".md":
        source = path.read_text(encoding="utf-8")
        findings.at(place)
        check_links(source, path.parent, root, findings)
        if check_blocks(source, findings, adjacent=False):
            check_bold(source, findings)
    else:
        source = path.read_text(encoding="utf-8")
        (check_toml if path.suffix == ".toml" else check_python)(source, findings, place)
        check_words(source, place, findings)
    return list(dict.fromkeys(findings))


def _check_lesson(path: Path, place: str, findings: Findings) -> None:
    """Report what is wrong with the terms of a lesson as a whole."""
    try:
        found = cells(path)
        check_glosses(path, findings)
    except (ValueError, KeyError, TypeError, SyntaxError):
        return  # check_notebook has said that it cannot be read
    for cell in found:
        check_words(
            cell.script.text if cell.script else cell.source,
            f"{place}: {cell.section or 'beginning'} ({cell.id})",
            findings,
        )


def fix(path: Path) -> bool:
    """Fix what is mechanical in one notebook; return whether that changed the file."""
    before = path.read_text(encoding="utf-8")
    after = canonical(fix_notebook(read(path)))
    if after != before:
        path.write_text(after, encoding="utf-8", newline="\n")
    return after != before
