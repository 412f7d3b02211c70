"""Lets the tests know beforehand what comes of the scripts in ``wrong_answers.py``: all of them in one launch."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from course_utils.exercises import NotYet, Wrong, distributed
from course_utils.exercises.distributed import PROCESSES, Outcome
from course_utils.launcher import launch


class _NeedsToRun(BaseException):
    """Carries the text of a script that the checker would run now."""


def _text(examine: Callable[[Any], None], script: Any) -> str | None:
    """Return the text that `examine` runs for an answer, or None if it can do without."""

    def outcome(text: str) -> Outcome:
        raise _NeedsToRun(text)

    original, distributed.outcome = distributed.outcome, outcome
    try:
        examine(script)
    except _NeedsToRun as needed:
        return str(needed)
    except (Wrong, NotYet):  # seen without running it
        return None
    finally:
        distributed.outcome = original
    raise AssertionError("a script was accepted without being run")


def run_together(answers: Iterable[tuple[Callable[[Any], None], Any]]) -> int:
    """Run all scripts among `answers` that have to run, and have the checker remember what came of them.

    Args:
        answers: The function that examines an answer, and the answer.

    Returns:
        How many scripts ran; 0 where processes cannot be forked (then each is launched when it is examined).
    """
    if not hasattr(os, "fork"):
        return 0
    texts = [text for text in dict.fromkeys(_text(*answer) for answer in answers) if text]
    texts = [text for text in texts if text not in distributed._outcomes]
    if not texts:
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, text in enumerate(texts):
            (folder / f"{number}.py").write_text(text, encoding="utf-8")
        launch(
            Path(__file__).with_name("many_scripts.py"),
            folder,
            len(texts),
            processes=PROCESSES,
            limit=300,
            environment={"CUDA_VISIBLE_DEVICES": ""},
            show="quiet",
        ).check()
        for number, text in enumerate(texts):
            files = [folder / f"{number}-{rank}.json" for rank in range(PROCESSES)]
            found = [json.loads(file.read_text()) if file.exists() else None for file in files]
            distributed._outcomes[text] = Outcome(
                tuple(one and one["notes"] for one in found),
                tuple(tuple(one["printed"]) if one else () for one in found),
                True,
            )
    return len(texts)
