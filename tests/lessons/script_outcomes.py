"""Run many learners' scripts in one launch, before the tests that need their outcomes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from course_utils.exercises import NotYet, Wrong
from lesson_06 import script_run
from lesson_06.script_run import PROCESSES, Outcome
from notebook_torchrun import launch


class _NeedsToRun(BaseException):
    """Has the text of the script that the checker would run."""


def _script(examine: Callable[[Any], None], answer: Any) -> str | None:
    """Return the text that `examine` runs for an answer; None if it finds a mistake without."""

    def outcome(text: str) -> Outcome:
        raise _NeedsToRun(text)

    with patch.object(script_run, "outcome", outcome):
        try:
            examine(answer)
        except _NeedsToRun as needed:
            return str(needed)
        except (Wrong, NotYet):
            return None
    raise AssertionError("a script was accepted without being run")


def run_together(answers: Iterable[tuple[Callable[[Any], None], Any]]) -> int:
    """Run all scripts among `answers` that have to run, and put their outcomes into the checker's cache.

    Args:
        answers: The function that examines an answer, and the answer.

    Returns:
        How many scripts ran; 0 on Windows, which cannot fork (there each is launched when it is examined).
    """
    if not hasattr(os, "fork"):
        return 0
    scripts = [script for script in dict.fromkeys(_script(*answer) for answer in answers) if script]
    scripts = [script for script in scripts if script not in script_run.outcomes]
    if not scripts:
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, script in enumerate(scripts):
            (folder / f"{number}.py").write_text(script, encoding="utf-8")
        launch(
            Path(__file__).with_name("many_scripts.py"),
            folder,
            len(scripts),
            processes=PROCESSES,
            limit=300,
            environment={"CUDA_VISIBLE_DEVICES": ""},
            show="quiet",
        ).check()
        for number, script in enumerate(scripts):
            files = [folder / f"{number}-{rank}.json" for rank in range(PROCESSES)]
            found = [json.loads(file.read_text()) if file.exists() else None for file in files]
            script_run.outcomes[script] = Outcome(
                tuple(rank and rank["record"] for rank in found),
                tuple(tuple(rank["printed"]) if rank else () for rank in found),
            )
    return len(scripts)
