"""The texts of code cells: complete in both languages, each used by a lesson, each question with a reason for all."""

from __future__ import annotations

import string
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from html_nesting import assert_nested
from lesson_cells import NOTEBOOKS, cells, first_arguments

from course_utils import figures, language, predict, questions, texts
from course_utils.questions import question

FOLDER = Path(texts.__file__).parent
USES = {
    "question": ("predict",),
    "claim": ("claim",),
    "figure": (
        "figures.curves",
        "figures.columns",
        "figures.panels",
        "figures.stacked",
        "figures.histogram",
        "timeline.show",
        "timelines",
        "lanes.show",
        "Live",
    ),
}
ENTRIES = [(kind, name) for kind in texts.KINDS for name in texts.texts(kind)]
QUESTIONS = sorted(texts.texts("question"))


def test_there_is_something_to_test() -> None:
    assert len(NOTEBOOKS) >= 3 and len(cells("code")) > 60 and len(ENTRIES) > 40


# --- TOML and notebooks agree -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", texts.KINDS)
def test_every_text_is_used_and_every_use_has_a_text(kind: str) -> None:
    used = {name for _, name in first_arguments(*USES[kind])}
    assert used == set(texts.texts(kind))


@pytest.mark.parametrize("kind", ["question", "claim"])
def test_nothing_is_stated_or_asked_twice(kind: str) -> None:
    twice = [name for (_, name), count in Counter(first_arguments(*USES[kind])).items() if count > 1]
    assert not twice


def test_a_recorded_figure_has_a_name_of_its_own() -> None:
    names = Counter(first_arguments("figures.bars", *USES["figure"]))
    assert not [name for name, count in names.items() if count > 1]
    assert len({name for _, name in names}) == len(names), "two lessons record under the same name"


def test_texts_stand_in_the_file_of_their_lesson() -> None:
    for kind in texts.KINDS:
        for lesson, name in first_arguments(*USES[kind]):
            sections = tomllib.loads((FOLDER / f"{lesson}.toml").read_text(encoding="utf-8"))
            assert name in sections[kind], f"{kind} {name}: used in lesson {lesson}, written elsewhere"


def test_claims_are_numbered_by_lesson() -> None:
    for lesson, name in first_arguments("claim"):
        assert name.startswith(f"{int(lesson)}."), name


# --- complete -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, name", ENTRIES)
def test_both_languages_are_there(kind: str, name: str) -> None:
    def look(entry: dict[str, Any]) -> None:
        for key, value in entry.items():
            if isinstance(value, list):
                for part in value:
                    look(part)
                continue
            if isinstance(value, str):
                assert value.strip() == value and value, f"{key} of {kind} {name}"
            if key.endswith(("en", "zh")):
                other = key[:-2] + {"en": "zh", "zh": "en"}[key[-2:]]
                assert other in entry, f"{kind} {name} has {key}, but no {other}"
                assert_nested(language.markup(value))
                placeholders = [
                    [f for _, f, _, _ in string.Formatter().parse(entry[k]) if f] for k in (key, other)
                ]
                assert placeholders[0] == placeholders[1]

    entry = texts.text(kind, name)
    assert {"en", "zh"} <= set(entry)
    look(entry)


@pytest.mark.parametrize("name", sorted(texts.texts("figure")))
def test_a_figures_axes_have_names(name: str) -> None:
    caption, x, y = figures.caption_and_axes(name)
    kind = next(use for use in USES["figure"] if (name in {found for _, found in first_arguments(use)}))
    named = {
        "figures.curves": (True, True),
        "figures.histogram": (True, True),
        "figures.columns": (False, True),
    }
    assert caption.en and caption.zh
    assert (bool(x.label), bool(y.label)) == named.get(kind, (False, False)), kind
    assert {x.scale, y.scale} <= {"log", "linear"}


@pytest.mark.parametrize("name", sorted(n for n, t in texts.texts("figure").items() if "parts" in t))
def test_a_figures_parts_have_names(name: str) -> None:
    _, parts = figures.caption_and_parts(name)
    assert parts and all(part.en and part.zh for part in parts.values())
    assert name in {found for _, found in first_arguments("figures.panels", "figures.stacked", "Live")}


@pytest.mark.parametrize("kind, name", [("claim", "9.99"), ("question", "nobody"), ("figure", "")])
def test_an_unknown_name_is_answered_with_the_list(kind: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"no {kind} '{name}'.*{sorted(texts.texts(kind))[0]}"):
        texts.text(kind, name)


