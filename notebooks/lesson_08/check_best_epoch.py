"""Exercise: when was a run at its best? Read from the lines of its log."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Exercise, Wrong
from shared.given_number import number

EPOCH = Bilingual("the number of an epoch", "訓練週期的編號")


def made_log(errors: list[float], losses: list[float]) -> list[dict]:
    """Return the lines of a log: three steps in each epoch, the last one with the validation error."""
    lines = []
    for epoch, (error, loss) in enumerate(zip(errors, losses, strict=True)):
        for place in (1, 2, 3):
            line = {"step": 3 * epoch + place, "epoch": epoch, "loss": loss + 0.01 * (3 - place)}
            lines.append(line | ({"val_mse": error} if place == 3 else {}))
    return lines


CASES = (
    ([0.9, 0.5, 0.3, 0.4, 0.6], [0.9, 0.6, 0.4, 0.3, 0.2]),  # it learns by heart from epoch 3 on
    ([0.4, 0.7], [0.5, 0.1]),
    ([0.8, 0.6, 0.6], [0.9, 0.6, 0.5]),
    ([0.7], [0.3]),
)


def examine(answer: Any) -> None:
    """Examine ``best_epoch(lines) -> int``."""
    for errors, losses in CASES:
        try:
            got, right = number(answer(made_log(errors, losses)), EPOCH), errors.index(min(errors))
        except KeyError as error:
            raise Wrong(
                en=f"A line has no `{str(error)[1:-1]}`. Only the last line of an epoch holds `val_mse`: choose these lines first.",
                zh=f"有一行沒有 `{str(error)[1:-1]}`。每個訓練週期只有最後一行有 `val_mse`，請先挑出這些行。",
            ) from error
        if got != right:
            _explain(got, errors)


def _explain(got: float, errors: list[float]) -> None:
    """Raise the hint for a wrong epoch."""
    best, right, last = min(errors), errors.index(min(errors)), len(errors) - 1
    if got == best:
        raise Wrong(
            en="That is the error itself. Asked for is the epoch in which it was measured.",
            zh="這是誤差本身。題目要的是量到這個誤差的訓練週期。",
        )
    if got == 3 * right + 2:
        raise Wrong(
            en="That is the place of its line in the log. What does the line say under `epoch`?",
            zh="這是那一行在紀錄裡的位置。那一行的 `epoch` 是多少？",
        )
    if got == right + 1 and errors.count(best) > 1:
        raise Wrong(
            en="Two epochs are equally good. Return the first: what came later only took time.",
            zh="有兩個訓練週期一樣好，請傳回前面那一個，後面那個只是多花時間。",
        )
    if got == last:
        raise Wrong(
            en="That is the last epoch, where the **training** loss is lowest. Which number in a line tells about windows that the model never learned from?",
            zh="這是最後一個訓練週期，此時最低的是**訓練**損失。每一行裡，哪個數字是用模型沒學過的視窗量的？",
        )
    if got == errors.index(max(errors)):
        raise Wrong(en="There the error is largest.", zh="這個訓練週期的誤差反而最大。")
    raise Wrong(
        en=f"The validation errors are {errors}, by epoch from 0; your function says {got:g}.",
        zh=f"從訓練週期 0 起，驗證誤差依序是 {errors}，你的函式傳回 {got:g}。",
    )


def shown(answer: Any) -> Block:
    """Return a table of what the answer says about the first log."""
    errors, losses = CASES[0]
    rows = {
        Bilingual(f"epoch {epoch}", f"訓練週期 {epoch}"): f"loss {loss}, val_mse {error}"
        for epoch, (error, loss) in enumerate(zip(errors, losses, strict=True))
    }
    return facts(fixed=rows | {"best_epoch(lines)": answer(made_log(errors, losses))})


EXERCISE = Exercise(
    "best_epoch",
    Bilingual("when was it best?", "什麼時候最好？"),
    examine,
    (
        Bilingual(
            "Only the last line of each epoch has `val_mse`. Leave the others out.",
            "每個訓練週期只有最後一行有 `val_mse`，其他各行請先略過。",
        ),
        Bilingual(
            "`min(lines, key=…)` returns the line for which the key is smallest, the first one of several.",
            "`min(lines, key=…)` 會傳回 key 最小的那一行；最小的有好幾行時，傳回第一行。",
        ),
    ),
    level="easy",
    show=shown,
)
