"""The exercises of lesson 06 that run in the notebook: shares, factors for unequal parts, and reading failures."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual
from course_utils.exercises import NO_RETURN, Exercise, Wrong
from course_utils.tables import facts
from shared import given_number

DEALS = ((7, 2), (7, 3), (8, 4), (2, 4), (1, 1))


def _whole_list(got: Any, what: Bilingual) -> list[int]:
    """Return a list of whole numbers, or raise a hint."""
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, (list, tuple, range)) or not all(type(number) is int for number in got):
        raise Wrong(
            en=f"Return a list of {what.en}, such as `[0, 2]`; yours is `{got!r:.60}`.",
            zh=f"請傳回{what.zh}的 list，例如 `[0, 2]`；你傳回的是 `{got!r:.60}`。",
        )
    return list(got)


def examine_share(answer: Any) -> None:
    """Examine ``share(samples, rank, ranks) -> list[int]``."""
    for samples, ranks in DEALS:
        shares = [
            _whole_list(answer(samples, rank, ranks), Bilingual("example numbers", "資料編號"))
            for rank in range(ranks)
        ]
        case_en, case_zh = f"{samples} examples, {ranks} ranks", f"{samples} 筆、{ranks} 個 rank"
        together = sorted(number for share in shares for number in share)
        if len(together) > len(set(together)):
            raise Wrong(
                en=f"{case_en}: {shares}. An example is there twice, and would count twice.",
                zh=f"{case_zh}：{shares}。有一筆出現兩次，就會算兩次。",
            )
        if together != list(range(samples)):
            raise Wrong(
                en=f"{case_en}: {shares}. Together they are not the examples 0 to {samples - 1}: one is missing, or does not exist.",
                zh=f"{case_zh}：{shares}。合起來不是 0 到 {samples - 1}：少了一筆，或有一筆不存在。",
            )
        if max(map(len, shares)) - min(map(len, shares)) > 1:
            raise Wrong(
                en=f"{case_en}: {shares}. One rank works longer than the others: shares may differ by one.",
                zh=f"{case_zh}：{shares}。有個 rank 特別多，其他 rank 都要等它；各份最多相差一筆。",
            )
        if shares != [list(range(rank, samples, ranks)) for rank in range(ranks)]:
            raise Wrong(
                en=f"{case_en}: {shares}. That is complete, but not dealt out like cards: 0 to rank 0, 1 to rank 1, and so on.",
                zh=f"{case_zh}：{shares}。一筆也沒少，但不是像發牌一樣：0 給 rank 0，1 給 rank 1，依此類推。",
            )


def show_share(answer: Any) -> Any:
    """Show who gets what of seven examples."""
    return facts(fixed={f"rank {rank} of 3": f"{answer(7, rank, 3)!r:.60}" for rank in range(3)})


PARTS = ([48, 16], [32, 32], [10, 20, 30], [1, 63], [5])


def examine_weight(answer: Any) -> None:
    """Examine ``weight(mine, everyone) -> float``."""
    for everyone in PARTS:
        for mine in everyone:
            got = answer(mine, list(everyone))
            if isinstance(got, torch.Tensor) and got.numel() == 1:
                got = got.item()
            got = given_number.number(got)
            right = mine * len(everyone) / sum(everyone)
            if not abs(got - right) <= 1e-9:  # also where it is not a number
                _explain_weight(got, mine, everyone, right)


def _explain_weight(got: float, mine: int, everyone: list[int], right: float) -> None:
    case_en, case_zh = f"{mine} of {everyone}", f"{everyone} 裡的 {mine} 筆"
    if abs(got - mine / sum(everyone)) < 1e-9:
        raise Wrong(
            en=f"{case_en}: {got:.4f} is this rank's share of the examples. But DDP divides the sum by the number of ranks afterwards; undo that.",
            zh=f"{case_zh}：{got:.4f} 是這個 rank 的筆數所占的比例。但 DDP 之後還會除以 rank 的個數，要先乘回來。",
        )
    if abs(got * right - 1) < 1e-9:
        raise Wrong(
            en=f"{case_en}: {got:.4f} is upside down: more examples must weigh more.",
            zh=f"{case_zh}：{got:.4f} 剛好上下顛倒了，筆數多的分量應該比較重。",
        )
    raise Wrong(
        en=f"{case_en}: not {got:.4f}. The mean over all is the sum over ranks of (share of the examples) × (own mean); DDP computes the sum of your losses, divided by the number of ranks.",
        zh=f"{case_zh}：不是 {got:.4f}。全部的平均，等於各 rank「筆數所占的比例 × 自己的平均」加起來；DDP 算的，則是各 rank 損失的總和，再除以 rank 的個數。",
    )


def show_weight(answer: Any) -> Any:
    """Show the factors for 48 and 16 examples, and what an example of each rank then counts in the gradient."""
    rows = {}
    for rank, mine in enumerate((48, 16)):
        factor = float(answer(mine, [48, 16]))
        counts = Bilingual(
            f"rank {rank}, {mine} examples: factor, then the weight of one example",
            f"rank {rank}，{mine} 筆：係數，以及每一筆的分量",
        )
        rows[counts] = f"{factor:.4f}, {factor / mine / 2:.6f}"
    return facts(fixed=rows)


TABLES: tuple[tuple[dict[int, tuple[int, str]], list[int]], ...] = (
    ({0: (10, "all_reduce"), 1: (10, "barrier"), 2: (10, "all_reduce")}, [1]),
    ({0: (10, "all_reduce"), 1: (9, "all_reduce"), 2: (10, "all_reduce")}, [1]),
    ({0: (7, "all_reduce"), 1: (7, "all_reduce")}, []),
    ({3: (5, "broadcast"), 2: (3, "broadcast"), 0: (5, "broadcast"), 1: (4, "barrier")}, [1, 2]),
    ({0: (8, "all_gather"), 1: (8, "all_reduce"), 2: (8, "all_reduce"), 3: (8, "broadcast")}, [0, 3]),
    ({0: (6, "all_reduce"), 1: (6, "all_reduce"), 2: (6, "barrier"), 3: (5, "all_reduce")}, [3]),
    ({0: (10, "all_reduce"), 1: (10, "barrier")}, [0, 1]),  # the lesson's own run
    ({2: (4, "barrier"), 0: (4, "all_reduce"), 1: (4, "all_reduce"), 3: (4, "barrier")}, [0, 1, 2, 3]),
)


def examine_behind(answer: Any) -> None:
    """Examine ``behind(last) -> list[int]``."""
    for last, right in TABLES:
        got = _whole_list(answer(dict(last)), Bilingual("ranks", " rank "))
        if got == right:
            continue
        if sorted(got) == right:
            raise Wrong(
                en=f"{last}: {got}. These are the ranks; sort them.",
                zh=f"{last}：{got}。rank 找對了，請由小到大排好。",
            )
        numbers = {number for number, _ in last.values()}
        ahead = sorted(rank for rank, (number, _) in last.items() if number == max(numbers))
        if len(numbers) > 1 and sorted(got) == ahead:
            raise Wrong(
                en=f"{last}: {got}. These have come and wait. Asked for are those with a lower number.",
                zh=f"{last}：{got}。這幾個都來了，正在等；要查的是編號比較小的。",
            )
        if len(numbers) > 1:
            raise Wrong(
                en=f"{last}: not {got}. The numbers differ, so only they count: every rank below the highest, whatever it called last.",
                zh=f"{last}：不是 {got}。編號不同，就只看編號：比最大的小就要查，不管最後呼叫的是什麼。",
            )
        if not right:
            raise Wrong(
                en=f"{last}: not {got}. All made the same call: no rank is to blame, so the list is empty.",
                zh=f"{last}：不是 {got}。每個 rank 都做了同樣的呼叫，沒有哪個 rank 有問題，所以是空的 list。",
            )
        if len(right) == len(last):
            raise Wrong(
                en=f"{last}: not {got}. A tie: no operation is commoner than the others, so nobody can say who is wrong. Return all ranks.",
                zh=f"{last}：不是 {got}。各種操作一樣多，沒有多數，看不出是哪個 rank 的問題，請傳回所有的 rank。",
            )
        raise Wrong(
            en=f"{last}: not {got}. The numbers are equal, so look at the operations: which ranks called another one than most?",
            zh=f"{last}：不是 {got}。編號都一樣，就看操作：哪幾個 rank 呼叫的和多數不同？",
        )


def show_behind(answer: Any) -> Any:
    """Show the answer for three tables."""
    shown = TABLES[0], TABLES[1], TABLES[6]
    return facts(fixed={str(last): f"{answer(dict(last))!r:.60}" for last, _ in shown})


EXERCISES = (
    Exercise(
        "share",
        Bilingual("deal, each exactly once", "發牌，每張剛好一次"),
        examine_share,
        (
            Bilingual(
                "Rank r gets r, then every `ranks`-th number.", "rank r 從 r 開始，每隔 `ranks` 個拿一個。"
            ),
            Bilingual("`range` takes a start, an end and a step.", "`range` 可以給起點、終點和間隔。"),
        ),
        level="easy",
        show=show_share,
    ),
    Exercise(
        "weight",
        Bilingual("unequal parts, the right gradient", "各份不同，梯度要對"),
        examine_weight,
        (
            Bilingual(
                "With equal parts the factor is 1. With 48 and 16 of 64, DDP gives each half of the weight; which part should each have?",
                "各份一樣大，係數就是 1。48 和 16 的話，DDP 讓兩邊各占一半；各自應該占多少？",
            ),
            Bilingual(
                "factor / number of ranks = share of the examples.",
                "係數除以 rank 的個數，要等於筆數所占的比例。",
            ),
        ),
        level="medium",
        show=show_weight,
    ),
    Exercise(
        "behind",
        Bilingual("read the SeqNum table", "讀 SeqNum 的表"),
        examine_behind,
        (
            Bilingual(
                "First the numbers: `max(number for number, _ in last.values())`.",
                "先看編號：`max(number for number, _ in last.values())`。",
            ),
            Bilingual(
                "`collections.Counter(…).most_common()` lists operations and how often each occurs, the commonest first.",
                "`collections.Counter(…).most_common()` 會列出各種操作和次數，最常見的排在最前面。",
            ),
        ),
        level="medium",
        show=show_behind,
    ),
)
