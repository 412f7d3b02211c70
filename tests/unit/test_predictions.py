"""Questions for a number: the slider, the guess, how close it came; and which texts are refused."""

from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest
from html_nesting import assert_nested

from bilingual import CHOICES
from course_utils import lesson, predict, predictions, reveal
from course_utils.predictions import guess_line
from course_utils.questions import parsed
from tools.check.strings import check_questions
from tools.check.text import Findings

NUMBER = {"low": 1, "high": 10_000, "unit_en": "times", "unit_zh": "倍"}
TEXT = {"en": "How often?", "zh": "幾倍？", "why_en": "Because.", "why_zh": "因為如此。"}
CHOICE = {"en": "a", "zh": "甲", "why_en": "b", "why_zh": "乙"}


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Return the questions of a made-up lesson 01, the current one: `loops` on a logarithmic scale, `share` linear."""
    known = {
        "loops": TEXT | {"number": NUMBER, "claim": "1.3-loops"},
        "share": TEXT | {"number": {"low": 0, "high": 100, "unit_en": "%", "unit_zh": "%", "linear": True}},
        "choices": {"en": "a", "zh": "甲", "choices": [CHOICE | {"right": True}, CHOICE | {"en": "c"}]},
    }
    lesson.use("01")
    monkeypatch.setattr(predictions, "_guesses", {})
    lesson.all_texts.cache_clear()
    lesson.all_texts("01")["question"].clear()
    lesson.all_texts("01")["question"].update(known)
    yield known
    lesson.all_texts.cache_clear()


def inside(widget: Any, kind: type) -> list[Any]:
    found = [widget] if isinstance(widget, kind) else []
    return found + [w for child in getattr(widget, "children", ()) for w in inside(child, kind)]


def guess(shown: list[Any], name: str, label: str, language: str = "en") -> str:
    """Move the slider of `language` to `label`, press its button, and return the reply."""
    predict(name)
    row = CHOICES.index(language)
    inside(shown[-1].widget, ipywidgets.SelectionSlider)[row].value = label
    inside(shown[-1].widget, ipywidgets.Button)[row].click()
    return inside(shown[-1].widget, ipywidgets.HTML)[-1].value


def line(shown: list[Any], name: str, value: Any) -> str:
    reveal(name, value)
    assert_nested(shown[-1].html)
    return shown[-1].text


@pytest.mark.parametrize(
    "language, label", [("en", "30 times"), ("zh", "30 倍"), ("both", "30 times · 30 倍")]
)
def test_a_guess_is_answered_and_kept_in_each_language(
    language: str, label: str, texts: dict[str, Any], shown: list[Any]
) -> None:
    reply = guess(shown, "loops", label, language)
    assert "Your guess: 30 times." in reply and "你猜的是 30 倍。" in reply and "因為如此。" in reply
    assert_nested(reply)
    sliders = inside(shown[-1].widget, ipywidgets.SelectionSlider)
    assert [slider.value for slider in sliders] == ["30 times", "30 倍", "30 times · 30 倍"]
    assert line(shown, "loops", 852.4) == (
        "guess loops: ⟨you guessed 30 times; the result is 852 times: off by a factor of 28.4 · "
        "你猜 30 倍，結果是 852 倍，差了 28.4 倍⟩"
    )


@pytest.mark.parametrize("low, high", [(0.003, 7), (7, 900), (1, 2), (0.5, 1e9), (1, 10_000)])
def test_the_slider_is_logarithmic_and_has_both_ends(low: float, high: float) -> None:
    number = parsed("q", TEXT | {"number": NUMBER | {"low": low, "high": high}}).number
    values = number.values()
    assert (values[0], values[-1]) == (low, high) and values == sorted(values)
    assert len({number.with_unit(value).zh for value in values}) == len(values) >= 4
    assert max(after / before for before, after in zip(values, values[1:], strict=False)) < 1.51


@pytest.mark.parametrize("name, label, value, expected", [
    ("share", "30%", 81, "⟨you guessed 30%; the result is 81%: off by 51% · 你猜 30%，結果是 81%，差了 51%⟩"),
    ("share", "30%", -5, "the result is -5%: off by 35%"), ("share", "30%", 33, "very close · 你猜 30%，結果是 33%，猜得很準"),
    *(("loops", "100 times", close, "very close") for close in (81, 124)),
    *(("loops", "100 times", far, "off by a factor of") for far in (79, 126)),
    *(("loops", "100 times", none, "guess loops: ⟨⟩") for none in (0, -2, float("nan"), float("inf"))),
])  # fmt: skip
def test_a_guess_is_compared_by_factor_or_by_difference(
    name: str, label: str, value: float, expected: str, texts: dict[str, Any], shown: list[Any]
) -> None:
    guess(shown, name, label)
    assert expected in line(shown, name, value)


def test_without_a_guess_the_elements_are_the_same_and_the_last_guess_counts(
    texts: dict[str, Any], shown: list[Any]
) -> None:
    def tags() -> list[str]:
        return [part.partition(">")[0] for part in shown[-1].html.split("<")]

    assert line(shown, "loops", 850) == "guess loops: ⟨⟩"
    before = tags()
    guess(shown, "loops", "100 times")
    guess(shown, "loops", "20 times")
    assert "you guessed 20 times" in line(shown, "loops", 850)
    assert tags() == before and before.count('span class="measured"') == 2


def test_a_claim_finds_its_guess(texts: dict[str, Any], shown: list[Any]) -> None:
    assert guess_line("1.3-loops", 850) is None, "nothing guessed"
    guess(shown, "loops", "100 times")
    assert "off by a factor of 8.5" in guess_line("1.3-loops", 850).en
    for claim, value in (("1.4", 850), ("1.3-loops", True), ("1.3-loops", None), ("1.3-loops", "850")):
        assert guess_line(claim, value) is None


def test_a_slider_has_the_steps_and_starts_next_to_the_start_that_the_text_names_else_in_the_middle() -> None:
    whole = {"low": 1, "high": 64, "step": 1, "start": 5, "linear": True}
    by_one, near, middle = (
        parsed("q", TEXT | {"number": NUMBER | changes}).number for changes in (whole, {"start": 90}, {})
    )
    assert by_one.values() == [*range(1, 65)] and by_one.values()[by_one.first()] == 5
    assert near.values()[near.first()] in (80, 100) and middle.first() == len(middle.values()) // 2


def test_a_question_with_choices_cannot_be_revealed(texts: dict[str, Any], shown: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"reveal\('choices', …\): this question has choices"):
        reveal("choices", 3)


@pytest.mark.parametrize("changes", [
    {}, {"number": NUMBER, "choices": [CHOICE | {"right": True}, CHOICE]}, {"choices": [CHOICE | {"right": True}]},
    {"choices": [CHOICE, CHOICE]}, {"number": 30}, {"number": {"low": 1, "high": 2}}, {"number": NUMBER, "why_zh": ""},
    *({"number": NUMBER | wrong} for wrong in (
        {"scale": "log"}, {"step": 1}, {"linear": True, "step": "1"}, {"start": 0.5}, {"start": "2"}, {"low": "1"},
        {"low": 10_000}, {"low": 0}, {"unit_zh": ""},
    )),
])  # fmt: skip
def test_a_question_that_nobody_can_answer_is_found(changes: dict[str, Any]) -> None:
    good = {"q": TEXT | {"number": NUMBER}, "r": TEXT | {"choices": [CHOICE | {"right": True}, CHOICE]}}
    findings = Findings()
    check_questions({"question": good}, findings)
    assert not list(findings)
    check_questions({"question": {"q": TEXT | changes}}, findings)
    (found,) = findings
    assert "'q' cannot be answered" in found.what
