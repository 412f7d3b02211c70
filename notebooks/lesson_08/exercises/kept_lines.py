"""Exercise ``kept(lines, step) -> lines``: what a resumed run keeps of its log."""

from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes


def log(*steps: int) -> list[dict[str, float]]:
    """Return the lines of a log that has a line after each of `steps`."""
    return [{"step": step, "loss": round(1 / step, 3)} for step in steps]


def judge(answer: Any) -> Mistakes:
    """Compare the steps of the lines, then their contents."""
    for given, step in (([2, 4, 6, 8, 10], 4), ([1, 2, 3], 3), ([5, 10, 15, 20], 10), ([5, 10], 0), ([], 0)):
        got = answer(log(*given), step)
        yield got is None, "returned_none"
        lines = isinstance(got, (list, tuple)) and all(isinstance(line, dict) for line in got)
        yield not lines, "no_lines"
        steps, right = [line.get("step") for line in got], [own for own in given if own <= step]
        case = {"given": given, "step": step, "got": steps}
        if steps != right:
            yield steps == right[:-1], "too_early", case
            yield steps == given[:step] != given, "count", case
            yield steps and right and steps[0] > step, "lost_future", case
            yield True, "all_lines", case
        yield [*got] != log(*right), "changed"


def show(answer: Any) -> Block:
    """Return what the learner's function keeps of one log, for several checkpoints."""
    lines = log(*range(5, 45, 5))
    rows = {f"step = {step}": f"{[line['step'] for line in answer(lines, step)]}" for step in (0, 10, 20, 40)}
    return facts(fixed=rows)
