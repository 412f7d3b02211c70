"""``python -m tools.mutants``: plant the faults of ``tests/mutants.toml`` one by one, and see which the tests catch.

A mutant is the course with one fault, in a temporary copy of the files that git tracks; the working tree stays as it
is. A fault is located by its text and not by a path, so that the list stays good when files move. A mutant is caught if
a test fails that passes without the fault; otherwise it has survived.

Of a notebook, only the cells from the changed one on count, and the whole notebook runs, so that a cell which fails
anyway hides nothing; unit tests stop at the first failure, so they have to pass without a fault. Many cells compare
times: on a busy machine, look whether what failed has to do with the fault. Exit status 1: one survived.
"""

from __future__ import annotations

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
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "mutants.toml"
LIMIT = 900  # seconds for the tests of a mutant; when they are over, it counts as caught
FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+\.(?:py|ipynb)(?:::.+?)?)(?: - .*)?$", re.M)
CELL = re.compile(r"\.ipynb::Cell (\d+)$")  # nbval's name of a test: it counts code cells from 0
Mutant = dict[str, Any]  # a table of the list


def tracked() -> list[Path]:
    """Return the files that git tracks and that exist, relative to the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def copied(folder: str) -> Path:
    """Copy the tracked files to `folder` and return it."""
    for path in tracked():
        (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, Path(folder) / path)
    return Path(folder)


def mutated(mutant: Mutant, folder: Path) -> tuple[Path, int, str]:
    """Return which file below `folder` changes, in which code cell (else 0), and its new text; or end the program."""
    kind, needle, new = mutant["kind"], mutant["needle"], mutant["replacement"]
    found = []
    for path in (folder / path for path in tracked()):
        text = path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".ipynb" and path.name == mutant.get("notebook"):
            notebook, part = json.loads(text), {"cell": "source", "output": "outputs"}[kind]
            for number, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
                held = "".join(cell[part]) if kind == "cell" else json.dumps(cell[part], ensure_ascii=False)
                if times := held.count(needle):
                    held = held.replace(needle, new)
                    cell[part] = held if kind == "cell" else json.loads(held)
                    found += [(path, number, json.dumps(notebook, ensure_ascii=False, indent=1))] * times
        elif path.name != LIST.name and kind == {".toml": "toml", ".ipynb": ""}.get(path.suffix, "code"):
            found += [(path, 0, text.replace(needle, new))] * text.count(needle)
    if len(found) != 1:
        raise SystemExit(f"mutant {mutant['id']}: its needle is found {len(found)} times, not once")
    return found[0]


def failures(folder: Path, tests: list[str], *options: str) -> list[str]:
    """Run pytest in a copy of the course and return the tests that failed."""
    command = [sys.executable, "-m", "pytest", *tests, "-q", "-p", "no:cacheprovider", *options]
    how = {"cwd": folder, "env": os.environ | {"PYTHONPATH": str(folder)}, "timeout": LIMIT, "text": True}
    try:
        ended = subprocess.run(command, capture_output=True, **how)
    except subprocess.TimeoutExpired:
        return [f"more than {LIMIT} s"]
    if ended.returncode not in (0, 1, 2):  # all passed, some failed, some could not be collected
        raise SystemExit(f"pytest cannot run {' '.join(tests)}:\n{ended.stdout}{ended.stderr}")
    return FAILED.findall(ended.stdout)


def end_what_is_left(folder: Path) -> None:
    """End processes that a fault has let live: those that still run in `folder`. Only Linux tells them."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to somebody else
            if Path(os.readlink(process / "cwd")).is_relative_to(folder.resolve()):
                os.kill(int(process.name), signal.SIGKILL)


def new_failures(mutants: list[Mutant], clean: Path, known: dict[str, list[str]]) -> dict[str, list[str]]:
    """Plant `mutants` together in a fresh copy, run their tests, and return the new failures of each.

    Args:
        mutants: One, or several in different cells of one notebook: each is credited with the cells from its own one
            up to the next one's. A fault that breaks later cells may so be credited to another; run alone, it is not.
        clean: A copy without faults, where what failed is run as well.
        known: What failed there, by what was run; filled here.
    """
    tests, failed = mutants[0]["tests"], []
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        folder, first = copied(scratch), {}
        for mutant in mutants:
            path, number, text = mutated(mutant, folder)
            path.write_text(text, "utf-8")
            first[number] = mutant["id"]
        whole = any(test.endswith(".ipynb") for test in tests)
        for test in failures(folder, tests, *["-x"] * (not whole)):
            alike = test.partition("::" if CELL.search(test) else "[")[0]  # the notebook or the function
            if "::" in test and alike not in known:
                known[alike] = failures(clean, [alike])
            failed += [test] * (test not in known.get(alike, []))
        end_what_is_left(folder)
    found: dict[str, list[str]] = {name: [] for name in first.values()}
    for test in failed:
        cell = int(number[1]) if (number := CELL.search(test)) else sys.maxsize
        if before := [start for start in first if start <= cell]:
            found[first[max(before)]].append(test)
    return found


def main() -> int:
    """Run the mutants and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="ID", help="these mutants")
    parser.add_argument("--batch", action="store_true", help="plant those in cells of one notebook together")
    options = parser.parse_args()
    groups: dict[str, list[Mutant]] = {}
    for mutant in tomllib.loads(LIST.read_text("utf-8"))["mutant"]:
        if not options.only or mutant["id"] in options.only:
            mutated(mutant, ROOT)  # an error in the list is found before anything runs
            groups.setdefault((options.batch and mutant.get("notebook")) or mutant["id"], []).append(mutant)
    table: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-none-") as scratch:
        clean, known = copied(scratch), {}
        for group in groups.values():
            began = time.monotonic()
            table |= (found := new_failures(group, clean, known))
            states = [f"{name} {'caught' if tests else 'SURVIVED'}" for name, tests in found.items()]
            print(f"{time.monotonic() - began:4.0f} s  {', '.join(states)}", flush=True)
    for name, tests in table.items():
        print(f"{name:30}  " + (f"caught by {', '.join(tests[:3])}" if tests else "SURVIVED"))
    print(f"{sum(map(bool, table.values()))} of {len(table)} mutants are caught")
    return 0 if table and all(table.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
