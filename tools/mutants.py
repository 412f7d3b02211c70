"""``python -m tools.mutants [ID …]``: plant the faults of ``tests/mutants.toml`` one by one, and see which are caught.

A mutant is the course with one fault. A fault is located by its text and not by a path, so that the list stays good when
files move. It is planted in a temporary copy of the files that git tracks; the working tree stays as it is. First, all
tests that the list names must pass in the copy without a fault; then a mutant is caught if one of its own fails, and has
survived otherwise. Exit status 1: one survived.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from bilingual import toml_of
from tools.notebook_file import ROOT, cells, lessons

MUTANTS = toml_of(ROOT / "tests" / "mutants")["mutant"]
LIMIT = 300  # seconds for the tests of a mutant; when they are over, it counts as caught
SECTION = re.compile(r"(\d+)\.\d+")


def tracked() -> list[Path]:
    """Return the files that git tracks and that exist, relative to the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def parts(folder: Path) -> dict[tuple[Path, int, str], str]:
    """Return the texts a fault may be in: tracked files that are no tests, and each code cell's source and outputs.

    The keys are a path, the number of a cell, and its key; 0 and "" for a file that is no notebook.
    """
    found = {}
    for path in tracked():
        if (
            path.parts[0] == "tests" and path.suffix != ".cfg" or path.name == "TEACHING.md"
        ):  # it quotes cells
            continue
        text = (folder / path).read_bytes().decode("utf-8", "replace")
        if path.suffix != ".ipynb":
            found[path, 0, ""] = text
            continue
        for number, cell in enumerate(json.loads(text)["cells"]):
            if cell["cell_type"] == "code":
                found[path, number, "source"] = "".join(cell["source"])
                found[path, number, "outputs"] = json.dumps(cell["outputs"], ensure_ascii=False)
    return found


def place(needle: str, folder: Path = ROOT) -> tuple[Path, int, str]:
    """Return where a needle is found, a key of :func:`parts`; unless it is found once, that is a ValueError."""
    found = [part for part, text in parts(folder).items() for _ in range(text.count(needle))]
    if len(found) != 1:
        raise ValueError(f"this needle is found {len(found)} times, not once {found[:3]}:\n{needle}")
    return found[0]


def plant(needle: str, replacement: str, folder: Path) -> Path:
    """Replace a needle in a copy of the course, and return the file that changed."""
    path, number, key = found = place(needle, folder)
    text = parts(folder)[found].replace(needle, replacement)
    if key:
        notebook = json.loads((folder / path).read_text(encoding="utf-8"))
        notebook["cells"][number][key] = json.loads(text) if key == "outputs" else text
        text = json.dumps(notebook, ensure_ascii=False)
    (folder / path).write_text(text, encoding="utf-8")
    return folder / path


def alone(section: str, folder: Path) -> str:
    """Write a section ("3.4") with its lesson's set-up cell as a notebook of its own, and return pytest's name for it."""
    path = lessons(folder / "notebooks")[section.partition(".")[0].zfill(2)]
    first = next(cell.id for cell in cells(path) if cell.code)
    chosen = {first} | {cell.id for cell in cells(path) if cell.section == section}
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] in chosen]
    target = path.with_name(f"section_{section}.ipynb")
    target.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")
    return target.relative_to(folder).as_posix()


def failed(tests: list[str], folder: Path, *options: str) -> list[str]:
    """Run tests and sections in a copy of the course, and return pytest's lines about those that failed."""
    names = [alone(test, folder) if SECTION.fullmatch(test) else test for test in tests]
    environment = {
        name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_STEP_SUMMARY")
    }
    command = [sys.executable, "-m", "pytest", *names, "-q", "-m", "", "-p", "no:cacheprovider", *options]
    how = {"cwd": folder, "env": environment | {"PYTHONPATH": str(folder)}, "text": True}
    limit = LIMIT if "-x" in options else None
    try:
        ended = subprocess.run(command, capture_output=True, timeout=limit, **how)
    except subprocess.TimeoutExpired:
        return [f"more than {LIMIT} s"]
    finally:
        end_what_is_left(folder)
    lines = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if bool(ended.returncode) != bool(lines):  # there is no test of this name, say
        raise SystemExit(f"pytest cannot run {' '.join(names)}:\n{ended.stdout}{ended.stderr}")
    return sorted(lines, key=lambda line: "::" not in line)  # tests, then what the summary says of a notebook


def end_what_is_left(folder: Path) -> None:
    """End processes that a fault has let live: those that still run in `folder`. Only Linux tells them."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to somebody else
            if Path(os.readlink(process / "cwd")).is_relative_to(folder):
                os.kill(int(process.name), signal.SIGKILL)


def main() -> int:
    """Plant the mutants that the command line names, or all, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description="Plant faults, and see which are caught."
    )
    known = [mutant["id"] for mutant in MUTANTS]
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"which; all without it: {', '.join(known)}")
    ids = parser.parse_args().ids
    if unknown := set(ids) - set(known):
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in MUTANTS if mutant["id"] in ids or not ids]
    began, survived = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folder = Path(scratch).resolve()
        folder.chmod(0o755)  # the grader's sandbox reads it as another user
        for path in tracked():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path)
        if broken := failed(sorted({test for mutant in chosen for test in mutant["tests"]}), folder):
            print("without a fault:", *broken, sep="\n")
            return 1
        print(f"{time.monotonic() - began:4.0f} s  without a fault", flush=True)
        for mutant in chosen:
            start = time.monotonic()
            path = place(mutant["needle"], folder)[0]
            before = (folder / path).read_bytes()
            plant(mutant["needle"], mutant["replacement"], folder)
            found = failed(mutant["tests"], folder, "-x")
            (folder / path).write_bytes(before)
            survived += [mutant["id"]] * (not found)
            verdict = found[0] if found else "SURVIVED"
            print(f"{time.monotonic() - start:4.0f} s  {mutant['id']}: {verdict}", flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"{len(chosen) - len(survived)} of {len(chosen)} are caught, in {minutes:.1f} minutes")
    return 1 if survived or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
