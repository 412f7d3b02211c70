"""Speaker notes: every section of every lesson has some, in both languages, and they can be trusted."""

import re
from pathlib import Path

import pytest

from bilingual import Bilingual
from tools.editions.notes import NOTEBOOKS, Note, notes, read
from tools.minutes import lessons
from tools.notebook_file import cells

LESSONS = lessons()
A_NOTE = '["1.1"]\nsay_en = "Show it."\nsay_zh = "示範一次。"\n'
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")


def sections(path: Path) -> list[str]:
    """Return the sections of a lesson ("1.1" …) in order."""
    found = dict.fromkeys(cell.section for cell in cells(path))
    return [section for section in found if re.fullmatch(r"\d+\.\d+", section)]


def with_code(path: Path) -> set[str]:
    """Return the sections of a lesson that have something to run."""
    return {cell.section for cell in cells(path) if cell.code or cell.script}


def numbers(text: str) -> set[str]:
    """Return the numbers of a text, without the comma that ends a clause; lesson 03 is 第 3 課."""
    return {found.strip(",").lstrip("0") for found in NUMBER.findall(text)}


def test_notes_cover_the_course() -> None:
    assert {path.parent.name[-2:] for path in NOTEBOOKS.glob("lesson_*/notes.toml")} == set(LESSONS)


@pytest.mark.parametrize("number", LESSONS)
def test_every_section_has_notes(number: str) -> None:
    path, found = LESSONS[number], notes(number)
    assert list(found) == sections(path)
    assert all(note.ask for note in found.values())
    missing = [section for section, note in found.items() if section in with_code(path) and not note.stumble]
    assert not missing, "say where students stumble, wherever they run something"
    assert any(note.short for note in found.values())


@pytest.mark.parametrize("number", LESSONS)
def test_both_languages_state_the_same_numbers(number: str) -> None:
    for section, note in notes(number).items():
        for label, text in note.parts():
            assert numbers(text.en) == numbers(text.zh), f"{section}, {label.en}"


def test_a_note_is_read() -> None:
    assert read(A_NOTE) == {"1.1": Note(Bilingual("Show it.", "示範一次。"))}
    whole = A_NOTE + 'ask_en = "Why?"\nask_zh = "為什麼？"\nanswer_en = "So."\nanswer_zh = "因此。"\n'
    assert [label.en for label, _ in read(whole)["1.1"].parts()] == ["Say", "Ask", "Answer"]


@pytest.mark.parametrize(
    "wrong",
    [
        '["1.1"]\n',
        A_NOTE + 'said_en = "Show."\nsaid_zh = "示範。"\n',
        A_NOTE + 'short_en = "Skip it."\n',
        A_NOTE + 'ask_en = "Why?"\nask_zh = "為什麼？"\n',
    ],
)
def test_what_is_not_a_note_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError):
        read(wrong)
