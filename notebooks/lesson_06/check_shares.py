"""Check the exercise ``sampler_shares``: which samples ``DistributedSampler`` gives to which rank."""

from __future__ import annotations

import re
from typing import Any

from course_utils.exercises import Wrong
from shared.dictionary_answers import filled_in

RIGHT: dict[str, Any] = {
    "7 samples, rank 0 of 2": [0, 2, 4, 6],
    "7 samples, rank 1 of 2": [1, 3, 5, 0],
    "7 samples, rank 1 of 2, drop_last=True": [1, 3, 5],
    "5 samples, rank 3 of 4": [3, 2],
    "samples in all, 7 over 2 ranks": 8,
    "shuffle=True, no set_epoch: same order in every epoch": True,
}


def examine(answer: Any) -> None:
    """Examine a dictionary with the keys of :data:`RIGHT`."""
    for key, given in filled_in(answer, RIGHT).items():
        right = RIGHT[key]
        if isinstance(right, bool):
            _check_order(given, key)
        elif isinstance(right, int):
            _check_total(given, key)
        else:
            _check_share(given, key, right)


def _check_share(given: Any, key: str, right: list[int]) -> None:
    if not isinstance(given, (list, tuple, range)) or not all(isinstance(number, int) for number in given):
        raise Wrong(
            en=f"`{key}`: the answer is a list of sample numbers, such as `[0, 1]`.",
            zh=f"`{key}`：答案是樣本編號的 list，例如 `[0, 1]`。",
        )
    given = list(given)
    if given == right:
        return
    samples, rank, ranks = map(int, re.findall(r"\d+", key))
    own = list(range(rank, samples, ranks))  # without those that fill up the last row
    if "drop_last" in key and given == [*right, 0]:
        raise Wrong(
            en=f"`{key}`: with `drop_last=True` nothing is filled up. What would not go round is left out.",
            zh=f"`{key}`：有 `drop_last=True` 就不補，除不盡的直接丟掉。",
        )
    if given == own:
        raise Wrong(
            en=f"`{key}`: these are its samples, but every rank gets equally many, or the others would wait for it. What fills up the last row?",
            zh=f"`{key}`：樣本分對了，但每個 rank 要一樣多，不然別人會等它。最後一輪不夠的，拿什麼來補？",
        )
    if given[: len(own)] == own and len(given) == len(right):
        raise Wrong(
            en=f"`{key}`: the number is right. The list is filled up from its beginning (0, 1, …) as far as needed, and only then dealt out.",
            zh=f"`{key}`：個數對了。不夠的話，是從整份清單的開頭（0、1……）補起，補滿了才發。",
        )
    if len(given) > 1 and given == list(range(given[0], given[0] + len(given))):
        raise Wrong(
            en=f"`{key}`: samples are not cut into blocks. They are dealt out like cards: 0 to rank 0, 1 to rank 1, and so on.",
            zh=f"`{key}`：不是一段一段切的，而是像發牌一樣輪流發：0 給 rank 0，1 給 rank 1，依此類推。",
        )
    raise Wrong(
        en=f"`{key}`: not {given}. Deal the samples out like cards, one to each rank in turn, and see that all get the same number.",
        zh=f"`{key}`：不是 {given}。像發牌一樣，輪流發給每個 rank，再看是不是每個 rank 都一樣多。",
    )


def _check_total(given: Any, key: str) -> None:
    if given == 7:
        raise Wrong(
            en=f"`{key}`: add up what the two ranks got above. One sample is there twice, and an accuracy counts it twice.",
            zh=f"`{key}`：把上面兩個 rank 拿到的加起來看看。有一個樣本出現兩次，算準確率時也會算兩次。",
        )
    if given != 8 or isinstance(given, bool):
        raise Wrong(
            en=f"`{key}`: how many samples do rank 0 and rank 1 go through together? It is a whole number.",
            zh=f"`{key}`：rank 0 和 rank 1 一共會跑過幾個樣本？答案是整數。",
        )


def _check_order(given: Any, key: str) -> None:
    if not isinstance(given, bool):
        raise Wrong(
            en=f"`{key}`: answer `True` or `False`.",
            zh=f"`{key}`：請填 `True` 或 `False`。",
        )
    if not given:
        raise Wrong(
            en=f"`{key}`: the order comes from `seed + epoch`, and without `set_epoch` the epoch stays 0.",
            zh=f"`{key}`：順序由 `seed + epoch` 決定；沒有呼叫 `set_epoch`，epoch 就一直是 0。",
        )
