"""Simplified Chinese: the glossary's terms, the reading of rows and columns, and no Traditional character left."""

import csv

from opencc import OpenCC
from tabled import tabled

from course_utils.simplified import simplified
from tools.check.text import GLOSSARY


def test_every_term_of_the_glossary_is_kept() -> None:
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["zh-Hans"]]
    assert len(rows) > 200
    for row in rows:
        assert simplified(f"在{row['zh-Hant']}中") == f"在{row['zh-Hans']}中"
        assert OpenCC("t2s").convert(row["zh-Hans"]) == row["zh-Hans"], "a Traditional character"


def test_no_term_has_two_forms() -> None:
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        pairs = {(row["zh-Hant"], row["zh-Hans"]) for row in csv.DictReader(file) if row["zh-Hans"]}
    assert len({traditional for traditional, _ in pairs}) == len(pairs)


@tabled
def test_a_sentence(traditional: str, simple: str) -> None:
    assert simplified(traditional) == simple
