"""Check the exercise ``places``: on which device DataParallel keeps what."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.dictionary_answers import filled_in

_MASTER = "cuda:2"

# With device_ids=[2, 0, 1]: the line → the device, and why.
_PLACES = {
    "weight": (
        _MASTER,
        Bilingual(
            "The master copy lives on the first entry of `device_ids`, whatever its number.",
            "正本放在 `device_ids` 的第一個裝置上，不管它是幾號。",
        ),
    ),
    "pieces[1]": (
        "cuda:0",
        Bilingual(
            "The pieces go to the devices in the order of `device_ids`: the second piece to its second entry.",
            "各份資料依照 `device_ids` 的順序分給裝置，第二份給第二個裝置。",
        ),
    ),
    "out": (
        _MASTER,
        Bilingual(
            "Unless you say otherwise (`output_device`), outputs are gathered on the first device.",
            "沒有另外指定（`output_device`）的話，輸出會收集到第一個裝置上。",
        ),
    ),
    "labels": (
        _MASTER,
        Bilingual(
            "The loss needs them beside the gathered output.",
            "算損失時，標籤要和收集好的輸出放在同一個裝置上。",
        ),
    ),
    "weight.grad": (
        _MASTER,
        Bilingual(
            "Gradients belong to the parameters of the master copy, and lie beside them.",
            "梯度屬於正本的參數，和參數放在一起。",
        ),
    ),
}


def _name(value: Any) -> str:
    """Return a device as text: ``cuda:2`` for ``"cuda:2"``, ``torch.device("cuda:2")`` and ``2``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"cuda:{value}"
    return str(value).strip() if isinstance(value, (str, torch.device)) else ""


def examine_places(answer: Any) -> None:
    """Examine a dictionary such as ``{"out": "cuda:2", …}``: what → its device."""
    for key, value in filled_in(answer, _PLACES).items():
        right, why = _PLACES[key]
        given = _name(value)
        if given == "cuda":
            raise Wrong(
                en="`cuda` means the current device. Name one: `cuda:0`, `cuda:1` or `cuda:2`.",
                zh="`cuda` 指的是目前的裝置，請寫出是哪一個：`cuda:0`、`cuda:1` 或 `cuda:2`。",
            )
        if given not in ("cuda:0", "cuda:1", "cuda:2"):
            raise Wrong(
                en=f"`{key}`: the answer is one of `cuda:0`, `cuda:1`, `cuda:2`.",
                zh=f"`{key}` 的答案是 `cuda:0`、`cuda:1`、`cuda:2` 其中之一。",
            )
        if given != right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


_AGREES = {True: Bilingual("right", "正確"), False: Bilingual("not there", "不在那裡")}


def show_places(answer: Any) -> Block:
    """Return which lines agree with what DataParallel does."""
    rows = {}
    for key, (right, _) in _PLACES.items():
        given, agrees = _name(answer.get(key, "")) or "…", _AGREES[_name(answer.get(key, "")) == right]
        rows[key] = Bilingual(f"{given}, {agrees.en}", f"{given}，{agrees.zh}")
    return facts(fixed=rows)
