"""Exercise ``mend(text) -> text``: a file that an office program saved, without losing a value."""

import csv
from io import StringIO
from typing import Any

from bilingual import Block
from course_utils import facts
from course_utils.exercises import Mistakes

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


def judge(answer: Any) -> Mistakes:
    """Compare the cells of two mended files."""
    for text in (OFFICE, OTHER):
        got = answer(text)
        yield got is None, "returned_none"
        yield not isinstance(got, str), "no_text"
        right = cells(text.replace(",", ".").replace(";", ",").replace("n/a", ""))
        found = cells(got.strip() + "\n")
        yield ";" in got, "semicolons"
        yield len(found) < len(right), "row_lost"
        yield len(found) > len(right) or any("n/a" in cell for row in found for cell in row), "left_full"
        yield any(len(row) != len(right[0]) for row in found), "more_cells"
        for cell, wanted in zip(sum(found, []), sum(right, []), strict=True):
            yield cell.strip() != wanted, "changed", {"cell": cell.strip(), "wanted": wanted}


def show(answer: Any) -> Block:
    """Return what a reader sees in the mended text."""
    rows = cells(answer(OFFICE).strip() + "\n")
    names = ("line 1", "line 2", "line 3", "line 4")
    return facts(rows={name: " | ".join(row) for name, row in zip(names, rows, strict=False)})
