"""Exercise: which lines of a log a resumed run keeps."""

from __future__ import annotations

from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Wrong


def _log(*steps: int) -> list[dict[str, float]]:
    return [{"step": step, "loss": round(1 / step, 3)} for step in steps]


CASES = ((_log(2, 4, 6, 8, 10), 4), (_log(1, 2, 3), 3), (_log(5, 10, 15, 20), 10), (_log(5, 10), 0), ([], 0))


def examine_kept_lines(answer: Any) -> None:
    """Examine ``kept(lines, step)``: the lines of steps that the checkpoint knows."""
    for lines, step in CASES:
        got = answer([dict(line) for line in lines], step)
        if got is None:
            raise Wrong(**NO_RETURN)
        if not isinstance(got, (list, tuple)) or not all(isinstance(line, dict) for line in got):
            raise Wrong(
                en="Return a list of lines, each the dictionary that it was.",
                zh="請傳回 list，裡面是原來的那些 dict，一行一個。",
            )
        steps = [line.get("step") for line in got]
        right = [own["step"] for own in lines if own["step"] <= step]
        if steps != right:
            _explain(steps, right, [own["step"] for own in lines], step)
        if [*got] != lines[: len(right)]:
            raise Wrong(
                en="The steps are right, but a line has changed.", zh="步數對了，但有一行的內容改掉了。"
            )


def _explain(steps: list[Any], right: list[int], given: list[int], step: int) -> None:
    """Raise the hint for the wrong lines."""
    case_en = f"The log has the steps {given}, the checkpoint is of step {step}, and you keep {steps}."
    case_zh = f"紀錄裡的步數是 {given}，檢查點是在第 {step} 步之後存的，你留下的是 {steps}。"
    if steps == right[:-1]:
        raise Wrong(
            en=f"{case_en} Step {step} itself was done before the checkpoint was written.",
            zh=f"{case_zh}第 {step} 步在存檢查點之前就已經完成了。",
        )
    if steps == given[:step] != given:
        raise Wrong(
            en=f"{case_en} `step` is not a number of lines: not every step has one.",
            zh=f"{case_zh}`step` 不是行數，因為不是每一步都有一行。",
        )
    if steps and right and steps[0] > step:
        raise Wrong(
            en=f"{case_en} These are the lines of the lost future: the resumed run writes them anew.",
            zh=f"{case_zh}這些正好是作廢的那幾步，接續之後會重新寫一次。",
        )
    raise Wrong(
        en=f"{case_en} What comes after step {step} is done again: those lines would stand there twice.",
        zh=f"{case_zh}第 {step} 步之後的訓練會重做，不刪的話，那幾行就會重複出現。",
    )


def show_kept_lines(answer: Any) -> Block:
    """Return what the learner's function keeps of one log, for several checkpoints."""
    lines = _log(*range(5, 45, 5))
    rows = {f"step = {step}": f"{[line['step'] for line in answer(lines, step)]}" for step in (0, 10, 20, 40)}
    return facts(fixed=rows)
