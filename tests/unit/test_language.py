"""Two languages, one switch: markup, marks of measured values, and the choice that is remembered."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lesson_cells import NOTEBOOKS, calls

from course_utils import Bilingual, language, settings, setup
from tools.notebook_file import cells

# --- the choice ---------------------------------------------------------------------------------------


def test_both_languages_are_shown_until_one_is_chosen(data: Path) -> None:
    assert language.choice() == "both"
    assert not data.exists(), "asking may not write"


@pytest.mark.parametrize("name", language.CHOICES)
def test_the_choice_is_remembered_and_other_settings_survive(name: str) -> None:
    settings.write("settings", {"later": 1})
    language.remember(name)
    assert settings.read("settings") == {"later": 1, "language": name} and language.choice() == name
    assert language.switch().children[0].value == name, "the next notebook starts with it"


# Of the language alone; test_settings.py has files that are damaged altogether.
HOSTILE = [
    b"{", b'"zh"', b'{"language": "fr"}', b'{"language": ["zh"]}', b'{"language": {"zh": 1}}', b'{"language": null}',
    b'{"Language": "zh"}', b'{"language": "\\ud800"}',
]  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE, ids=lambda content: repr(content[:24]))
def test_a_damaged_settings_file_harms_nothing(content: bytes, data: Path) -> None:
    data.mkdir()
    (data / "settings.json").write_bytes(content)
    assert language.choice() == "both"
    switch = language.switch()
    switch.children[0].value = "en"  # what a click does
    assert language.choice() == "en"
    assert json.loads((data / "settings.json").read_text(encoding="utf-8"))["language"] == "en"


def test_a_choice_that_cannot_be_saved_still_switches(data: Path) -> None:
    data.write_text("in the way")
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
    assert language.style().count("{") == language.style().count("}") > 20, "it is closed"
    assert ".jp-Cell:nth-child(-n+4):has(.course-switch " in language.style()
    asked = [(cell.lesson, cell.id) for cell, _ in calls("setup")]
    first = {(cell.lesson, cell.id) for path in NOTEBOOKS for cell in cells(path)[:4]}
    assert asked and set(asked) <= first
    assert [lesson for lesson, _ in asked] == [path.name[:2] for path in NOTEBOOKS], "one each"


# --- one language only --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, device", [("en", "device"), ("zh-TW", "裝置"), ("zh-CN", "设备"), (None, "device · 裝置")]
)
def test_a_notebook_in_one_language(name: str | None, device: str) -> None:
    try:
        language.use(name)
        assert str(Bilingual(en="device", zh="裝置")) == device
    finally:
        language.use(None)
    with pytest.raises(ValueError, match="'zh'.*en, zh-TW, zh-CN"):
        language.use("zh")


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_setup_in_one_language_shows_no_switch(
    how: str, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_LANGUAGE", "en" if how == "variable" else "zh-TW")
    try:
        setup("01", language="en" if how == "argument" else None)
        page = "".join(child.value for child in shown[-1].widget.children)
    finally:
        language.use(None)
    assert "<style>" in page and "In this course" in page
    assert not re.search("[一-鿿]", re.sub("<style>.*?</style>", "", page, flags=re.S) + shown[-1].html)
