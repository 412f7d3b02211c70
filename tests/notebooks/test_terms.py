"""The terms of a lesson as a whole: English in brackets where a term comes first, and words decided against."""

import json
import re
from pathlib import Path

from tabled import tabled

from tools.check import check_file
from tools.check.terms import check_glosses, check_words, glossed
from tools.check.text import Findings
from tools.notebook_file import passages

QUESTION = """
[question.first]
en = "What does a thread do?"
zh = "{question}"
number = {{ low = 1, high = 9, unit_en = "times", unit_zh = "倍" }}
why_en = "It runs."
why_zh = "它會執行。"
"""


def block(chinese: str, english: str = "A text.") -> str:
    return f'<div lang="en">\n\n{english}\n\n</div>\n<div lang="zh-Hant">\n\n{chinese}\n\n</div>'


def write(folder: Path, *sources: str, number: str = "01", question: str = "它做什麼？") -> Path:
    """Write a lesson whose cells are `sources`; what begins with a call is code."""
    room = folder / f"lesson_{number}"
    room.mkdir()
    (room / "texts.toml").write_text(QUESTION.format(question=question), encoding="utf-8")
    kinds = ["code" if source.endswith(")") else "markdown" for source in sources]
    both = enumerate(zip(kinds, sources, strict=True))
    cells = [{"cell_type": kind, "id": f"c{at}", "source": source} for at, (kind, source) in both]
    path = folder / f"{number}_small.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def first_uses(path: Path) -> list[str]:
    findings = Findings()
    check_glosses(path, findings)
    return [f"{one.place.partition('(')[2][:-1]} {one.what.partition(' ')[0]}" for one in findings]


@tabled
def test_a_term_without_its_english_is_found(text: str, term: str | None, tmp_path: Path) -> None:
    assert first_uses(write(tmp_path, block(text))) == ([f"c0 {term}"] if term else [])


def test_a_question_is_read_where_it_is_asked(tmp_path: Path) -> None:
    asked = 'predict("first")'
    path = write(tmp_path, asked, block("執行緒（thread）"), question="執行緒做什麼？")
    assert first_uses(path) == ["c0 執行緒"]
    (tmp_path / "other").mkdir()
    path = write(tmp_path / "other", block("執行緒（thread）"), asked, question="執行緒做什麼？")
    assert first_uses(path) == []
    assert [p.kind for p in passages(path)] == ["prose", "question", "question", "question"]


def test_headings_and_what_is_collapsed_do_not_count(tmp_path: Path) -> None:
    details = f"<details><summary>A</summary>\n\n{block('執行緒（thread）')}\n\n</details>"
    path = write(tmp_path, "## 1.1 Threads · 執行緒", details, block("執行緒"))
    assert first_uses(path) == ["c2 執行緒"]


def test_the_clinic_is_not_read_from_its_beginning(tmp_path: Path) -> None:
    assert first_uses(write(tmp_path, block("執行緒"), number="09")) == []


def test_each_glossed_term_is_in_the_glossary_with_the_english_that_is_asked_for() -> None:
    terms = glossed()
    assert len(terms) >= 25
    for english, used, gloss in terms:
        word = english.partition(" (")[0]
        term = re.sub(r"\(\?.*?\)", "", used.pattern)
        assert gloss.search(f"{term}（{word}）"), english


@tabled
def test_words_decided_against(text: str, found: str | None) -> None:
    findings = Findings()
    check_words(f"a\n{text}", "a.py", findings)
    told = [(one.place, one.what.partition(" ")[0]) for one in findings]
    assert told == ([("a.py: line 2", found)] if found else [])


def test_check_reports_both(tmp_path: Path) -> None:
    path = write(tmp_path, block("執行緒的費用"))
    assert {"first use", "term"} <= {finding.rule for finding in check_file(path, tmp_path)}
    room = tmp_path / "course_utils"
    room.mkdir()
    (room / "a.py").write_text('A = Bilingual(en="a", zh="費用")', encoding="utf-8")
    assert "term" in {finding.rule for finding in check_file(room / "a.py", tmp_path)}
