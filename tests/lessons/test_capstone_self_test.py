"""The self-test of lesson 08: its questions, its order, its links, what it keeps; and the course on one page."""

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from html_nesting import assert_nested
from lesson_cells import NOTEBOOKS

from bilingual import CHOICES
from course_utils import lesson, settings
from lesson_08.one_page import blocks, course_page
from lesson_08.self_test import SelfTest, static
from lesson_08.self_test_score import answers, headings, questions, score

ROOM = Path(NOTEBOOKS[0].parent, lesson.room("08"))
TEXTS: dict[str, Any] = tomllib.loads((ROOM / "self_test.toml").read_text(encoding="utf-8"))["question"]
each = pytest.mark.parametrize("name", TEXTS)


@pytest.fixture(autouse=True)
def in_lesson_08(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOKS[0].parent)
    lesson.use("08")


def right(name: str) -> int:
    return [choice.right for choice in questions()[name][0].choices].index(True)


# --- the questions -------------------------------------------------------------------------------------------


def test_all_lessons_are_asked_about() -> None:
    counts = Counter(data["lesson"] for data in TEXTS.values())
    assert set(counts) == {f"0{number}" for number in range(9)} and 18 <= len(TEXTS) <= 25
    assert set(counts.values()) <= {2, 3}
    assert list(counts) == sorted(counts), "in the order of the lessons"


@each
def test_a_question_is_complete(name: str) -> None:
    data = TEXTS[name]
    assert set(data) == {"lesson", "section", "en", "zh", "choices"}
    assert data["section"].startswith(f"{int(data['lesson'])}.")
    assert len(data["choices"]) in (3, 4) and sum("right" in choice for choice in data["choices"]) == 1
    for choice in data["choices"]:
        assert set(choice) - {"right"} == {"en", "zh", "why_en", "why_zh"}
        assert len(choice["why_en"]) > 40, "a reason explains"
    for language in ("en", "zh"):
        texts = [choice[f"{part}{language}"] for choice in data["choices"] for part in ("", "why_")]
        assert len(set(texts)) == len(texts)


def test_no_lesson_has_asked_it_before() -> None:
    asked = {
        data[language]
        for path in NOTEBOOKS
        if (path.parent / lesson.room(path.name[:2])).is_dir()
        for data in lesson.all_texts(path.name[:2])["question"].values()
        for language in ("en", "zh")
    }
    assert not asked & {data[language] for data in TEXTS.values() for language in ("en", "zh")}


