"""Two languages, one switch: markup, marks of measured values, and the choice that is remembered."""

from __future__ import annotations

import json
import re
from itertools import groupby, islice
from pathlib import Path

import pytest
from html_nesting import assert_nested
from lesson_cells import calls, everything

from course_utils import bi, language, store
from course_utils.language import Bilingual, Shown, by_language, markup, measured, plain


def test_the_nesting_check_can_fail() -> None:
    for broken in ("<p>", "</p>", "<b><i></b></i>"):
        with pytest.raises(AssertionError):
            assert_nested(broken)


# --- markup -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a `b` c", "a <code>b</code> c"),
        ("a **b** c", "a <strong>b</strong> c"),
        ("takes ⟨3⟩ times", 'takes <span class="measured">3</span> times'),
        ("**use `x` now**", "<strong>use <code>x</code> now</strong>"),
        ("`<b>` & <i>", "<code>&lt;b&gt;</code> &amp; &lt;i&gt;"),
        ("`f(**a)` and `g(**b)`", "<code>f(**a)</code> and <code>g(**b)</code>"),
        ("`a ⟨3⟩ b`", '<code>a <span class="measured">3</span> b</code>'),
        ("2 * 3 * 4 and a ` alone", "2 * 3 * 4 and a ` alone"),
        ("**a** and **b**", "<strong>a</strong> and <strong>b</strong>"),
        ("", ""),
    ],
)
def test_markup(text: str, expected: str) -> None:
    assert markup(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`a ** b` and `c ** d`",
        "**a `b**c` d**",
        "`**`**`**`",
        "⟨`a`⟩ **⟨b⟩**",
        "⟨**a**⟩",
        "`⟨`⟩`",
        "**⟨**⟩",
        "<`>**<**",
    ],
)
def test_markup_never_gives_broken_html(text: str) -> None:
    assert_nested(markup(text))


@pytest.mark.parametrize("text", ["⟨`a` **b**⟩", "⟨a ⟨b⟩", "⟨<b>⟩", "a ⟨`x`, 3⟩ b"])
def test_only_text_stands_inside_a_measured_mark(text: str) -> None:
    """The notebook checks replace a mark only if no tag stands inside."""
    found = re.findall(r'<span class="measured">(.*?)</span>', markup(text))
    assert found and not any("<" in inside for inside in found)


def test_plain_drops_markup_and_keeps_marks() -> None:
    assert plain("**use `x`** in ⟨3⟩") == "use x in ⟨3⟩"


def test_measured_cannot_be_closed_from_inside() -> None:
    assert measured("a⟩b⟨c") == "⟨abc⟩"
    assert measured(3.5) == "⟨3.5⟩"


# --- pairs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("en, zh", [("", "字"), ("word", ""), ("word", "  \n"), (None, "字"), ("word", 3)])
def test_a_missing_language_is_refused(en: object, zh: object) -> None:
    with pytest.raises(ValueError, match="both languages"):
        bi(en=en, zh=zh)  # type: ignore[arg-type]


def test_html_carries_both_languages_and_escapes() -> None:
    pair = bi(en="a < `b`", zh="甲 < `乙`")
    assert pair.html() == (
        '<span lang="en">a &lt; <code>b</code></span><span lang="zh-Hant">甲 &lt; <code>乙</code></span>'
    )
    assert pair.block() == (
        '<p lang="en">a &lt; <code>b</code></p><p lang="zh-Hant">甲 &lt; <code>乙</code></p>'
    )
    assert str(pair) == "a < b · 甲 < 乙"


def test_a_name_stands_once() -> None:
    assert bi(en="CUDA", zh="CUDA").html() == "CUDA"
    assert str(bi(en="`x`", zh="`x`")) == "x"


def test_format_fills_both() -> None:
    assert bi(en="{n} GPUs", zh="{n} 張 GPU").format(n=2) == Bilingual("2 GPUs", "2 張 GPU")


def test_a_notebook_shows_html_and_a_terminal_shows_text() -> None:
    bundle = bi(en="**a**", zh="**甲**")._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert "<strong>甲</strong>" in bundle["text/html"] and bundle["text/plain"] == "a · 甲"
    assert_nested(bundle["text/html"])


# --- the choice ---------------------------------------------------------------------------------------


def test_both_languages_are_shown_until_one_is_chosen(data: Path) -> None:
    assert language.choice() == "both"
    assert not data.exists(), "asking may not write"


