"""Typical wrong answers to the exercises of lesson 00: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_HEAD = "def images_per_second(images, epochs, seconds):\n    "

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "images_per_second": [
        (f"{_HEAD}print(images * epochs / seconds)", "`None`", "`None`"),
        (f"{_HEAD}return f'{{images * epochs / seconds}}/s'", "`str`", "`str`"),
        (f"{_HEAD}return seconds / (images * epochs)", "the other way round", "反過來除"),
        (f"{_HEAD}return images / seconds", "one epoch only", "一個訓練週期"),
        (f"{_HEAD}return images / epochs / seconds", "is multiplied", "要用乘的"),
        (f"{_HEAD}return images * epochs * seconds", "Divide by the seconds", "除以秒數"),
        (f"{_HEAD}return images * epochs // seconds", "`//` rounds down", "`//` 會捨去小數"),
        (f"{_HEAD}return 1500.0", "in all", "總共看了幾張"),
        (f"{_HEAD}return 1437 * epochs / seconds", "in all", "總共看了幾張"),
    ],
}
