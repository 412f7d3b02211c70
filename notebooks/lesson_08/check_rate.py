"""Exercise: the learning rate for another batch size."""

from __future__ import annotations

from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.given_number import close, number

CASES = ((1e-3, 8, 32), (1e-3, 8, 128), (4e-3, 128, 32), (3e-4, 16, 16))


def examine_rate(answer: Any) -> None:
    """Examine ``new_rate(rate, batch, new_batch)``: Adam's learning rate by the square root rule."""
    for rate, batch, new in CASES:
        got = number(answer(rate, batch, new))
        right = rate * (new / batch) ** 0.5
        if close(got / right, 1):
            continue
        if close(got / (rate * new / batch), 1):
            raise Wrong(
                en=f"From {batch} to {new} windows you multiply the rate by {new / batch:g}. That is the rule for plain SGD; for Adam lesson 03 "
                "took the square root.",
                zh=f"從 {batch} 個視窗改成 {new} 個，你把學習率乘上 {new / batch:g}。那是單純 SGD 的規則；用 Adam 的話，要像第 3 課那樣取平方根。",
            )
        if close(got * right / rate**2, 1):
            raise Wrong(
                en=f"From {batch} to {new} windows the rate should become {right:g}, yours becomes {got:g}: the ratio is upside down.",
                zh=f"從 {batch} 個視窗改成 {new} 個，學習率應該變成 {right:g}，你的卻變成 {got:g}，比值上下顛倒了。",
            )
        raise Wrong(
            en=f"`new_rate({rate:g}, {batch}, {new})` should be {right:g}, yours is {got:g}. Four times the batch, twice the rate.",
            zh=f"`new_rate({rate:g}, {batch}, {new})` 應該是 {right:g}，你的答案是 {got:g}。批次變成四倍，學習率變成兩倍。",
        )


def show_rate(answer: Any) -> Block:
    """Return the learner's rates for batches of several sizes."""
    return facts(
        fixed={f"new_rate(0.001, 8, {new})": f"{answer(1e-3, 8, new):.3g}" for new in (8, 32, 128, 512)}
    )
