"""Speaker notes: every section of every lesson has some, in both languages, and they can be trusted."""

import re

import pytest

from tools.editions.instructor import TEXTS, notes
from tools.notebook_file import NOTEBOOKS, cells, lessons

LESSONS = lessons()
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")


def numbers(text: str) -> set[str]:
    """Return the numbers of a text, without the comma that ends a clause; lesson 03 is 第 3 課."""
    return {found.strip(",").lstrip("0") for found in NUMBER.findall(text)}


@pytest.mark.parametrize("number", LESSONS)
def test_every_section_has_notes(number: str) -> None:
    found, read = notes(number), cells(LESSONS[number])
    sections = [name for name in dict.fromkeys(cell.section for cell in read) if name[:1].isdigit()]
    assert list(found) == sections
    assert all({"say", "ask", "answer"} <= set(note) for note in found.values())
    run_something = {cell.section for cell in read if cell.code or cell.script}
    missing = [section for section in found if section in run_something and "stumble" not in found[section]]
    assert not missing, "say where students stumble, wherever they run something"
    assert any("short" in note for note in found.values())
    keys = re.findall(r"^(\w+) =", (NOTEBOOKS / f"lesson_{number}/notes.toml").read_text("utf-8"), re.M)
    assert set(keys) <= {f"{part}_{language}" for part in TEXTS["note"] for language in ("en", "zh")}


@pytest.mark.parametrize("number", LESSONS)
def test_both_languages_state_the_same_numbers(number: str) -> None:
    for section, note in notes(number).items():
        for part, text in note.items():
            assert numbers(text.en) == numbers(text.zh), f"{section}, {part}"
