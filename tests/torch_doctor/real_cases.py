"""Measure the doctor on real cases from public threads, of which the cause and the cure are known.

A case is a thread in which somebody's PyTorch did not use the GPU, in which the cause was confirmed, and in which something
really cured it. Its symptoms are staged as a machine (:mod:`fake_machines`); what counts as the right cause and as a step
that works is written down before the doctor's answer is looked at. What a case of the files :data:`FILES` has:

- ``address``, ``symptoms``: the thread, and what its author saw;
- ``confirmed``: the cause that was confirmed there, and what cured it;
- ``causes``: the names of the doctor's causes that are right; more than one only where they say the same here;
- ``cures``: alternatives, of which one has to be found. Each is a regular expression that is searched in a step (its text,
  its command and what follows it, a line each); of several all must be found, each in some step;
- ``missing``: what is known to be missing, ``"cause"`` or ``"step"``::

    python tests/torch_doctor/real_cases.py              # the table of all cases
    python tests/torch_doctor/real_cases.py NAME …       # these cases, with the report of each
"""

import contextlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a program: the package is two folders up
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cases import WORDS, Case, cases
from fake_machines import Machine, libraries

from torch_doctor.diagnosis import QUESTIONS
from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.report import Report
from torch_doctor.diagnosis.rules.base import SURE

FILES = ("real_open", "real_held_back", "real_questions", "real_slow_and_hang")  # in the folder `cases`


@dataclass(frozen=True)
class Score:
    """How good an answer is.

    Attributes:
        verdict: The name of the first verdict.
        sure: How sure it is (3 sure, 2 likely, 1 possible).
        right: Whether it names the confirmed cause.
        works: Whether one of its steps cures this machine as it is typed.
        false_sure: Whether it is wrong, and sure of it or declares that nothing is broken.
    """

    verdict: str
    sure: int
    right: bool
    works: bool
    false_sure: bool


def _pattern(cure: str | dict[str, Any]) -> str:
    """Return the pattern of a cure; ``{install = "cu126|auto", also = [...]}`` is a command that installs torch for a build.

    `also` are further packages in it, `start` how it begins.
    """
    if isinstance(cure, str):
        return cure
    names = "".join(rf"(?=.*\s{name}\b)" for name in ("torch", *cure.get("also", [])))
    tool = (
        rf"(?=.*\b(?:install|add|sync)\b).*(?:--torch-backend[= ]|/whl/(?:nightly/)?)(?:{cure['install']})\b"
    )
    return rf"^{cure.get('start', '')}{names}{tool}"


def _alternative(cure: Any) -> tuple[str, ...]:
    return tuple(map(_pattern, cure if isinstance(cure, list) else [cure]))


def load() -> dict[str, Case]:
    """Return all cases by name."""
    return {one.name: one for one in cases(*FILES)}


# --- the score ----------------------------------------------------------------------------------------

# What has to be replaced by hand before the command runs. Of `docker run` only the option to add can be shown.
_UNFINISHED = re.compile(r"\.\.\.|…|XXX|\bNAME\b|\bVERSION\b|<[\w-]+>|\{\w+\}")
_ADDITION = re.compile(r"^\s*(?:sudo )?(?:docker|podman|apptainer|singularity|srun|salloc|sbatch|kubectl)\b")


def steps_of(diagnosis: Diagnosis) -> list[str]:
    """Return the steps that can be followed as they are, in English: text, command and what follows, a line each.

    They are those of the first verdict. If it says that nothing is broken, the remarks and their steps belong to the answer.
    """
    causes = [diagnosis.first.cause]
    found = []
    if diagnosis.kind == "fine":
        remarks = [remark.cause for remark in diagnosis.remarks]
        causes += remarks
        found += [remark.title.en for remark in remarks]
    for step in (step for cause in causes for step in cause.steps):
        if _UNFINISHED.search(step.run) and not _ADDITION.match(step.run):
            continue
        after = step.then.en if step.then else ""
        found.append("\n".join(part for part in (step.text.en, step.run, after) if part))
    return found


def score(case: Case, diagnosis: Diagnosis) -> Score:
    """Compare an answer with what the thread confirmed."""
    first, steps = diagnosis.first, steps_of(diagnosis)
    named = {first.cause.name}
    if first.cause.kind == "fine":  # nothing is broken on the machine: what it adds belongs to the answer
        named |= {remark.cause.name for remark in diagnosis.remarks}
    right = bool(named & set(case.table["causes"]))

    def there(pattern: str) -> bool:
        return any(re.search(pattern, step, re.M) for step in steps)

    works = any(all(map(there, _alternative(cure))) for cure in case.table["cures"])
    false_sure = not right and (first.sure == SURE or first.cause.kind == "fine")
    return Score(first.cause.name, first.sure, right, works, false_sure)


def diagnosis_of(case: Case, machine: Machine) -> Diagnosis:
    """Stage `case` on `machine` and return the doctor's answer."""
    (machine.folder / "project").mkdir(exist_ok=True)
    with contextlib.chdir(machine.folder / "project"):  # the probes look at the current folder
        return case.answer(lambda: machine)


def table(scores: dict[str, Score]) -> str:
    """Return the scores as a table, with their sums below."""
    width = max(map(len, [*scores, "case"]))
    lines = [f"{'case':{width}}  {'first verdict':24}  cause  step  certainty"]
    for name, one in scores.items():
        marks = [f"{'yes' if good else '-':5}" for good in (one.right, one.works)]
        word = WORDS[one.sure] + (" (FALSE)" if one.false_sure else "")
        lines.append(f"{name:{width}}  {one.verdict:24}  {'  '.join(marks)} {word}")
    count = len(scores) or 1
    sure = [one for one in scores.values() if one.sure == SURE]
    right, works = (sum(getattr(one, key) for one in scores.values()) for key in ("right", "works"))
    lines.append(
        f"\n{len(scores)} cases: the first verdict is right in {right} ({right / count:.0%}), a step works in {works} "
        f"({works / count:.0%}); sure of {len(sure)}, of which {sum(one.false_sure for one in sure)} false"
    )
    return "\n".join(lines)


# --- measuring ---------------------------------------------------------------------------------------


def measure(
    cases: Iterable[Case], show: Callable[[Case, Diagnosis], None] = lambda case, found: None
) -> dict[str, Score]:
    """Return the scores of `cases`, each examined on a new machine; call `show` with each answer."""
    scores = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled = libraries(folder / "libraries")
        for number, one in enumerate(cases):
            found = diagnosis_of(one, Machine(folder / f"machine{number}", compiled))
            scores[one.name] = score(one, found)
            show(one, found)
    return scores


def _show(case: Case, found: Diagnosis) -> None:
    print(f"\n=== {case.name}: {case.table['address']}\n{case.table['confirmed']}\n")
    print(Report(found).text("en"))


if __name__ == "__main__":
    known = load()
    wanted = [known[name] for name in sys.argv[1:]] or list(known.values())
    scores = measure(wanted, _show if sys.argv[1:] else lambda case, found: None)
    for question in QUESTIONS:
        if asked := {one.name: scores[one.name] for one in wanted if one.question == question}:
            print(f"\n{question}:\n{table(asked)}")
