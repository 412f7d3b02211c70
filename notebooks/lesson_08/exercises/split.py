"""Exercise ``split(windows, ahead) -> (train, test)``: no row is forecast in both."""

from collections.abc import Iterable
from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistake, Mistakes

CASES = ((1000, 24), (600, 1), (2000, 48))


def numbers(part: Any) -> list[int]:
    """Return the numbers of windows in a range, list, tensor or array."""
    part = part.tolist() if hasattr(part, "tolist") else part
    if not isinstance(part, Iterable) or isinstance(part, str | bytes | dict):
        raise TypeError
    found = [number for number, _ in zip(part, range(10_000), strict=False)]
    if not all(type(number) is int for number in found):
        raise TypeError
    return found


def both(train: list[int], test: list[int], ahead: int) -> int:
    """Return how many rows are forecast in both parts."""
    rows = [{start + step for start in part for step in range(ahead)} for part in (train, test)]
    return len(rows[0] & rows[1])


def judge(answer: Any) -> Mistakes:
    """Look for parts that are not separate, or not in order of time."""
    for windows, ahead in CASES:
        got = answer(windows, ahead)
        yield got is None, "returned_none"
        try:
            train, test = map(numbers, got)
        except (TypeError, ValueError):
            raise Mistake("no_collections") from None
        case = {"windows": windows, "ahead": ahead}
        yield set(train + test) - set(range(windows)), "others", case | {"last": windows - 1}
        about = 0.7 * windows <= len(train) <= 0.9 * windows and len(test) >= 0.1 * windows
        yield not about, "sizes", case | {"train": len(train), "test": len(test)}
        shared, mixed = both(train, test, ahead), max(train) > min(test)
        yield mixed and shared, "at_random", case | {"shared": shared}
        yield mixed, "backwards", case
        yield shared, "no_gap", case | {"shared": shared}
        yield min(test) - max(train) > 2 * ahead, "wide_gap", case


def show(answer: Any) -> Block:
    """Return what the parts have in common."""
    train, test = map(numbers, answer(1000, 24))
    return facts(
        rows={
            Bilingual("windows to train on, of 1000", "1000 個視窗裡用來訓練的"): len(train),
            Bilingual("windows to test on", "用來測試的視窗"): len(test),
            Bilingual("rows forecast in both", "兩邊都預測的列"): both(train, test, 24),
        }
    )