@pytest.mark.parametrize("name", language.CHOICES)
def test_the_choice_is_remembered(name: str) -> None:
    language.remember(name)
    assert language.choice() == name
    assert language.switch().children[0].value == name, "the next notebook starts with it"


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="'fr'.*en, zh, both"):
        language.remember("fr")


def test_other_settings_survive() -> None:
    store.write("settings", {"later": 1})
    language.remember("zh")
    assert store.read("settings") == {"later": 1, "language": "zh"}


HOSTILE = [
    b"",
    b"{",
    b"\xff\xfe\x00",
    b"[]",
    b"3",
    b"null",
    b'"zh"',
    b'{"language": "fr"}',
    b'{"language": ["zh"]}',
    b'{"language": {"zh": 1}}',
    b'{"language": null}',
    b'{"Language": "zh"}',
    b'{"language": "zh"',
    b'{"language": "\\ud800"}',
    b'{"other": "\\ud800"}',
    b'{"other": NaN}',
    b'{"other": ' + b"9" * 5000 + b"}",
    b'{"other": ' + b"[" * 900 + b"]" * 900 + b"}",
    b"[" * 200_000,
]


@pytest.mark.parametrize("content", HOSTILE, ids=lambda content: repr(content[:24]))
def test_a_damaged_settings_file_harms_nothing(content: bytes, data: Path) -> None:
    data.mkdir()
    (data / "settings.json").write_bytes(content)
    assert language.choice() == "both"
    switch = language.switch()
    switch.children[0].value = "en"  # what a click does
    assert language.choice() == "en"
    assert json.loads((data / "settings.json").read_text(encoding="utf-8"))["language"] == "en"


def test_a_choice_that_cannot_be_saved_still_switches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "file" / "data"))
    switch = language.switch()
    switch.children[0].value = "zh"
    assert switch.children[0].index == 1 and language.choice() == "both"


# --- the switch ---------------------------------------------------------------------------------------


def test_every_choice_has_a_button_that_the_style_sheet_asks_for() -> None:
    buttons, style = language.switch().children
    assert [value for _, value in buttons.options] == list(language.CHOICES)
    for number, name in enumerate(language.CHOICES):
        button = re.escape(f'.course-switch button[value="{number}"].mod-active')
        (hidden,) = re.findall(
            rf"^:is\((?:\n  [^\n]*{button}[^\n]*){{6}}\n\) {{\n(.*?)^}}", style.value, re.S | re.M
        )
        others = {f"only-{other}" for other in language.CHOICES if other != name}
        assert set(re.findall(r"\.course-(only-\w+)", hidden)) == others, f"what is not {name} is hidden"
        pairs = set() if name == "both" else {"en", "zh"} - {name}
        assert set(re.findall(r'\[lang\|="(\w+)"\],', hidden)) == pairs
        assert "display: none !important" in hidden


def test_the_switch_is_where_the_style_sheet_looks() -> None:
    """It asks the first four cells only, so that it costs nothing to run the others."""
    assert ".jp-Cell:nth-child(-n+4):has(.course-switch " in language.style()
    asked = [(cell.lesson, cell.id) for cell, _ in calls("setup")]
    first = [
        (cell.lesson, cell.id)
        for _, lesson in groupby(everything(), key=lambda cell: cell.lesson)
        for cell in islice(lesson, 4)
    ]
    assert asked and set(asked) <= set(first)
    assert [lesson for lesson, _ in asked] == sorted({cell.lesson for cell in everything()}), "one each"


def test_the_style_sheet_is_closed() -> None:
    sheet = language.style()
    assert sheet.count("{") == sheet.count("}") > 20
    assert_nested(sheet)


def test_widgets_come_once_per_language() -> None:
    import ipywidgets

    pair = bi(en="**go**", zh="`走`")
    made = by_language(lambda pick: ipywidgets.Button(description=pick(pair)))
    assert [button.description for button in made] == ["go", "走", "go · 走"]
    assert [button._dom_classes for button in made] == [
        ("course-only-en",),
        ("course-only-zh",),
        ("course-only-both",),
    ]


def test_without_a_kernel_the_static_form_is_shown() -> None:
    import ipywidgets

    bundle = Shown(ipywidgets.HTML("live"), "<p>static</p>", "text")._repr_mimebundle_()
    assert bundle["text/html"] == "<p>static</p>" and bundle["text/plain"] == "text"
    assert "application/vnd.jupyter.widget-view+json" in bundle
