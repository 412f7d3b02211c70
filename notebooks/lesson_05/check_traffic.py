"""Check the exercise ``traffic``: the bytes of weights and gradients that DataParallel moves in a step."""

from __future__ import annotations

import math
from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.given_number import number

_CASES = ((61_706, 6), (25_557_032, 8), (1000, 2), (11_689_512, 1))
FLOAT32 = 4


def examine_traffic(answer: Any) -> None:
    """Examine ``bytes_per_step(parameters, devices) -> int``."""
    for parameters, devices in _CASES:
        _check(number(answer(parameters, devices)), parameters, devices)


def _check(got: float, parameters: int, devices: int) -> None:
    once = FLOAT32 * parameters
    right = 2 * (devices - 1) * once
    if math.isclose(got, right, rel_tol=1e-9):
        return
    given = f"{got:,.0f}" if abs(got) < 1e15 else f"{got:g}"
    case_en, case_zh = (
        f"{parameters:,} parameters, {devices} devices",
        f"{parameters:,} 個參數、{devices} 個裝置",
    )
    if devices == 1:
        raise Wrong(
            en=f"With a single device nothing travels, but you count {given} bytes.",
            zh=f"只有一個裝置的話，什麼都不用搬，你卻算出 {given} 個位元組。",
        )
    hints = {
        right / FLOAT32: (
            "You count numbers. Each float32 takes four bytes.",
            "你算的是數字的個數。每個 float32 占四個位元組。",
        ),
        right / 2: (
            "That is one way. Weights travel out, and gradients, which are as large, travel back.",
            "這只是單程。權重送過去之後，一樣大的梯度還要送回來。",
        ),
        2 * devices * once: (
            "One device too many: the master copy need not be sent to the first device, it is there.",
            "多算了一個裝置。正本本來就在第一個裝置上，不用送。",
        ),
        right / devices: (
            "That is what a single link carries in a ring. Count the bytes over all links together.",
            "這是環狀傳送時單獨一條連線的量。請把所有連線的位元組都加起來。",
        ),
        2 * once: (
            "That is what one of the other devices exchanges with the first. How many are there?",
            "這只是其中一個裝置和第一個裝置之間的量。這樣的裝置有幾個？",
        ),
    }
    for value, (en, zh) in hints.items():
        if math.isclose(got, value, rel_tol=1e-9):
            raise Wrong(en=f"{case_en}: {given} bytes. {en}", zh=f"{case_zh}：{given} 個位元組。{zh}")
    raise Wrong(
        en=f"{case_en}: {given} is not the number. Weights go to each of the other devices; what comes back, and from how many?",
        zh=f"{case_zh}：不是 {given}。權重要送到其他每個裝置；送回來的是什麼，從幾個裝置送回來？",
    )


def show_traffic(answer: Any) -> Block:
    """Return the answer's bytes for the lesson's two networks."""
    names = {"LeNet": 61_706, "ResNet-50": 25_557_032}
    return facts(
        fixed={f"{name}, n = {n}": f"{answer(p, n):,}" for name, p in names.items() for n in (2, 4, 8)}
    )
