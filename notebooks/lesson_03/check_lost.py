"""The easy exercise "lost" of lesson 03: how many numbers become zero in a data type."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import NO_RETURN, Wrong
from course_utils.tables import YOURS, table, value

# 1e-5 is below the smallest normal number of float16, and is kept with fewer digits all the same.
_NUMBERS = torch.tensor([0.0, 0.0, 1.0, -1e-3, 1e-5, 1e-8, -1e-8, 1e-9, -1e-41])


def examine_lost(answer: Any) -> None:
    """Examine ``lost(x, dtype)``, the count of nonzero numbers of `x` that become zero as `dtype`.

    Raises:
        Wrong: With a hint about the mistake.
    """
    for dtype, right in ((torch.float16, 4), (torch.bfloat16, 1)):
        found = answer(_NUMBERS.clone(), dtype)
        if found is None:
            raise Wrong(**NO_RETURN)
        if isinstance(found, torch.Tensor) and found.numel() > 1:
            raise Wrong(
                en="Your function returns one value for each number. Count them: `.sum()`.",
                zh="你的函式替每個數各傳回一個值。請用 `.sum()` 數出個數。",
            )
        if found == right:
            continue
        if found == right + 2:
            raise Wrong(
                en="Two of the numbers were zero before; nothing was lost there. Count only where `x != 0`.",
                zh="有兩個數本來就是 0，不是存進去才變成 0。只算 `x != 0` 的數。",
            )
        if found in (5, 7):
            raise Wrong(
                en="Below the smallest normal number (`tiny`) digits get lost, not yet the number. Convert, and compare with 0.",
                zh="比最小的正規數（`tiny`）還小時，有效數字會先變少，但數還在。請實際轉換，再和 0 比較。",
            )
        if isinstance(found, float) and 0 < found < 1:
            raise Wrong(
                en="That is a share. The number of them is asked for.", zh="這是比例，但題目問的是個數。"
            )
        raise Wrong(
            en=f"In {dtype}, {right} of these numbers become zero, but your function returns `{value(found)}`.",
            zh=f"存成 {dtype} 之後，這些數有 {right} 個會變成 0，你的函式卻傳回 `{value(found)}`。",
        )


def show_lost(answer: Any) -> Block:
    """Return what becomes of each number in two data types, and how many the answer counted."""
    kinds = (torch.float16, torch.bfloat16)
    rows: list[tuple[Any, ...]] = [
        (f"{x.item():.3g}", *(f"{x.to(kind).item():.3g}" for kind in kinds)) for x in _NUMBERS
    ]
    rows.append((YOURS, *(value(answer(_NUMBERS.clone(), kind)) for kind in kinds)))
    return table((Bilingual("number", "數字"), "float16", "bfloat16"), rows)
