"""Exercise: on how many GPUs does a model fit with FSDP?"""

from __future__ import annotations

import math
from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts, figures
from course_utils.exercises import Wrong

BYTES = 16  # of a parameter: weight, gradient, two averages of Adam, float32
GB = BILLION = 10**9
CASES = (
    (13 * BILLION, 80 * GB, 50 * GB),
    (7 * BILLION, 80 * GB, 24 * GB),
    (7 * BILLION, 80 * GB, 0),
    (BILLION, 80 * GB, 10 * GB),
    (3 * BILLION, 24 * GB, 12 * GB),
    (BILLION, 24 * GB, 24 * GB),
    (BILLION, 24 * GB, 30 * GB),
)


def right(parameters: int, memory: int, activations: int) -> int | None:
    """Return the least number of GPUs, or None if no number is enough."""
    room = memory - activations
    return math.ceil(BYTES * parameters / room) if room > 0 else None


def examine(answer: Any) -> None:
    """Examine ``fewest_gpus(parameters, memory, activations) -> int | None``."""
    for case in CASES:
        got, expected = answer(*case), right(*case)
        if got != expected or isinstance(got, bool):
            _explain(got, *case)


def _explain(got: Any, parameters: int, memory: int, activations: int) -> None:
    """Raise the hint for a wrong number."""
    where = Bilingual(
        f"{parameters // BILLION} billion parameters, {memory // GB} GB, {activations // GB} GB of activations",
        f"{parameters // 10**8} 億個參數、記憶體 {memory // GB} GB、活化值 {activations // GB} GB",
    )
    if activations >= memory:
        raise Wrong(
            en=f"{where.en}: the activations alone fill a GPU, and more GPUs do not divide them. Return `None`.",
            zh=f"{where.zh}：光是活化值就占滿一張 GPU，GPU 再多也不會分攤。請傳回 `None`。",
        )
    if got is None or isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"{where.en}: return a number of GPUs, not `{got!r}`.",
            zh=f"{where.zh}：請傳回 GPU 的張數，不是 `{got!r}`。",
        )
    total = BYTES * parameters
    if got in (math.ceil(4 * parameters / (memory - activations)), math.ceil(4 * parameters / memory)):
        raise Wrong(
            en=f"{where.en}: 4 bytes are the weight. A gradient and Adam's two averages come with it.",
            zh=f"{where.zh}：4 個位元組只是權重，還有梯度和 Adam 的兩個平均值。",
        )
    if got == math.ceil(total / memory):
        raise Wrong(
            en=f"{where.en}: each GPU also needs room for the activations of its own batch.",
            zh=f"{where.zh}：每張 GPU 還要留空間給自己那一份批次的活化值。",
        )
    if got == math.ceil((total + activations) / memory):
        raise Wrong(
            en=f"{where.en}: activations are not divided: every GPU holds those of its own batch.",
            zh=f"{where.zh}：活化值不會分攤，每張 GPU 都要存自己那一份批次的活化值。",
        )
    if got == total // (memory - activations):
        raise Wrong(
            en=f"{where.en}: {got} GPUs are a little too small. Round up.",
            zh=f"{where.zh}：{got} 張還差一點，要無條件進位。",
        )
    if got == total // (memory - activations) + 1:
        raise Wrong(
            en=f"{where.en}: {got - 1} GPUs are just enough here. Round up only what is no whole number.",
            zh=f"{where.zh}：這裡 {got - 1} 張剛好夠。除不盡才要進位。",
        )
    raise Wrong(
        en=f"{where.en}: your function says {got:g}. {figures.amount(total)} are to be divided; what room does each GPU have for its share?",
        zh=f"{where.zh}：你的函式算出 {got:g}。要分攤的是 {figures.amount(total)}，每張 GPU 剩下多少空間放自己那一份？",
    )


def pictured(answer: Any) -> Block:
    """Return what models of several sizes need, by the answer."""
    head = Bilingual("80 GB each, 20 GB of them for activations", "每張 80 GB，其中 20 GB 留給活化值")
    rows = {
        Bilingual(f"{n} billion parameters", f"{10 * n} 億個參數"): str(answer(n * BILLION, 80 * GB, 20 * GB))
        for n in (1, 7, 13, 70)
    }
    return facts(fixed={head: "", **rows})
