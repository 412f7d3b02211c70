"""Make the learner's copy, and bring it up to date file by file."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from bilingual import Bilingual, texts
from tools.my_course.merge import merged, without_outputs
from tools.written import LEARNERS, workers

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
BASE, BACKUPS = ".course", "backups"

SAY: dict[str, Bilingual] = texts(__file__)


def _uncommitted(notebooks: Path) -> set[str]:
    """Return the names of the notebooks that differ from the last commit; none where git does not know the folder."""
    command = ["git", "diff", "--name-only", "--relative", "-z", "HEAD", "--", "*.ipynb"]
    try:
        listed = subprocess.run(command, cwd=notebooks, capture_output=True, text=True)
    except FileNotFoundError:
        return set()
    return set(filter(None, listed.stdout.split("\0"))) if listed.returncode == 0 else set()


def delivered(notebooks: Path) -> dict[Path, tuple[bytes, bytes]]:
    """Return each file that the copy gets: what the course delivers, and what a copy begins with.

    The two differ where somebody has worked in the course's own notebooks, as before there were copies: the course is what was
    committed, and the copy begins with that work.

    Args:
        notebooks: The course's notebooks.
    """
    files: dict[Path, tuple[bytes, bytes]] = {}
    changed = _uncommitted(notebooks)
    for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb")):
        begin = course = without_outputs(path.read_bytes())
        if path.name in changed:
            command = ["git", "show", f"HEAD:./{path.name}"]
            shown = subprocess.run(command, cwd=notebooks, capture_output=True).stdout
            course = without_outputs(shown) if shown else begin
        files[Path(path.name)] = course, begin
    return files | {name: ((notebooks / name).read_bytes(),) * 2 for name in workers(notebooks)}


def _write(path: Path, content: bytes) -> None:
    """Write a file at once: an interrupted update leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)


def _take_over(notebooks: Path, folder: Path) -> list[Bilingual]:
    """Copy what a learner's cells have written beside the course's notebooks, as before there were copies."""
    places = [notebooks / name for name in sorted(LEARNERS)]
    places += sorted(path for kind in ("*.pt", "*.jsonl") for path in notebooks.glob(kind))
    found = [path for path in places if path.exists() and not (folder / path.name).exists()]
    for path in found:
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, folder / path.name)
    return [SAY["taken"].format(names=", ".join(path.name for path in found))] if found else []


def _bring_up_to_date(folder: Path, name: Path, course: bytes) -> list[Bilingual] | None:
    """Bring a file of the learner up to date; return what to say about it, or None if it was simply replaced."""
    file, base = folder / name, folder / BASE / name
    mine, before = file.read_bytes(), base.read_bytes() if base.exists() else None
    new, said = course, None
    if mine == course:
        said = []
    elif mine != before and name.suffix != ".ipynb":
        new, said = mine, [SAY["kept"].format(name=name, source=Path(NOTEBOOKS.name, name))]
    elif mine != before:
        new, both = merged(before, mine, course)
        backup = folder / BACKUPS / f"{name.stem}-{time.strftime('%Y%m%d-%H%M%S')}{name.suffix}"
        said = []
        if new != mine:
            _write(backup, mine)
            said = [SAY["merged"].format(name=name, backup=backup)]
            said += [SAY["both"].format(count=len(both))] if both else []
    if new != mine:
        _write(file, new)
    _write(base, course)
    return said


def update(folder: Path, notebooks: Path = NOTEBOOKS) -> list[Bilingual]:
    """Make the learner's copy, or bring it up to date; nothing of the learner's is lost.

    Args:
        folder: The copy.
        notebooks: The course's notebooks.

    Returns:
        What to tell the learner, in order.
    """
    said: list[Bilingual] = []
    replaced: list[str] = []
    first = not (folder / BASE).exists()
    if first:
        folder.mkdir(parents=True, exist_ok=True)
        said += [SAY["made"].format(folder=folder), *_take_over(notebooks, folder)]
    for name, (course, begin) in delivered(notebooks).items():
        file, base = folder / name, folder / BASE / name
        try:
            if not file.exists():
                _write(file, begin if first else course)
                _write(base, course)
            elif not base.exists() or base.read_bytes() != course:
                news = _bring_up_to_date(folder, name, course)
                said += news or []
                replaced += [str(name)] * (news is None)
        # A broken file must not keep the others from their update, nor JupyterLab from its start.
        except Exception as error:
            why, source = type(error).__name__, Path(NOTEBOOKS.name, name)
            said.append(SAY["failed"].format(name=name, why=why, source=source))
    return [*said, *([SAY["updated"].format(names=", ".join(replaced))] if replaced else [])]
