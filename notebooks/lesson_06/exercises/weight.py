"""Exercise ``weight(mine, pieces) -> float``: by what the mean loss of a piece is multiplied, so that all tokens weigh the same."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import number
from course_utils.tables import YOURS, table

SHOWN = [[30, 18], [4, 12]]
BATCHES = ([[48], [16]], [[32], [32]], SHOWN, [[10], [20], [30]], [[1, 1, 1], [50, 8, 3]], [[5]])


def judge(answer: Any) -> Mistakes:
    """Compare the factor of each piece."""
    for pieces in BATCHES:
        total = sum(map(sum, pieces))
        for own in pieces:
            for mine in own:
                got = answer(mine, [list(counts) for counts in pieces])
                if isinstance(got, torch.Tensor) and got.numel() == 1:
                    got = got.item()
                got, right = number(got), mine * len(pieces) / total
                seen = {"mine": mine, "pieces": pieces, "got": got}
                if not abs(got - right) <= 1e-9:  # also where it is not a number
                    yield abs(got - mine / total) < 1e-9, "share", seen
                    yield abs(got * right - 1) < 1e-9, "upside_down", seen
                    yield (
                        abs(got - right * sum(map(len, pieces)) / len(pieces)) < 1e-9,
                        "mean_of_pieces",
                        seen,
                    )
                    yield True, "other", seen


def show(answer: Any) -> Block:
    """Return the factors of four pieces, and what a token of each then counts in the gradient."""
    head = (
        "rank",
        Bilingual("tokens", "token 數"),
        YOURS,
        Bilingual("weight of one token", "每個 token 的分量"),
    )
    found = [(rank, n, float(answer(n, SHOWN))) for rank, counts in enumerate(SHOWN) for n in counts]
    return table(
        head, [(str(rank), str(n), f"{factor:.4f}", f"{factor / n / 2:.6f}") for rank, n, factor in found]
    )