def test_neither_position_nor_length_gives_the_right_choice_away() -> None:
    places = [right(name) for name in TEXTS]
    assert all(places.count(place) == len(TEXTS) // 3 for place in range(3)), places
    assert any(places[at] != places[at - 3] for at in range(3, len(places))), "a pattern that one would see"
    for language in ("en", "zh"):
        longest = (max(data["choices"], key=lambda c: len(c[language])) for data in TEXTS.values())
        assert sum("right" in choice for choice in longest) <= len(TEXTS) // 2, language


@each
def test_the_place_to_read_again_exists(name: str) -> None:
    place = questions()[name][1]
    (path,) = [path for path in NOTEBOOKS if path.name.startswith(f"{place.lesson}_")]
    title, cell = headings(path)[place.section]
    assert " · " in title and cell in {own["id"] for own in json.loads(path.read_text("utf-8"))["cells"]}
    assert place.link().startswith(f'<a href="{path.name}#cell-id={cell}">')
    assert_nested(place.link())


# --- the widget ----------------------------------------------------------------------------------------------


def said(test: Any) -> str:
    return test.reply.outputs[0]["data"]["text/html"] if test.reply.outputs else ""


def label(row: Any) -> list[str]:
    return [button.description for button in row.children if button.layout.display != "none"]


@each
@pytest.mark.parametrize("at", range(3))
def test_every_choice_is_answered_with_its_reason_in_every_language(name: str, at: int) -> None:
    test = SelfTest()
    test.at = list(TEXTS).index(name)
    test.show()
    assert said(test) == "", "no answer before a click"
    chosen = questions()[name][0].choices[at]
    for row, language in zip(test.choices, CHOICES, strict=True):
        row.children[at].click()
        assert chosen.reason.block() in said(test) and ("course-solved" in said(test)) == chosen.right
        assert_nested(said(test))
        for text in (chosen.text.en, chosen.text.zh):
            shown = text.replace("`", "").replace("**", "") in row.children[at].description
            assert shown == (language in ("both", "en" if text == chosen.text.en else "zh")) or (
                chosen.text.en == chosen.text.zh
            )


def test_the_first_answer_counts_and_is_kept() -> None:
    first = next(iter(TEXTS))
    wrong = (right(first) + 1) % 3
    test = SelfTest()
    test.choices[0].children[wrong].click()
    test.choices[0].children[right(first)].click()
    assert "course-solved" in said(test) and answers() == {first: wrong}
    again = SelfTest()
    assert again.at == 1, "it goes on where the learner was"
    back = again.moves[0].children[0]
    assert not back.disabled
    back.click()
    assert again.at == 0 and "course-notyet" in said(again)
    assert back.disabled, "a button that does nothing"


def test_the_score_is_by_lesson_and_the_test_can_be_done_once_more() -> None:
    test = SelfTest()
    for name, data in TEXTS.items():
        wrong = data["lesson"] == "03"
        test.choices[1].children[(right(name) + wrong) % 3].click()
        test.moves[1].children[1].click()
    page = said(test)
    assert_nested(page)
    total = len(TEXTS)
    assert f"{total - 3} of {total} right" in page and f"{total} 題答對 {total - 3} 題" in page
    assert "<td>03</td><td>0 / 3</td>" in page and "<td>04</td><td>3 / 3</td><td></td>" in page
    assert page.count("03_dtype_and_batch.ipynb#") == 3 and "04_streams.ipynb" not in page
    assert not label(test.choices[0]) and label(test.moves[0]) == ["Back", "Once more"]
    test.moves[0].children[1].click()
    assert (answers(), test.at, said(test)) == ({}, 0, "")
    assert settings.read("self_test")["best"]["right"] == total - 3
    test.choices[0].children[0].click()
    test.at = total
    test.show()
    assert f"Best so far: {total - 3} of {total}" in said(test) and "Not answered yet" in said(test)


def test_damaged_answers_count_as_none() -> None:
    unknown = {"pixels_on_gpu": 7, "two_versions": True, "flat_start": "1", "nobody": 1}
    for kept in ({"answers": []}, {"answers": unknown, "best": 3}, {"best": {"right": "all", "date": 3}}):
        settings.write("self_test", kept)
        assert answers() == {} and SelfTest().at == 0 and "Best" not in score({})


def test_without_a_kernel_the_questions_are_there_and_no_answer() -> None:
    page = static()
    assert_nested(page.html)
    for data in TEXTS.values():
        for choice in data["choices"]:
            assert choice["why_en"][:30] not in page.html


# --- the course on one page ----------------------------------------------------------------------------------


def test_the_page_names_every_lesson_in_both_languages_and_is_written(tmp_path: Path) -> None:
    assert list(dict.fromkeys(block["lesson"] for block in blocks())) == [f"0{n}" for n in range(1, 9)]
    shown = course_page(str(tmp_path))
    assert_nested(shown.html)
    for language, other in (("en", "zh"), ("zh", "en")):
        page = (tmp_path / f"one_page_{language}.html").read_text(encoding="utf-8")
        for block in blocks():
            assert f"<h2>{block[language]}<small>" in page and f"<h2>{block[other]}<small>" not in page
    english = (tmp_path / "one_page_en.html").read_text("utf-8")
    assert not [character for character in english if "一" <= character <= "鿿"]
