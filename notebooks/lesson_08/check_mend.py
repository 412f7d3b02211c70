"""Exercise: mend a file that an office program saved, without losing a value."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Exercise, Wrong

OFFICE = """date;load;price
2024-01-01 00:00:00;5,5;41,0
2024-01-01 01:00:00;n/a;42,5
2024-01-01 02:00:00;6,25;40,0
"""
OTHER = """date;oil
2024-07-01 00:00:00;30,5
2024-07-01 01:00:00;31
2024-07-01 02:00:00;n/a
2024-07-01 03:00:00;1031,75
"""


def cells(text: str) -> list[list[str]]:
    """Return the cells of a text with commas between them."""
    return list(csv.reader(StringIO(text)))


def examine(answer: Any) -> None:
    """Examine ``mend(text) -> text``."""
    for text in (OFFICE, OTHER):
        _judge(answer(text), text)


def _judge(got: Any, text: str) -> None:
    """Raise the hint for a text that is not mended."""
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, str):
        raise Wrong(
            en="Return the mended text: a `str`, with all its lines.",
            zh="請傳回修好的文字，型別是 `str`，每一行都要在。",
        )
    right = cells(text.replace(",", ".").replace(";", ",").replace("n/a", ""))
    found = cells(got.strip() + "\n")
    if ";" in got:
        raise Wrong(
            en="There are still semicolons. The reader wants commas between cells.",
            zh="裡面還有分號。`read_series` 要的是用逗號分隔。",
        )
    if len(found) != len(right) or any("n/a" in cell for row in found for cell in row):
        if len(found) < len(right):
            raise Wrong(
                en="A line is missing. An hour in which one value is unknown still holds the others.",
                zh="少了一行。那個小時雖然有一個值不知道，其他的值還是有用。",
            )
        raise Wrong(
            en="`n/a` is not a number. A cell whose value is unknown is left empty.",
            zh="`n/a` 不是數字。值不知道的話，格子要留空。",
        )
    if any(len(row) != len(right[0]) for row in found):
        raise Wrong(
            en="Lines have more cells than names: decimal commas separate cells now. Which commas must change before others arrive?",
            zh="有些行的格子比欄名多，因為小數的逗號變成了分隔符號。哪些逗號要先換掉，才能放進新的逗號？",
        )
    for row, want in zip(found, right, strict=True):
        for cell, wanted in zip(row, want, strict=True):
            if cell.strip() != wanted:
                raise Wrong(
                    en=f"A cell is {cell.strip()!r}, but the file says {wanted!r}. No value may be changed, and none invented.",
                    zh=f"有一格變成 {cell.strip()!r}，檔案裡是 {wanted!r}。值不能更改，也不能自己編。",
                )


def shown(answer: Any) -> Block:
    """Return what a reader sees in the mended text."""
    rows = cells(answer(OFFICE).strip() + "\n")
    names = ("line 1", "line 2", "line 3", "line 4")
    return facts(rows={name: " | ".join(row) for name, row in zip(names, rows, strict=False)})


EXERCISE = Exercise(
    "mend",
    Bilingual("mend a file", "修好一個檔案"),
    examine,
    (
        Bilingual(
            "Three things differ: what separates cells, what separates decimals, and how a missing value is written.",
            "有三個地方不同：格子之間的分隔符號、小數點，以及沒有值時的寫法。",
        ),
        Bilingual(
            "`text.replace(old, new)` returns a new text, so three of them can follow each other. Their order matters: turn decimal commas into points first.",
            "`text.replace(old, new)` 會傳回新的文字，所以可以接連呼叫三次。順序很重要，要先把小數的逗號換成點。",
        ),
    ),
    level="easy",
    show=shown,
)
WRONG = [
    ('def mend(text):\n    return text.replace(";", ",").replace("n/a", "")', "Lines have more cells than names", "格子比欄名多"),
    ('def mend(text):\n    return text.replace(";", ",").replace(",", ".").replace("n/a", "")', "more cells than names", "格子比欄名多"),
    ('def mend(text):\n    return text.replace(",", ".").replace("n/a", "")', "still semicolons", "還有分號"),
    ('def mend(text):\n    return text.replace(",", ".").replace(";", ",")', "left empty", "格子要留空"),
    ('def mend(text):\n    return text.replace(",", ".").replace(";", ",").replace("n/a", "0")', "none invented", "不能自己編"),
    (
        'def mend(text):\n    text = text.replace(",", ".").replace(";", ",")\n'
        '    return "\\n".join(line for line in text.splitlines() if "n/a" not in line)',
        "A line is missing",
        "少了一行",
    ),
    ("def mend(text):\n    text.replace(\",\", \".\")", "is there a `return`", "有寫 `return` 嗎"),
    ("def mend(text):\n    return text.splitlines()", "a `str`", "`str`"),
]  # fmt: skip
