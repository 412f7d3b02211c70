"""Predictions: a learner commits to a choice or a number before a result is measured, and gets a reason at once."""

import math
from collections.abc import Callable
from typing import Any

from bilingual import Bilingual, Block, Shown, by_language, measured, measured_spans, spans, texts
from course_utils.lesson import all_texts, current
from course_utils.questions import Choice, Number, Question, question
from course_utils.units import number as written

_TEXTS = texts(__file__)

_guesses: dict[tuple[str, str], float] = {}  # by lesson and question, as long as the kernel lives


def _reply(state: str, verdict: Bilingual, reason: Bilingual) -> str:
    return f'<div class="course-card {state}"><p class="course-verdict">{verdict.html()}</p>{reason.block()}</div>'


def unanswered() -> str:
    """Return what to do where nothing answers; the style sheet shows a part of it where that is so."""
    return (
        f'<div class="course-gone" style="display: none">{_TEXTS["gone"].block()}</div>'
        f'<div class="course-later" style="display: none">{_TEXTS["later"].block()}</div>'
    )


def _verdict(choice: Choice) -> Bilingual:
    return _TEXTS["right" if choice.right else "not_quite"]


def _heading(asked: Question) -> str:
    return f'<p class="course-title">{_TEXTS["predict"].html()}</p>{asked.text.block()}'


def _static(asked: Question) -> str:
    """Return a question for a page without a kernel, with its answers folded up."""
    if number := asked.number:
        ends = _TEXTS["range"].format(low=written(number.low), high=number.with_unit(number.high))
        shown, folded = f"<li>{ends.html()}</li>", number.reason.block()
    else:
        shown = "".join(f"<li>{c.text.html()}</li>" for c in asked.choices)
        reasons = "".join(
            f"<li>{c.text.html()}{spans(': ', '：')}<strong>{_verdict(c).html()}</strong>{c.reason.block()}</li>"
            for c in asked.choices
        )
        folded = f"<ul>{reasons}</ul>"
    return (
        f'<div class="course-card course-question">{_heading(asked)}<ul>{shown}</ul>'
        f"<details><summary>{_TEXTS['answers'].html()}</summary>{folded}</details></div>"
    )


def _buttons(asked: Question, pick: Callable[[Bilingual], str], reply: Any) -> list[Any]:
    import ipywidgets as widgets

    buttons = [widgets.Button(description=pick(c.text), tooltip=pick(c.text)) for c in asked.choices]

    def clicked(button: Any) -> None:
        for other in buttons:
            other.remove_class("course-chosen")
        button.add_class("course-chosen")
        choice = asked.choices[buttons.index(button)]
        state = "course-solved" if choice.right else "course-notyet"
        reply.value = _reply(state, _verdict(choice), choice.reason)

    for button in buttons:
        button.on_click(clicked)
    return buttons


def _slider(key: tuple[str, str], number: Number, pick: Callable[[Bilingual], str], reply: Any) -> list[Any]:
    import ipywidgets as widgets

    values = number.values()
    options = [pick(number.with_unit(value)) for value in values]
    layout = widgets.Layout(width="30em")
    slider = widgets.SelectionSlider(options=options, index=number.first(), layout=layout)
    button = widgets.Button(description=pick(_TEXTS["guess"]), tooltip=pick(_TEXTS["guess"]))

    def clicked(_: Any) -> None:
        button.add_class("course-chosen")
        _guesses[key] = values[slider.index]
        mine = _TEXTS["yours"].format(guess=number.with_unit(_guesses[key]))
        reply.value = _reply("course-question", mine, number.reason)

    button.on_click(clicked)
    return [slider, button]


def predict(name: str) -> None:
    """Ask the learner to commit to an answer before the next cell shows the result.

    Args:
        name: The question's name in the lesson's ``texts.toml``.

    Raises:
        ValueError: There is no such question.
    """
    import ipywidgets as widgets
    from IPython.display import display

    asked, reply = question(name), widgets.HTML()
    heading = widgets.HTML(_heading(asked) + unanswered())

    def row(pick: Callable[[Bilingual], str]) -> Any:
        number, key = asked.number, (current(), name)
        parts = _slider(key, number, pick, reply) if number else _buttons(asked, pick, reply)
        return widgets.Box(parts, layout=widgets.Layout(flex_flow="row wrap", align_items="center"))

    rows = by_language(row)
    for other in rows[1:] if asked.number else ():  # a guess stays when the language changes
        widgets.link((rows[0].children[0], "index"), (other.children[0], "index"))
    box = widgets.VBox([heading, *rows, reply]).add_class("course-question").add_class("course-card")
    display(Shown(box, _static(asked), f"question {name}: {asked.text}"))


def _compared(asked: Question, value: float) -> Bilingual | None:
    """Return how close the guess came to `value`; None where nothing was guessed, or there is nothing to compare."""
    number, guessed = asked.number, _guesses.get((current(), asked.name))
    if number is None or guessed is None or not math.isfinite(value) or (value <= 0 and not number.linear):
        return None
    if number.linear:
        off = _TEXTS["difference"].format(difference=number.with_unit(abs(value - guessed)))
        close = abs(value - guessed) <= 0.05 * (number.high - number.low)
    else:
        factor = max(value / guessed, guessed / value)
        off, close = _TEXTS["factor"].format(factor=written(factor)), factor <= 1.25
    guess, here = number.with_unit(guessed), number.with_unit(value)
    return _TEXTS["off"].format(guess=guess, value=here, off=_TEXTS["close"] if close else off)


def guess_line(claim_id: str, value: object) -> Bilingual | None:
    """Return how close the guess came to what a claim measured, or None if no number was asked, guessed or measured.

    Args:
        claim_id: The claim; a question belongs to it whose text has ``claim = "…"`` with this id.
        value: What was measured.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    asked = (name for name, data in all_texts(current())["question"].items() if data.get("claim") == claim_id)
    return next((_compared(question(name), value) for name in asked), None)


def reveal(name: str, value: Any) -> None:
    """Show how close the learner's guess came to the measured `value`; an empty line if nothing was guessed.

    Args:
        name: The question, one for a number.
        value: What was measured: a number, or a comparison, whose ratio counts.

    Raises:
        ValueError: There is no such question, or it has choices.
    """
    from IPython.display import display

    asked = question(name)
    if asked.number is None:
        raise ValueError(f"reveal({name!r}, …): this question has choices; only a number can be compared.")
    line = _compared(asked, float(getattr(value, "ratio", value)))
    page = f'<p class="course-guess">{measured_spans(line)}</p>'
    display(Block(page, f"guess {name}: {measured(line or '')}"))
