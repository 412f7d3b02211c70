"""Every explorer of every room: over its whole grid of choices, as a picture, and as a widget."""

import itertools
import math
import re
import time
import timeit
from dataclasses import replace
from typing import Any

import ipywidgets
import pytest
from html_nesting import assert_nested
from lesson_cells import calls
from room_explorers import explorers
from sample import sample

from bilingual import Bilingual, Block, plain
from course_utils import figures
from course_utils.explorer import Control, Explorer

ALL = explorers()
each = pytest.mark.parametrize("name", ALL)
# By day the first explorer of each lesson stands for all where many pictures are drawn.
some = pytest.mark.parametrize("name", sample(ALL, {name[:9]: name for name in reversed(ALL)}.values()))
pytestmark = pytest.mark.usefixtures("no_warnings")


def test_every_explorer_is_shown_by_its_lesson() -> None:
    shown = set()
    for name in ALL:
        room, module = name.split(".")
        uses = [*calls(f"{module}.EXPLORER.show"), *calls(f"{module}.explorer")]
        assert uses, f"no notebook shows {name}"
        shown |= {(f"lesson_{cell.lesson}", module) for cell, _ in uses}
    assert shown == {tuple(name.split(".")) for name in ALL} and len(ALL) >= 11


@each
def test_every_choice_computes(name: str) -> None:
    grid = list(ALL[name].grid())
    assert len(grid) == math.prod(len(control.options) for control in ALL[name].controls) > 10
    assert ALL[name].defaults() in grid
    for choices in grid:
        ALL[name].compute(**choices)


def samples(explorer: Explorer) -> list[dict[str, Any]]:
    """Return the default choices, and the last value of every control."""
    return [explorer.defaults(), {control.name: control.options[-1][1] for control in explorer.controls}]


@some
def test_pictures_are_drawn_and_have_texts_in_both_languages(name: str) -> None:
    for choices in samples(ALL[name]):
        shown = ALL[name].render(ALL[name].compute(**choices))
        if isinstance(shown, Block):
            assert_nested(shown.html)
            assert 'lang="en"' in shown.html and 'lang="zh-Hant"' in shown.html
            continue
        for text in (shown.caption, shown.alternative):
            assert (
                re.search("[A-Za-z]{3}", text.en) and re.search("[一-鿿]{2}", text.zh) and text.en != text.zh
            )
        assert_nested(f"<p>{shown.caption.html()}</p>")
        assert (
            len(figures.png(shown.figure, small=False)) > 2000
        )  # a missing glyph or a bad layout warns: an error


WORDS = {
    "batch_size": r"2(?= 的次方)",
    "number_formats": r"0(?= 的那個)",
}  # numbers that English says in a word


@some
def test_captions_have_the_same_numbers_in_both_languages(name: str) -> None:
    for choices in itertools.islice(ALL[name].grid(), 0, None, max(1, len(list(ALL[name].grid())) // 6)):
        shown = ALL[name].render(ALL[name].compute(**choices))
        if isinstance(shown, figures.Picture):
            chinese = re.sub(WORDS.get(name.split(".")[1], r"(?!)"), "", plain(shown.caption.zh))
            english, chinese = (
                set(re.findall(r"\d[\d.,]*(?<![.,])", text)) for text in (plain(shown.caption.en), chinese)
            )
            assert english == chinese, choices


def inputs_of(box: Any) -> list[Any]:
    kinds = (ipywidgets.SelectionSlider, ipywidgets.Dropdown)
    copies = {"course-only-zh", "course-only-both"}  # of a list of words, which move with the first
    found = [box] if isinstance(box, kinds) and not copies & set(box._dom_classes) else []
    return found + [w for child in getattr(box, "children", ()) for w in inputs_of(child)]


@each
def test_moving_a_control_changes_the_view(name: str, shown: list[Any]) -> None:
    computed: list[Any] = []

    def render(result: Any) -> Block:  # the drawing is tested above
        computed.append(result)
        return Block(repr(result), "")

    explorer = replace(ALL[name], render=render)
    explorer.show()
    assert len(computed) == 1, "the first picture is drawn once"
    bundle, box = shown[-1]._repr_mimebundle_(), shown[-1].widget
    view = box.children[-1]
    assert bundle["text/html"] == view.value, "live and static view start the same"
    assert bundle["text/plain"].startswith(f"explorer: {plain(explorer.title.en)}")
    assert len(inputs_of(box)) == len(explorer.controls)
    choices, seen = explorer.defaults(), {view.value}
    for widget, control in zip(inputs_of(box), explorer.controls, strict=True):
        for index in (0, len(control.options) - 1):
            widget.index = index
            choices[control.name] = control.options[index][1]
            assert view.value == repr(explorer.compute(**choices))
            seen.add(view.value)
    assert len(seen) > len(explorer.controls), "each control changes something"


def test_options_that_are_words_follow_the_language(shown: list[Any]) -> None:
    words = [
        (Bilingual("one stream", "一條串流"), 1),
        (Bilingual("two streams", "兩條串流"), 2),
        ("n = 3", 3),
    ]
    control = Control("n", Bilingual("streams", "串流"), words, "two streams", slider=False)
    Explorer(Bilingual("a", "甲"), (control,), lambda n: n, lambda n: Block(f"<p>{n}</p>", "")).show()
    box = shown[-1].widget
    _, *lists = box.children[1].children
    assert [made.label for made in lists] == ["two streams", "兩條串流", "two streams · 兩條串流"]
    assert [made._dom_classes for made in lists] == [(f"course-only-{tag}",) for tag in ("en", "zh", "both")]
    lists[1].index = 0
    assert box.children[-1].value == "<p>1</p>" and {made.index for made in lists} == {0}
    lists[0].index = 2
    assert box.children[-1].value == "<p>3</p>" and {made.label for made in lists} == {"n = 3"}


def draw_a_plain_chart() -> None:
    figure, axes = figures.new()
    axes.plot([1, 10, 100], [1, 20, 300], label="a")
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis, "s")
    axes.legend()
    figures.png(figure, small=False)


def fastest_of_three(action: Any) -> float:
    """Return processor seconds."""
    return min(timeit.repeat(action, timer=time.process_time, number=1, repeat=3))


@some
def test_ten_pictures_a_second(name: str) -> None:
    """Processor time of one move: 0.02 to 0.1 s on a quiet core of 2026.

    A slow machine, or a core whose other hardware thread is busy, gets as long as five plain charts take on it.
    """
    explorer = ALL[name]
    seconds = fastest_of_three(lambda: explorer.html(small=False, **explorer.defaults()))
    assert seconds < 0.1 or seconds < 5 * fastest_of_three(draw_a_plain_chart)


def test_an_error_in_a_callback_is_shown(shown: list[Any]) -> None:
    """The front end would only log it."""
    control = Control("n", Bilingual("n", "n"), [("0", 0), ("1", 1)], "1", slider=False)
    Explorer(Bilingual("a", "甲"), (control,), lambda n: 1 / n, lambda x: Block(str(x), "")).show()
    box = shown[-1].widget
    with pytest.raises(ZeroDivisionError):
        inputs_of(box)[0].index = 0
    assert "ZeroDivisionError" in box.children[-1].value
    inputs_of(box)[0].index = 1
    assert box.children[-1].value == "1.0", "the next choice works again"
