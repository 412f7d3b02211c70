"""Exercise: the windows of one rank in one step, from nothing but numbers that every start knows."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Wrong

COUNT, BATCH = 50, 8  # windows, and how many of them a step takes
STEPS = COUNT // BATCH  # of an epoch


def _numbers(answer: Any, step: int, rank: int, world: int, seed: int = 0) -> list[int]:
    """Return what the answer gives, as a list."""
    got = answer(step, rank, world, BATCH, COUNT, seed)
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, torch.Tensor):
        got = got.tolist()
    if not isinstance(got, (list, tuple, range)) or not all(type(number) is int for number in got):
        raise Wrong(
            en="Return the numbers of the windows: a tensor of integers with one dimension, or a list.",
            zh="請傳回視窗的編號，可以是一維的整數張量，也可以是 list。",
        )
    if not all(0 <= number < COUNT for number in got):
        raise Wrong(
            en=f"With {COUNT} windows, their numbers are 0 to {COUNT - 1}; yours are {[*got]}.",
            zh=f"共有 {COUNT} 個視窗，編號是 0 到 {COUNT - 1}，你傳回的卻是 {[*got]}。",
        )
    return [*got]


def examine_share(answer: Any) -> None:
    """Examine ``share(step, rank, world, batch, count, seed)``."""
    _alone(answer)
    _together(answer)
    _orders(answer)


def _alone(answer: Any) -> None:
    """Judge one rank alone: sizes, and whether it repeats."""
    for step in (0, 3, STEPS, 2 * STEPS + 1):
        torch.manual_seed(step)
        got = _numbers(answer, step, 0, 1)
        if len(got) != BATCH:
            more = " An epoch has `count // batch` steps." if step >= STEPS else ""
            more_zh = "一個訓練週期有 `count // batch` 步。" if step >= STEPS else ""
            raise Wrong(
                en=f"Step {step} of one rank alone takes {len(got)} windows instead of {BATCH}.{more}",
                zh=f"只有一個 rank 時，第 {step} 步取了 {len(got)} 個視窗，應該是 {BATCH} 個。{more_zh}",
            )
        torch.manual_seed(step + 1)
        if _numbers(answer, step, 0, 1) != got:
            raise Wrong(
                en="Asked twice for the same step, it names other windows: the order must depend on seed and epoch only. A generator of its own "
                "does that: `torch.Generator().manual_seed(…)`.",
                zh="同一步問兩次，得到的視窗卻不同。順序只能由種子和訓練週期決定，請自己建一個亂數產生器："
                "`torch.Generator().manual_seed(…)`。",
            )


def _together(answer: Any) -> None:
    """Judge several ranks: what one alone takes, divided."""
    for world in (2, 4):
        for step in (0, STEPS + 2):
            whole = sorted(_numbers(answer, step, 0, 1))
            shares = [_numbers(answer, step, rank, world) for rank in range(world)]
            sizes = [len(share) for share in shares]
            if sizes == [BATCH] * world:
                raise Wrong(
                    en=f"Each of {world} ranks takes the whole batch of {BATCH}. Divide it by `rank` and `world`.",
                    zh=f"{world} 個 rank 各自都拿了整個批次，也就是 {BATCH} 個視窗。請用 `rank` 和 `world` 來分。",
                )
            if set(sizes) != {BATCH // world}:
                raise Wrong(
                    en=f"{world} ranks take {sizes} windows instead of {BATCH // world} each.",
                    zh=f"{world} 個 rank 分別取了 {sizes} 個視窗，應該各取 {BATCH // world} 個。",
                )
            if sorted(sum(shares, [])) != whole:
                raise Wrong(
                    en=f"In step {step}, {world} ranks together do not take what one rank alone takes. All ranks must cut the same order.",
                    zh=f"在第 {step} 步，{world} 個 rank 合起來拿到的視窗，和單獨一個 rank 拿到的不同。每個 rank 切的必須是同一個順序。",
                )


def _orders(answer: Any) -> None:
    """Judge the order of an epoch."""
    epochs = [
        [_numbers(answer, step, 0, 1) for step in range(first, first + STEPS)]
        for first in (0, STEPS, 2 * STEPS)
    ]
    orders = [sum(steps, []) for steps in epochs]
    for number, order in enumerate(orders):
        if len(set(order)) != len(order):
            raise Wrong(
                en=f"Epoch {number} uses some windows twice. Each step takes the next {BATCH} of one order.",
                zh=f"在訓練週期 {number} 裡，有些視窗用了兩次。一個訓練週期只用一個順序，每一步取接下來的 {BATCH} 個。",
            )
    if orders[0] == sorted(orders[0]):
        raise Wrong(
            en="The windows come in the order of time. Shuffle them: `torch.randperm`.",
            zh="視窗還是照時間順序排列。請用 `torch.randperm` 打散順序。",
        )
    if orders[0] == orders[1] or orders[1] == orders[2]:
        raise Wrong(
            en="Every epoch has the same order. The epoch must have a say in it, as in `set_epoch`.",
            zh="每個訓練週期的順序都一樣。要讓訓練週期影響順序，就像 `set_epoch` 那樣。",
        )
    if orders[0] == sum((_numbers(answer, step, 0, 1, seed=1) for step in range(STEPS)), []):
        raise Wrong(en="Another seed leads to the same order.", zh="換了種子，順序卻沒變。")


def show_share(answer: Any) -> Block:
    """Return which windows the ranks take in one step."""
    rows = {}
    for world in (1, 2, 4):
        shares = [_numbers(answer, 7, rank, world) for rank in range(world)]
        rows[f"step 7, world = {world}"] = " | ".join(" ".join(map(str, share)) for share in shares)
    return facts(rows)
