"""Exercise: at which horizons is a model better than another one?"""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Exercise, Wrong

CASES = (
    ([0.15, 0.18, 0.20, 0.25], [0.13, 0.36, 0.64, 0.91]),
    ([0.3, 0.2, 0.5, 0.4], [0.3, 0.3, 0.4, 0.6]),
    ([0.5, 0.6], [0.4, 0.5]),
)


def examine(answer: Any) -> None:
    """Examine ``better_at(model, other) -> list of horizons``."""
    for model, other in CASES:
        got = answer(list(model), list(other))
        if got is None:
            raise Wrong(**NO_RETURN)
        if not isinstance(got, (list, tuple, set, range)):
            raise Wrong(
                en=f"Return a list of horizons; yours is a `{type(got).__name__}`.",
                zh=f"請傳回由預測距離組成的 list，你傳回的卻是 `{type(got).__name__}`。",
            )
        if list(got) != [h for h, pair in enumerate(zip(model, other, strict=True), 1) if pair[0] < pair[1]]:
            _explain(list(got), model, other)


def _explain(got: list, model: list[float], other: list[float]) -> None:
    """Raise the hint for wrong horizons."""
    pairs = list(enumerate(zip(model, other, strict=True)))
    if got == [place for place, (mine, its) in pairs if mine < its]:
        raise Wrong(
            en="A list begins with place 0, but its first error is that of horizon 1, the next hour.",
            zh="list 的位置從 0 開始，但第一個誤差對應預測距離 1，也就是下一個小時。",
        )
    if got == [place + 1 for place, (mine, its) in pairs if mine > its]:
        raise Wrong(
            en="There the other one is better: the smaller error wins.",
            zh="在這些距離，比較好的是另一種做法：誤差小的才贏。",
        )
    if got == [place + 1 for place, (mine, its) in pairs if mine <= its]:
        raise Wrong(en="As good as the other one is not better.", zh="和另一種做法一樣好，不算比較好。")
    if got == [mine for _, (mine, its) in pairs if mine < its]:
        raise Wrong(
            en="These are errors. Asked for are the horizons where they are smaller.",
            zh="這些是誤差。題目要的是誤差較小的那些預測距離。",
        )
    raise Wrong(
        en=f"Model {model}, other {other}: your function says {str(got)[:80]}.",
        zh=f"模型的誤差是 {model}，另一種做法的是 {other}，你的函式傳回 {str(got)[:80]}。",
    )


def shown(answer: Any) -> Block:
    """Return a table of what the answer says."""
    rows = {f"better_at({model}, {other})": answer(list(model), list(other)) for model, other in CASES[:2]}
    return facts(fixed=rows)


EXERCISE = Exercise(
    "better_at",
    Bilingual("where is it better?", "哪些距離比較好？"),
    examine,
    (
        Bilingual(
            "Go through both lists side by side: `zip(model, other)`.",
            "用 `zip(model, other)` 把兩個 list 的誤差一一配對。",
        ),
        Bilingual(
            "`enumerate(…, start=1)` counts the horizons along.",
            "`enumerate(…, start=1)` 會同時給出預測距離。",
        ),
    ),
    level="easy",
    show=shown,
)
