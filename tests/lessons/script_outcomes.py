"""Run many learners' scripts in one launch, before the tests that need their outcomes."""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from course_utils.exercises import Mistake, NotYet
from notebook_torchrun import launch
from shared import script_exercise
from shared.script_exercise import Outcome, Plan


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
