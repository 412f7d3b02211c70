"""The editions of whole lessons as files: made, executed once in each language, and written to a folder."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

from nbformat import NotebookNode

from tools.notebook_file import NOTEBOOKS, ROOT, canonical, lessons, read
from tools.record import execute, replace
from tools.written import workplace

from .making import edition

BUILD = ROOT / "build"
EXECUTED = BUILD / "executed"
_FOLDERS = (
    "course_utils torch_doctor notebook_torchrun practice_gpu notebooks/shared notebooks/workers".split()
)
_SHAPE_OUTPUTS = ("bilingual.py", *(f"{folder}/**/*" for folder in _FOLDERS))
_KINDS = (".py", ".toml", ".json", ".css", ".csv", ".otf")
_IN_THE_CELLS = ("notes.toml", "comments.toml")  # already


def chosen(numbers: Iterable[str] = ()) -> list[str]:
    """Return the names of the notebooks with these numbers ("01"), in order; of all where none is given.

    Raises:
        ValueError: There is no such lesson.
    """
    names = {number: path.name for number, path in lessons().items()}
    wanted = set(numbers) or set(names)
    if unknown := sorted(wanted - set(names)):
        raise ValueError(f"there is no lesson {', '.join(unknown)}; there are {', '.join(names)}.")
    return [name for number, name in names.items() if number in wanted]


def lesson(name: str, language: str, audience: str, *, outputs: bool = False) -> NotebookNode:
    """Return the edition of a lesson of the repository (``"01_cuda_check.ipynb"``).

    With `outputs`, it has those of its own execution (:func:`run`), if there was one since the code last changed, else
    the stored ones, whose pictures may have words in both languages.
    """
    made = edition(read(NOTEBOOKS / name), language, audience, outputs=outputs)
    done = EXECUTED / language / name
    if outputs and done.exists():
        executed = read(done)
        if executed.metadata.course.get("of") == _digest(name, language):
            taken = {cell.id: cell for cell in executed.cells if cell.cell_type == "code"}
            for cell in made.cells:
                if cell.id in taken:
                    cell.outputs = taken[cell.id].outputs
                    cell.execution_count = taken[cell.id].execution_count
    return made


def run(name: str, language: str) -> float | None:
    """Execute the edition of a lesson in `language`, whose outputs :func:`lesson` takes from then on.

    Returns:
        The seconds it took; None if nothing has changed since the last time.
    """
    target, digest = EXECUTED / language / name, _digest(name, language)
    if target.exists() and read(target).metadata.course.get("of") == digest:
        return None
    made = edition(read(NOTEBOOKS / name), language, "student")
    made.metadata.course.of = digest
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="course-edition-") as scratch:
        place = workplace(NOTEBOOKS, Path(scratch))
        (place / name).unlink()
        (place / name).write_text(canonical(made), encoding="utf-8")
        # A claim that does not hold on this machine says so in its card; only what raises is a failure.
        with patch.dict(os.environ, {"COURSE_STRICT": os.environ.get("COURSE_STRICT", "0")}):
            done = Path(scratch, name)
            seconds = sum(execute(place / name, Path(scratch, "journal"), target=done))
        replace(target, done.read_text(encoding="utf-8"))
    return seconds


def _digest(name: str, language: str) -> str:
    """Return a hash of all that the outputs of an edition depend on, except the machine."""
    digest = hashlib.sha256(language.encode())
    for cell in edition(read(NOTEBOOKS / name), language, "student").cells:
        if cell.cell_type == "code":
            digest.update(cell.source.encode())
    for pattern in (*_SHAPE_OUTPUTS, f"notebooks/lesson_{name[:2]}/**/*"):
        for path in sorted(ROOT.glob(pattern)):
            if path.suffix in _KINDS and path.name not in _IN_THE_CELLS:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
