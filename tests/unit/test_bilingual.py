"""Pairs of texts: the small markup, marks of measured values, and the forms for notebooks and terminals."""

import re
from collections.abc import Callable, Iterator

import ipywidgets
import pytest
from html_nesting import assert_nested
from tabled import tabled

from bilingual import (
    Bilingual,
    Shown,
    by_language,
    chosen_language,
    markup,
    measured,
    measured_spans,
    plain,
    spans,
    use_only,
)


def test_the_nesting_check_can_fail() -> None:
    for broken in ("<p>", "</p>", "<b><i></b></i>"):
        with pytest.raises(AssertionError):
            assert_nested(broken)


# --- markup -------------------------------------------------------------------------------------------


@tabled
def test_markup(text: str, expected: str) -> None:
    assert markup(text) == expected


@tabled
def test_markup_never_gives_broken_html(text: str) -> None:
    assert_nested(markup(text))


@pytest.mark.parametrize("text", ["⟨`a` **b**⟩", "⟨a ⟨b⟩", "⟨<b>⟩", "a ⟨`x`, 3⟩ b"])
def test_only_text_stands_inside_a_measured_mark(text: str) -> None:
    """The notebook checks replace a mark only if no tag stands inside."""
    found = re.findall(r'<span class="measured">(.*?)</span>', markup(text))
    assert found and not any("<" in inside for inside in found)


def test_plain_drops_markup_and_keeps_marks_that_cannot_be_closed_from_inside() -> None:
    assert plain("**use `x`** in ⟨3⟩") == "use x in ⟨3⟩"
    assert measured("a⟩b⟨c") == "⟨abc⟩" and measured(3.5) == "⟨3.5⟩"


# --- pairs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("en, zh", [("", "字"), ("word", ""), ("word", "  \n"), (None, "字"), ("word", 3)])
def test_a_missing_language_is_refused(en: object, zh: object) -> None:
    with pytest.raises(ValueError, match="both languages"):
        Bilingual(en, zh)  # type: ignore[arg-type]


def test_html_carries_both_languages_and_escapes() -> None:
    pair, en, zh = Bilingual(en="a < `b`", zh="甲 < `乙`"), "a &lt; <code>b</code>", "甲 &lt; <code>乙</code>"
    assert pair.html() == f'<span lang="en">{en}</span><span lang="zh-Hant">{zh}</span>'
    assert pair.block() == f'<p lang="en">{en}</p><p lang="zh-Hant">{zh}</p>'
    forms = pair._repr_mimebundle_()
    assert forms == {
        "text/html": f'<div class="course-note">{pair.block()}</div>',
        "text/plain": "a < b · 甲 < 乙",
    }
    name = Bilingual(en="`x`", zh="`x`")
    assert (name.html(), str(name)) == ("<code>x</code>", "x"), "a name stands once"
    assert Bilingual(en="{n} GPUs", zh="{n} 張 GPU").format(n=2) == Bilingual("2 GPUs", "2 張 GPU")


def test_widgets_come_once_per_language() -> None:
    pair = Bilingual(en="**go**", zh="`走`")
    made = by_language(lambda pick: ipywidgets.Button(description=pick(pair)))
    assert [(button.description, *button._dom_classes) for button in made] == [
        ("go", "course-only-en"), ("走", "course-only-zh"), ("go · 走", "course-only-both"),
    ]  # fmt: skip
    bundle = Shown(ipywidgets.HTML("live"), "<p>static</p>", "text")._repr_mimebundle_()  # without a kernel
    assert bundle["text/html"] == "<p>static</p>" and bundle["text/plain"] == "text"
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_the_language_of_plain_text_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, language in {"en": "en", "zh": "zh", "both": "both", "fr": "both", "": "both"}.items():
        monkeypatch.setenv("TORCH_DOCTOR_LANGUAGE", value)
        assert chosen_language() == language


def test_measured_spans_have_the_same_elements_with_a_text_and_without() -> None:
    some, none = measured_spans(Bilingual("a ⟨3⟩ < b", "甲 ⟨3⟩ < 乙")), measured_spans(None)
    assert '<span lang="en"><span class="measured">a 3 &lt; b</span></span>' in some
    assert re.sub('measured">[^<]*<', 'measured"><', some) == none and "甲 3 &lt; 乙" in some


# --- one language only --------------------------------------------------------------------------------


@pytest.fixture
def only() -> Iterator[Callable[..., None]]:
    yield use_only
    use_only(None)


@pytest.mark.parametrize(
    "language, text, page", [("en", "b 3", "<strong>b</strong> "), ("zh", "甲 3", "<strong>甲</strong> ")]
)
def test_one_language_leaves_no_trace_of_the_other(
    only: Callable[..., None], language: str, text: str, page: str
) -> None:
    pair = Bilingual("**b** ⟨3⟩", "**甲** ⟨3⟩")
    only(language)
    page += '<span class="measured">3</span>'
    assert (pair.html(), pair.block(), plain(str(pair))) == (page, f"<p>{page}</p>", text.replace("3", "⟨3⟩"))
    assert spans("b", "甲") == text[0] and measured_spans(None) == '<span class="measured"></span>'
    assert chosen_language() == language
    (made,) = by_language(lambda pick: ipywidgets.Button(description=pick(Bilingual("b", "甲"))))
    assert made.description == text[0] and not made._dom_classes
    only(None)
    assert 'lang="en"' in pair.html() and len(by_language(lambda pick: ipywidgets.Button())) == 3


def test_a_text_is_converted_before_it_is_shown(only: Callable[..., None]) -> None:
    only("zh", lambda text: text.replace("裝", "装"))
    pair = Bilingual("device", "裝置")
    assert pair.html() == spans("device", "裝置") == str(pair) == "装置"
    assert Bilingual("裝", "裝").html() == "装", "what is the same in both languages, too"
    with pytest.raises(ValueError, match="'fr'"):
        use_only("fr")
