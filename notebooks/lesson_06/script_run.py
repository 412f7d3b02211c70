"""Run a learner's script in two processes on the CPU, and say what kept it from its end."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.exercises import Wrong
from lesson_06 import observed_script
from notebook_torchrun import launch

LIMIT_SECONDS = 60.0  # usually 5 or less; the notebook may share the machine
PROCESSES = 2

# Messages of ranks that wait for a rank which has stopped, or is in another collective.
_OUT_OF_STEP = re.compile(
    r"timed? ?out|closed by peer|reset by peer|[Bb]roken pipe|pair closure|DistNetworkError|op\.preamble",
    re.I,
)


@dataclass(frozen=True)
class Outcome:
    """What running a script led to.

    Attributes:
        records: By rank, what :func:`lesson_06.observed_script.observe` returned; None if the rank was killed.
        printed: By rank, the lines that it printed.
    """

    records: tuple[dict[str, Any] | None, ...]
    printed: tuple[tuple[str, ...], ...]


outcomes: dict[str, Outcome] = {}  # by text: checking the same script again costs nothing


def outcome(script: str) -> Outcome:
    """Return what a run of `script` leads to; the same text runs only once.

    Args:
        script: The text of a Python script.
    """
    if script in outcomes:
        return outcomes[script]
    with tempfile.TemporaryDirectory(prefix="course-exercise-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / observed_script.NAME
        path.write_text(script, encoding="utf-8")
        run = launch(
            Path(observed_script.__file__),
            path,
            processes=PROCESSES,
            limit=LIMIT_SECONDS,
            environment={"CUDA_VISIBLE_DEVICES": ""},
            show="quiet",
        )
    printed = tuple(tuple(text for rank, text in run.lines if rank == own) for own in range(PROCESSES))
    found = Outcome(tuple(run.results), printed)
    if run.seconds < LIMIT_SECONDS:  # otherwise the machine may have been busy: the next try may end in time
        outcomes[script] = found
    return found


def run(script: str) -> tuple[list[dict[str, Any]], tuple[tuple[str, ...], ...]]:
    """Return each rank's record of `script`, and the lines that it printed.

    Args:
        script: The text of a Python script.

    Raises:
        Wrong: A rank raised, or waited in vain for another.
    """
    found = outcome(script)
    raised = [
        (rank, record["line"], record["raised"])
        for rank, record in enumerate(found.records)
        if record and "raised" in record
    ]
    causes = [failure for failure in raised if not _OUT_OF_STEP.search(failure[2])]
    if causes:
        rank, line, text = causes[0]
        text = text.splitlines()[0].replace("`", "'").rstrip(".") if text else ""
        raise Wrong(
            en=f"Rank {rank} of your script stopped in line {line}: {text[:300]}.",
            zh=f"程式的 rank {rank} 停在第 {line} 行：{text[:300]}。",
        )
    if raised or None in found.records:
        en, zh = (f" (line {raised[0][1]})", f"（第 {raised[0][1]} 行）") if raised else ("", "")
        raise Wrong(
            en=f"The processes got out of step: one waits in a collective for another that is somewhere else, or gone{en}. Does every rank call the same collectives, in the same order?",
            zh=f"兩個行程的步調亂了：一個在集體通訊裡等，另一個卻在別處，或是已經結束{zh}。每個 rank 呼叫的集體通訊都一樣嗎？順序也一樣嗎？",
        )
    return [record for record in found.records if record], found.printed
