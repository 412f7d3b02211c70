"""What a lesson says about its minutes is what its contents need, and README's tables say the same."""

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from tabled import tabled

from tools import minutes
from tools.minutes import amounts, stated
from tools.notebook_file import NOTEBOOKS, lessons

COUNTED = [number for number in lessons() if number not in minutes.NOT_COUNTED]


def test_each_lesson_is_counted_or_has_a_reason() -> None:
    assert set(COUNTED) == set(minutes.BUDGETS) and set(minutes.NOT_COUNTED) < set(lessons())


@pytest.mark.parametrize("number", COUNTED)
def test_a_lesson_states_the_minutes_that_it_needs(number: str) -> None:
    found, said = amounts(lessons()[number]), stated(lessons()[number])
    for name, computed in ("reading", found.minutes), ("exercises", found.solving):
        assert abs(said[name] - computed) <= 5, f"{computed:.1f}; run: python -m tools.minutes --write"
        assert said[name] % 5 == 0


@pytest.mark.parametrize("number", lessons())
def test_a_lesson_says_the_same_minutes_in_both_languages(number: str) -> None:
    both = stated(lessons()[number])
    said = [str(both[name]) for name in ("reading", "exercises") if both[name]]
    prose = minutes.read(lessons()[number]).cells[0].source
    english, chinese = prose.split('<div lang="zh-Hant">')
    assert re.findall(r"(\d+) (?:minutes|more)", english) == re.findall(r"(\d+) 分鐘", chinese) == said
    assert len(minutes.FIRST.findall(prose)) == 2 * (number in COUNTED)


@pytest.mark.parametrize("number", COUNTED)
def test_a_lesson_keeps_its_budget(number: str) -> None:
    found, said = amounts(lessons()[number]), stated(lessons()[number])
    assert said["reading"] <= minutes.MOST_READING and sum(said.values()) <= minutes.BUDGETS[number]
    assert found["words"] <= minutes.MOST_WORDS, f"{found['words']} words of prose"


def test_readme_says_the_same() -> None:
    text = minutes.README.read_text(encoding="utf-8")
    now = {number: stated(path) for number, path in lessons().items()}
    assert minutes.readme(text, now) == text, "run: python -m tools.minutes --write"


# --- counting -----------------------------------------------------------------------------------------

TEXTS = """
[question.first]
en = "one two three"
zh = "一"
choices = [{ en = "four", zh = "二", right = true, why_en = "five six", why_zh = "三" },
           { en = "seven", zh = "四", why_en = "eight", why_zh = "五" }]
"""


@tabled
def test_what_is_counted(cells: list[str], expected: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "lesson_99").mkdir()
    (tmp_path / "lesson_99" / "texts.toml").write_text(TEXTS, encoding="utf-8")
    path = tmp_path / "99_a.ipynb"
    stored = [
        {
            "cell_type": ("markdown", "code")[cell.startswith(">>> ")],
            "id": f"c{at}",
            "source": cell.removeprefix(">>> "),
        }
        for at, cell in enumerate(cells)
    ]
    path.write_text(json.dumps({"cells": stored}), encoding="utf-8")
    found = amounts(path)
    assert {name: found[name] for name in expected} == expected


def test_the_formula() -> None:
    amount = minutes.Amount(words=2_000, code=150, questions=9, explorers=2, cards=12, solving=35)
    amount["question words"] = 1_000
    assert amount.minutes == pytest.approx(10 + 10 + 3 + 3 + 7 + 2) and amount.solving == 35


def test_write_corrects_metadata_and_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in lessons().values():
        shutil.copy(path, tmp_path)
    for room in NOTEBOOKS.glob("lesson_0?"):
        shutil.copytree(room, tmp_path / room.name)
    readme = tmp_path / "README.md"
    before = minutes.README.read_text(encoding="utf-8")
    readme.write_text(re.sub(r"(\) \|) \d+ \|", r"\1 61 |", before), encoding="utf-8")
    here = partial(lessons, tmp_path)
    monkeypatch.setattr(minutes, "lessons", here)
    monkeypatch.setattr(minutes, "README", readme)
    monkeypatch.setattr(minutes, "TEACHING", Path(shutil.copy(minutes.TEACHING, tmp_path)))
    broken = here()["01"]
    wrong = re.sub(r'("reading": |About |約 )(?=\d)', r"\g<1>9", broken.read_text(encoding="utf-8"))
    broken.write_text(wrong, encoding="utf-8")
    nine = stated(here()["09"])
    minutes.write()
    now = {number: stated(path) for number, path in here().items()}
    assert all(now[n] == minutes.rounded(amounts(here()[n])) for n in COUNTED) and now["09"] == nine
    prose = minutes.read(here()["01"]).cells[0].source
    assert prose == minutes.read(minutes.ROOT / "notebooks" / broken.name).cells[0].source
    written = readme.read_text(encoding="utf-8")
    assert minutes.readme(written, now) == written and "| 61 |" not in written
