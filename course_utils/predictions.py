"""Predictions: a one-click question before a measured result, and a reason for every choice.

The texts are in the lesson's ``texts.toml``, so that a cell does not give its answer away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course_utils.lesson import text
from torch_doctor.bilingual import Bilingual, Shown, by_language


@dataclass(frozen=True)
class Choice:
    """One choice of a question, and the reason shown to a learner who takes it."""

    text: Bilingual
    reason: Bilingual
    right: bool


@dataclass(frozen=True)
class Question:
    """A question with its choices; at least one is right."""

    name: str
    text: Bilingual
    choices: tuple[Choice, ...]


def _question(name: str, data: dict[str, Any]) -> Question:
    choices = tuple(
        Choice(Bilingual(c["en"], c["zh"]), Bilingual(c["why_en"], c["why_zh"]), bool(c.get("right")))
        for c in data["choices"]
    )
    if len(choices) < 2 or not any(c.right for c in choices):
        raise ValueError(
            f"question {name!r} needs at least two choices and one of them marked `right = true`."
        )
    return Question(name, Bilingual(data["en"], data["zh"]), choices)


def question(name: str) -> Question:
    """Return the question called `name`.

    Raises:
        ValueError: There is no such question, or it has no right choice.
    """
    return _question(name, text("question", name))


_PREDICT = Bilingual("Predict", "先猜猜看")
_RIGHT = Bilingual("Right.", "沒錯。")
_NOT_QUITE = Bilingual("Not quite.", "不太對。")


def answer(choice: Choice) -> str:
    """Return the HTML shown after a click on `choice`."""
    state, verdict = ("course-solved", _RIGHT) if choice.right else ("course-notyet", _NOT_QUITE)
    return f'<div class="course-card {state}"><p class="course-verdict">{verdict.html()}</p>{choice.reason.block()}</div>'


def _static(question: Question) -> str:
    items = "".join(f"<li>{c.text.html()}</li>" for c in question.choices)
    reasons = "".join(
        f"<li>{c.text.html()} — <strong>{(_RIGHT if c.right else _NOT_QUITE).html()}</strong>{c.reason.block()}</li>"
        for c in question.choices
    )
    return (
        f'<div class="course-card course-question"><p class="course-title">{_PREDICT.html()}</p>{question.text.block()}'
        f'<ul>{items}</ul><details><summary><span lang="en">Answers</span><span lang="zh-Hant">看答案</span></summary>'
        f"<ul>{reasons}</ul></details></div>"
    )


def _buttons(question: Question, pick: Any, reply: Any) -> Any:
    import ipywidgets as widgets

    buttons = [widgets.Button(description=pick(c.text), tooltip=pick(c.text)) for c in question.choices]

    def clicked(button: Any) -> None:
        for other in buttons:
            other.remove_class("course-chosen")
        button.add_class("course-chosen")
        reply.value = answer(question.choices[buttons.index(button)])

    for button in buttons:
        button.on_click(clicked)
    return widgets.Box(buttons, layout=widgets.Layout(flex_flow="row wrap"))


def predict(name: str) -> None:
    """Ask the learner to commit to an answer before the next cell shows the result.

    Args:
        name: The question's name in the lesson's ``texts.toml``.

    Raises:
        ValueError: There is no such question.
    """
    import ipywidgets as widgets
    from IPython.display import display

    asked = question(name)
    reply = widgets.HTML()
    heading = widgets.HTML(f'<p class="course-title">{_PREDICT.html()}</p>{asked.text.block()}')
    rows = by_language(lambda pick: _buttons(asked, pick, reply))
    box = widgets.VBox([heading, *rows, reply])
    box.add_class("course-question")
    box.add_class("course-card")
    display(Shown(box, _static(asked), f"question {name}: {asked.text}"))
