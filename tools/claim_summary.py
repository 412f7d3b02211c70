"""What became of the claims of a test run: counted per lesson, and held against what this kind of machine can measure.

A claim that the machine could have measured and did not is a failure, and so is one that is *unclear* twice: the lessons
with unclear claims are executed once more when everything else has ended.
"""

import ast
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_utils.recordings import Limits
from tools.notebook_file import cells

VERDICTS = ("holds", "unclear", "fails", "model", "needs")
# What each kind of machine has for certain. Other needs (bfloat16 units, a compiler …) depend on its model.
CLASSES = {
    "CPU": {None},
    "one GPU": {None, "cuda"},
    "two GPUs or more": {None, "cuda", "two_gpus"},
}


def machine_class(gpus: int) -> str:
    """Return the kind of a machine with so many GPUs, a key of :data:`CLASSES`."""
    return list(CLASSES)[min(gpus, 2)]


@dataclass(frozen=True)
class Declared:
    """A claim as a lesson's code says it: what it needs (a name, where that depends), and its limits (at least, at most)."""

    needs: str | None
    limits: Limits


def claims_in(path: Path) -> dict[str, Declared]:
    """Return the claims of a notebook by id, as its code cells say; an id that is no literal is a ValueError."""
    found: dict[str, Declared] = {}
    for cell in cells(path):
        try:
            tree = ast.parse(cell.source if cell.code else "")
        except SyntaxError:
            continue  # a cell may show a syntax error
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "claim"):
                continue
            if not node.args or not isinstance(node.args[0], ast.Constant):
                raise ValueError(f"{path.name}: claim() takes its id as a literal: {ast.unparse(node)}")
            words = {word.arg: word.value for word in node.keywords}
            needs = words.get("needs", ast.Constant(None))
            low, high = (ast.literal_eval(words.get(side, "None")) for side in ("at_least", "at_most"))
            found[node.args[0].value] = Declared(
                needs.value if isinstance(needs, ast.Constant) else ast.unparse(needs), (low, high)
            )
    return found


def read_notes(path: Path) -> list[dict[str, Any]]:
    """Return the notes in a journal (``COURSE_RECORD``); a process may have died while it wrote the last line."""
    data = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def verdicts(journal: Path) -> list[tuple[str, str]]:
    """Return id and verdict of each claim noted in a journal."""
    notes = (note for note in read_notes(journal) if note["kind"] == "claim")
    return [(note["key"], note["values"]["verdict"]) for note in notes]


@dataclass
class Summary:
    """The claims of one run."""

    gpus: int = 0  # how many the machine has
    verdicts: dict[Path, dict[str, str]] = field(default_factory=dict)  # notebook → claim → verdict
    problems: list[str] = field(default_factory=list)  # what makes the run fail
    remarks: list[str] = field(default_factory=list)  # what does not

    def add(self, path: Path, noted: Iterable[tuple[str, str]]) -> None:
        """Add the verdicts of a cell."""
        self.verdicts.setdefault(path, {}).update(noted)

    def repeat_unclear(self, *, strict: bool) -> None:
        """Execute the notebooks with unclear claims again, now that the machine is quiet, and take the new verdicts.

        Args:
            strict: Whether what is unclear again is a problem (in CI) or a remark (somebody works on this machine).
        """
        from tools.record import CellFailed, execute

        for path, noted in self.verdicts.items():
            if not (ids := [i for i, verdict in noted.items() if verdict == "unclear"]):
                continue
            with tempfile.TemporaryDirectory(prefix="course-again-") as folder:
                journal = Path(folder) / "journal.jsonl"
                try:
                    execute(path, journal, target=Path(folder) / path.name)
                except CellFailed as error:
                    self.problems.append(f"{path.name}: run again for its unclear claims, it failed: {error}")
                again = dict(verdicts(journal))
            self.add(path, [(i, again[i]) for i in ids if i in again])
            for i in ids:
                text = f"{path.name}: claim {i} was unclear; measured again, it is: {again.get(i, 'not reached')}"
                failed = again.get(i) != "holds" and strict
                (self.problems if failed else self.remarks).append(text)

    def check(self, complete: Iterable[Path]) -> None:
        """Note as a problem each claim of the `complete` notebooks that this machine can measure and did not."""
        has = CLASSES[machine_class(self.gpus)]
        for path in complete:
            noted = self.verdicts.get(path, {})
            for i, claim in claims_in(path).items():
                if i not in noted:
                    self.problems.append(f"{path.name}: claim {i} was never reached")
                elif claim.needs in has and noted[i] == "needs":
                    self.problems.append(
                        f"{path.name}: claim {i} was not measured, but a machine of the kind "
                        f"“{machine_class(self.gpus)}” can (needs={claim.needs!r})"
                    )

    def table(self) -> list[str]:
        """Return as lines of text how many claims of each notebook, and in total, have which verdict."""
        found = {path.name: list(noted.values()) for path, noted in sorted(self.verdicts.items())}
        found["total"] = [verdict for noted in found.values() for verdict in noted]
        rows: dict[str, Iterable[object]] = {
            machine_class(self.gpus): ("hold", "unclear", "fail", "modelled", "not shown")
        }
        rows |= {name: map(verdicts.count, VERDICTS) for name, verdicts in found.items()}
        width = max(map(len, found))
        return [f"{name:{width}}" + "".join(f"{cell:>14}" for cell in row) for name, row in rows.items()]


def write_job_summary(sections: Mapping[str, list[str]]) -> None:
    """Append sections of text to the summary of a GitHub job, where there is one (``GITHUB_STEP_SUMMARY``)."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    with open(target, "a", encoding="utf-8") as file:
        for title, lines in sections.items():
            if lines:
                file.write(f"### {title}\n\n```\n" + "\n".join(lines) + "\n```\n\n")