@pytest.mark.parametrize("files, words", [
    ({"01.toml": '[claim."1"]\nen="a"\nzh="b"', "02.toml": '[claim."1"]\nen="c"\nzh="d"'}, "claim '1' stands twice"),
    ({"01.toml": '[claims."1"]\nen="a"\nzh="b"'}, r"section \['claims'\] is not known"),
])  # fmt: skip
def test_mistakes_in_the_files_are_named(
    files: dict[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.setattr(texts.resources, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=words):
        texts.texts.__wrapped__("claim")


# --- questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_has_a_right_and_a_wrong_choice_and_a_reason_for_each(name: str) -> None:
    asked = question(name)
    assert {choice.right for choice in asked.choices} == {True, False}
    for texts_of in ([c.text for c in asked.choices], [c.reason for c in asked.choices]):
        for tag in ("en", "zh"):
            said = [getattr(text, tag) for text in texts_of]
            assert len(set(said)) == len(said), f"{name}: two choices say the same"
    assert all(len(choice.reason.en) > 30 for choice in asked.choices), "a reason explains"
    assert 2 <= len(asked.choices) <= 5


def test_the_right_choice_is_not_always_at_the_same_place() -> None:
    places = Counter([choice.right for choice in question(name).choices].index(True) for name in QUESTIONS)
    assert max(places.values()) <= 0.7 * len(QUESTIONS), places


@pytest.mark.parametrize("choices", [
    [], [{"right": True}], [{}, {}],
])  # fmt: skip
def test_a_question_without_a_right_choice_is_refused(choices: list[dict[str, bool]]) -> None:
    words = {"en": "a", "zh": "甲", "why_en": "b", "why_zh": "乙"}
    with pytest.raises(ValueError, match="at least two choices"):
        questions._question("q", {"en": "a", "zh": "甲", "choices": [words | choice for choice in choices]})


def test_an_unknown_question_is_refused(shown: list[Any]) -> None:
    with pytest.raises(ValueError, match="no question 'nobody'"):
        predict("nobody")
    assert not shown


def widgets_of(widget: Any, kind: type) -> list[Any]:
    found = [widget] if isinstance(widget, kind) else []
    return found + [w for child in getattr(widget, "children", ()) for w in widgets_of(child, kind)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_choice_answers_when_it_is_clicked(name: str, shown: list[Any]) -> None:
    predict(name)
    asked, box = question(name), shown[-1].widget
    buttons = widgets_of(box, ipywidgets.Button)
    reply = widgets_of(box, ipywidgets.HTML)[-1]
    assert len(buttons) == len(asked.choices) * len(language.CHOICES)
    assert reply.value == "", "no answer before a click"
    for row in range(len(language.CHOICES)):
        here = buttons[row * len(asked.choices) :][: len(asked.choices)]
        for button, choice in zip(here, asked.choices, strict=True):
            button.click()
            assert choice.reason.block() in reply.value
            assert ("course-solved" in reply.value) == choice.right
            assert_nested(reply.value)
            assert [b for b in here if "course-chosen" in b._dom_classes] == [button]


@pytest.mark.parametrize("name", QUESTIONS)
def test_labels_follow_the_language(name: str, shown: list[Any]) -> None:
    predict(name)
    asked = question(name)
    labels = [b.description for b in widgets_of(shown[-1].widget, ipywidgets.Button)]
    count = len(asked.choices)
    assert labels[:count] == [language.plain(c.text.en) for c in asked.choices]
    assert labels[count : 2 * count] == [language.plain(c.text.zh) for c in asked.choices]
    assert labels[2 * count :] == [str(c.text) for c in asked.choices]


@pytest.mark.parametrize("name", QUESTIONS)
def test_without_a_kernel_the_question_can_be_read(name: str, shown: list[Any]) -> None:
    predict(name)
    bundle = shown[-1]._repr_mimebundle_()
    asked = question(name)
    assert_nested(bundle["text/html"])
    for choice in asked.choices:
        assert choice.text.html() in bundle["text/html"] and choice.reason.block() in bundle["text/html"]
        assert choice.reason.en not in bundle["text/plain"], "the plain form gives nothing away"
    answers = bundle["text/html"].index("<details>")
    assert all(bundle["text/html"].index(c.reason.block()) > answers for c in asked.choices), (
        "answers are folded"
    )
