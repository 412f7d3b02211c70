"""``python -m tools.perturb [NOTEBOOKS] [--seeds N]``: find statements that depend on rounding.

Each notebook runs once as it is, and then once per seed with perturbed training: every gradient that an optimizer sees
is multiplied by 1 + noise as large as its rounding (relative 1e-7 in float32), and a shuffled batch of a ``DataLoader``
gets another order within itself. Both happen in every process that the notebook starts. What a lesson states must not
depend on them: a verdict or a compared text that differs is reported. Times vary as well: look at what a reported
claim measures, and run it again. Exit status 1: something differs.
"""

import argparse
import os
import shutil
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from unittest.mock import patch

from tools.claim_summary import read_journal
from tools.notebook_file import read
from tools.outputs import sanitized
from tools.record import NOTEBOOKS, CellFailed, execute

HOOK = Path(__file__).with_name("perturb_hook.py")


def run(notebook: Path, seed: int | None) -> tuple[dict[str, str], dict[str, str]]:
    """Execute a notebook, with noise if there is a seed.

    Args:
        notebook: The notebook; it stays as it is.
        seed: Of the noise; None for a run without.

    Returns:
        Verdict by claim, and compared text by cell.
    """
    with tempfile.TemporaryDirectory(prefix="perturb-") as scratch:
        journal, done = Path(scratch, "journal"), Path(scratch, "done.ipynb")
        changed = {"COURSE_STRICT": "0"}
        if seed is not None:
            shutil.copy(HOOK, Path(scratch, "sitecustomize.py"))  # Python imports it when it starts
            inherited = filter(None, [scratch, os.environ.get("PYTHONPATH")])
            changed |= {"PYTHONPATH": os.pathsep.join(inherited), "COURSE_PERTURB_SEED": str(seed)}
        with patch.dict(os.environ, changed):
            try:
                execute(notebook, journal, target=done)
            except CellFailed as failure:
                print(f"{notebook.name}, seed {seed}: {failure}", flush=True)
        claims = dict(read_journal(journal)[0])
        cells = [cell for cell in read(done).cells if cell.cell_type == "code"] if done.exists() else []
        return claims, {cell.id: compared(cell.outputs) for cell in cells}


def compared(outputs: list) -> str:
    """Return the text of a cell's outputs, without what a machine may change."""
    text = ""
    for output in outputs:  # a stream may arrive in several pieces
        data = output.get("data", {})
        text += output.get("text", "") + output.get("evalue", "")
        text += "".join(
            f"\n{data[kind]}\n" for kind in ("text/html", "text/plain", "text/markdown") if kind in data
        )
    return sanitized(text)


def differences(plain: dict[str, str], perturbed: dict[str, str]) -> set[str]:
    """Return the names whose texts differ, or which only one of the two has."""
    return {name for name in {**plain, **perturbed} if plain.get(name) != perturbed.get(name)}


def findings(notebook: Path, plain: tuple[dict[str, str], dict[str, str]], seed: int) -> list[str]:
    """Return what differs with this seed, one line each; only what differs in a second run as well.

    Args:
        notebook: The notebook.
        plain: What :func:`run` returned without noise.
        seed: Of the noise.
    """
    found = run(notebook, seed)
    names = [differences(*pair) for pair in zip(plain, found, strict=True)]
    if any(names):  # the noise is the same again, but not what other programs do to times
        again = run(notebook, seed)
        names = [first & differences(*pair) for first, *pair in zip(names, plain, again, strict=True)]
    (claims, texts), (other_claims, other_texts) = plain, found
    lines = [
        f"claim {name}: {claims.get(name)}, perturbed {other_claims.get(name)}" for name in sorted(names[0])
    ]
    for name in sorted(names[1]):
        sides = [text.get(name, "").splitlines() for text in (texts, other_texts)]
        changed = [line for line in unified_diff(*sides, lineterm="", n=0)][2:8]
        lines.append(f"cell {name}: " + " | ".join(line for line in changed if not line.startswith("@")))
    return [f"{notebook.name}, seed {seed}: {line}" for line in lines]


def main() -> int:
    """Run the notebooks and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(NOTEBOOKS.glob("[0-9]*.ipynb")))
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    options, failed = parser.parse_args(), False
    for notebook in map(Path.resolve, options.notebooks):
        plain = run(notebook, None)
        for seed in range(1, options.seeds + 1):
            for line in findings(notebook, plain, seed):
                failed = True
                print(line, flush=True)
        print(
            f"{notebook.name}: {len(plain[0])} claims, {len(plain[1])} cells, {options.seeds} seeds",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
