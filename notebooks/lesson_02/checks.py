"""The exercises of lesson 02, moving tensors and models."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.exercises import NO_RETURN, Exercise, Wrong
from lesson_02.check_move import examine_move
from lesson_02.check_stays_behind import examine_stays_behind
from shared.dictionary_answers import filled_in
from shared.sync_counter import counting
from torch_doctor.bilingual import Bilingual

_IDENTITIES: dict[str, tuple[object, Bilingual]] = {
    "x.to('cpu') is x": (
        True,
        Bilingual(
            "`x` is on the CPU already, and `.to` copies only when something has to change.",
            "`x` 本來就在 CPU 上；只有東西需要改變時，`.to` 才會複製。",
        ),
    ),
    "x.to(torch.float64) is x": (
        False,
        Bilingual(
            "Another data type means other bytes, so this must be a new tensor.",
            "換了資料型別，內容的位元組也跟著變，所以一定是新的張量。",
        ),
    ),
    "x.to('cpu', copy=True) is x": (
        False,
        Bilingual(
            "`copy=True` asks for a copy even where none is needed.",
            "`copy=True` 就是要求複製，就算不需要也一樣。",
        ),
    ),
    "model.to(torch.float64) is model": (
        True,
        Bilingual(
            "A module changes its own parameters and returns itself; only tensors return something new.",
            "模組會改自己的參數，再傳回自己；只有張量才會傳回新的東西。",
        ),
    ),
    "x.dtype after x.to(torch.float64)": (
        "torch.float32",
        Bilingual(
            "The result was thrown away: `Tensor.to` leaves `x` as it was.",
            "結果沒人接住，就丟掉了：`Tensor.to` 不會改動 `x` 本身。",
        ),
    ),
}


def examine_identity(answer: Any) -> None:
    """Examine a dictionary such as ``{"x.to('cpu') is x": True, …}`` with True, False or the name of a dtype."""
    values = filled_in(answer, _IDENTITIES)
    for key, (right, why) in _IDENTITIES.items():
        value = values[key]
        given = str(value) if isinstance(right, str) else value
        if isinstance(right, bool) and not isinstance(value, bool):
            raise Wrong(
                en=f"The answer to `{key}` is `True` or `False`.",
                zh=f"`{key}` 的答案是 `True` 或 `False`。",
            )
        if given != right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


def examine_mean_loss(answer: Any) -> None:
    """Examine ``mean_loss(losses) -> float``, which may synchronize once."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    losses = list(torch.arange(50.0, device=device))
    with counting() as synchronizations:
        got = answer(losses)
    count = synchronizations.count
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, torch.Tensor):
        raise Wrong(
            en="You return a tensor. A log needs a Python number: fetch it once, at the very end.",
            zh="你傳回的是張量。紀錄裡要放的是 Python 的數字：最後再取值，取一次就好。",
        )
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"The answer should be a `float`, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是 `float`，你傳回的卻是 `{type(got).__name__}`。",
        )
    if not abs(got - 24.5) <= 1e-3:  # `not … <=` also rejects nan
        _recognize_number(got)
    if count > 1:
        raise Wrong(
            en=f"The number is right, but for 50 losses the host waits {count} times. Combine them on the device first, then "
            "fetch one number.",
            zh=f"數字對了，但 50 個損失讓主機等了 {count} 次。先在裝置上合成一個，再取值。",
        )


def _recognize_number(got: float) -> None:
    """Raise the hint for a number that is not the mean of 0, 1, …, 49."""
    if abs(got - 1225.0) < 1e-3:
        raise Wrong(en="That is the sum; the task asks for the mean.", zh="這是總和，題目要的是平均。")
    if abs(got - 49.0) < 1e-3:
        raise Wrong(
            en="That is only the last loss; the task asks for the mean of all of them.",
            zh="這只是最後一個損失，題目要的是全部的平均。",
        )
    raise Wrong(
        en=f"The mean of 0, 1, …, 49 is 24.5, but you get {got:g}.",
        zh=f"0、1、……、49 的平均是 24.5，你算出 {got:g}。",
    )


EXERCISES = (
    Exercise(
        "identity",
        Bilingual("the same, or a copy?", "是同一個，還是複本？"),
        examine_identity,
        (
            Bilingual(
                "For each line, ask: does anything have to change? If not, `.to` returns the tensor itself.",
                "每一行都先問：有東西需要改變嗎？沒有的話，`.to` 傳回的就是原來的張量。",
            ),
            Bilingual("Modules behave differently from tensors.", "模組和張量的做法不同。"),
            Bilingual(
                "You can try each line in a cell of its own, but guess first.",
                "每一行都可以另開一格試試看，但要先猜再試。",
            ),
        ),
    ),
    Exercise(
        "move",
        Bilingual("move a nested batch", "搬移巢狀的批次"),
        examine_move,
        (
            Bilingual(
                "Four cases: a tensor, a dictionary, a list or tuple, anything else.",
                "分四種情況：張量、字典、list 或 tuple、其他。",
            ),
            Bilingual(
                "For a container: call `move` on everything in it.", "遇到容器，就對裡面的每一項呼叫 `move`。"
            ),
            Bilingual(
                "`type(batch)(move(v, device) for v in batch)` returns a list for a list and a tuple for a tuple.",
                "`type(batch)(move(v, device) for v in batch)` 能讓 list 維持 list，tuple 維持 tuple。",
            ),
        ),
    ),
    Exercise(
        "stays_behind",
        Bilingual("a module whose parts stay behind", "搬家時漏帶東西的模組"),
        examine_stays_behind,
        (
            Bilingual(
                "Print `list(net.parameters())` and `net.state_dict()`: what is missing?",
                "印出 `list(net.parameters())` 和 `net.state_dict()`：少了什麼？",
            ),
            Bilingual("For the layers: `nn.ModuleList`.", "各層要用 `nn.ModuleList`。"),
            Bilingual(
                "For the constant: `self.register_buffer(name, tensor)`.",
                "常數要用 `self.register_buffer(名稱, 張量)`。",
            ),
        ),
    ),
    Exercise(
        "mean_loss",
        Bilingual("log without stalls", "記錄損失，但不停頓"),
        examine_mean_loss,
        (
            Bilingual(
                "`float(loss)`, `loss.item()` and `print(loss)` all fetch, and wait.",
                "`float(loss)`、`loss.item()`、`print(loss)` 都會取值，也都會等。",
            ),
            Bilingual(
                "`torch.stack` makes one tensor out of many, on the device.",
                "`torch.stack` 能在裝置上把許多張量合成一個。",
            ),
            Bilingual("Mean first, `.item()` last.", "先取平均，最後才 `.item()`。"),
        ),
    ),
)
