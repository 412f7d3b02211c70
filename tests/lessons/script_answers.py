"""All exercises whose answers are scripts: stub, solution, wrong and other right answers; and how many run in one launch.

By day, one wrong answer of each exercise is run, and the solution; at night, all.
"""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from tabled import tables

from course_utils.exercises import Exercise, Mistake, NotYet, exercises_of
from notebook_torchrun import launch
from shared import script_exercise
from shared.script_exercise import Outcome, Plan, ScriptJudge
from tools.wrong_answers import wrong_answers

EXERCISES: dict[str, Exercise] = {
    f"{number}/{name}": exercise
    for number in ("06", "07")
    for name, exercise in exercises_of(number).items()
    if isinstance(exercise.judge, ScriptJudge)
}
JUDGES: dict[str, ScriptJudge] = {key: exercise.judge for key, exercise in EXERCISES.items()}
STUBS = {key: judge.stub for key, judge in JUDGES.items()}
SOLUTIONS = {key: judge.solution for key, judge in JUDGES.items()}


def marks(key: str, mistake: str) -> list[pytest.MarkDecorator]:
    """Return the mark of tests that need the outcome of a wrong answer to an exercise, if that is run at night only."""
    by_day = key not in EXERCISES or mistake == next(iter(wrong_answers(*key.split("/"))))
    return [] if by_day else [pytest.mark.nightly]


def _other(key: str, *changes: tuple[str, str]) -> tuple[str, str]:
    """Return the solution with pieces of its text replaced, each of which must be there."""
    source = SOLUTIONS[key]
    for old, new in changes:
        assert old in source, f"the solution has no {old!r}"
        source = source.replace(old, new)
    return key, source


def in_a_function(script: str) -> str:
    """Return the script with all that follows its imports in a function ``main``."""
    lines = script.strip().splitlines()
    first = max(place for place, line in enumerate(lines) if line.startswith(("import", "from"))) + 1
    body = "".join(f"    {line}\n" for line in lines[first:])
    head = "\n".join(lines[:first])
    return f'{head}\n\ndef main():\n{body}\n\nif __name__ == "__main__":\n    main()\n'


# Right in another way: exercise, script.
RIGHT: dict[str, tuple[str, str]] = {
    row["way"]: _other(row["exercise"], *row["changes"]) for row in tables("script_answers")["right"]
} | {"in a function": ("06/distribute", in_a_function(SOLUTIONS["06/distribute"]))}


def run_together(answers: Iterable[tuple[str, Plan]]) -> int:
    """Run all scripts (text and plan) that have to run, and put their outcomes into the checker's cache.

    Returns:
        How many scripts ran; 0 on Windows, which cannot fork (there each is launched when it is examined).
    """
    if not hasattr(os, "fork"):
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder, jobs = Path(name), []
        for text, plan in dict.fromkeys(answers):
            (folder / "script.py").write_text(text, encoding="utf-8")
            try:
                script_exercise.read(str(folder / "script.py"), "")
            except (NotYet, Mistake):
                continue  # this is known without running it
            if (text, plan) not in script_exercise.outcomes:
                jobs.append((text, plan))
        if not jobs:
            return 0
        (folder / "jobs.json").write_text(
            json.dumps([(t, p.worlds, p.stop) for t, p in jobs]), encoding="utf-8"
        )
        launch(
            Path(__file__).with_name("many_scripts.py"),
            folder,
            processes=max(sum(plan.worlds) for _, plan in jobs),
            limit=600,
            environment={"CUDA_VISIBLE_DEVICES": ""},
            show="quiet",
        ).check()
        for number, (text, plan) in enumerate(jobs):
            records, printed = [], []
            for rank in range(sum(plan.worlds)):
                starts = [folder / f"{number}-{start}-{rank}.json" for start in range(1 + bool(plan.stop))]
                found = [json.loads(file.read_text()) if file.exists() else None for file in starts]
                records.append({f"start {start}": own["record"] for start, own in enumerate(found) if own})
                printed.append(found[-1]["printed"] if found[-1] else [])
            script_exercise.outcomes[text, plan] = Outcome(records, printed, {})
    return len(jobs)


def run_known_scripts(night: bool) -> int:
    """Run the scripts of the day, or all, in one launch, and return how many had to run."""
    known = [*SOLUTIONS.items(), *(RIGHT.values() if night else [])]
    known += [
        (key, text)
        for key in EXERCISES
        for mistake, texts in wrong_answers(*key.split("/")).items()
        for text in texts
        if night or not marks(key, mistake)
    ]
    return run_together([(text, JUDGES[key].plan) for key, text in known])
