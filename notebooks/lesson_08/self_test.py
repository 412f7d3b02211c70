"""The self-test of the course: a question after the other, each answered at once, and a score by lesson at the end."""

from collections.abc import Callable
from typing import Any

from bilingual import CHOICES, Bilingual, Block, Shown, by_language
from course_utils.language import choice as chosen_language
from lesson_08.self_test_score import answers, keep, questions, reply, score
from lesson_08.words import WORDS

_TEXTS = WORDS["self_test"]


class SelfTest:
    """The widget: a question with its choices, what was answered, and two buttons to move; all of it by keyboard, too."""

    def __init__(self) -> None:
        import ipywidgets as widgets

        self.names = list(questions())
        self.given = answers()
        self.at = next((at for at, name in enumerate(self.names) if name not in self.given), len(self.names))
        # JupyterLab follows the links of an output, not those of an HTML widget.
        self.heading, self.reply = widgets.HTML(), widgets.Output()
        self.choices = by_language(lambda pick: self._row(pick, 3, self._choose))
        self.moves = by_language(lambda pick: self._row(pick, 2, self._move))
        for row in self.moves:
            row.add_class("course-moves")
        self.box = widgets.VBox([self.heading, *self.choices, self.reply, *self.moves])
        self.box.add_class("course-question")
        self.box.add_class("course-card")
        self.show()

    def _row(self, pick: Callable[[Bilingual], str], count: int, act: Callable[[int], None]) -> Any:
        import ipywidgets as widgets

        def button(at: int) -> Any:
            made = widgets.Button()
            made.on_click(lambda _: act(at))
            return made

        row = widgets.Box(
            [button(at) for at in range(count)],
            layout=widgets.Layout(flex_flow="row wrap", align_items="center"),
        )
        row.pick = pick  # how its labels are written
        return row

    def _label(self, rows: list[Any], texts: list[Bilingual], chosen: int | None = None) -> None:
        """Write `texts` on the buttons of `rows`, and mark the chosen one; a button without a text is hidden."""
        for row in rows:
            for at, button in enumerate(row.children):
                button.layout.display = None if at < len(texts) else "none"
                button.description = button.tooltip = row.pick(texts[at]) if at < len(texts) else ""
                (button.add_class if at == chosen else button.remove_class)("course-chosen")

    def _say(self, page: str, text: str = "") -> None:
        output = {
            "output_type": "display_data",
            "data": {"text/html": page, "text/plain": text},
            "metadata": {},
        }
        self.reply.outputs = (output,) if page else ()

    def show(self) -> None:
        """Show the current question, or the score after the last one."""
        last = len(self.names)
        for row in self.moves:
            row.children[0].disabled = not self.at  # nothing is before the first question
        title = f'<p class="course-title">{_TEXTS["title"].html()}</p>'
        if self.at == last:
            self.heading.value = title
            self._label(self.choices, [])
            self._label(self.moves, [_TEXTS["back"], _TEXTS["once_more"]])
            self._say(score(self.given))
            return
        name = self.names[self.at]
        asked, place = questions()[name]
        number = Bilingual(place.lesson, str(int(place.lesson)))
        line = _TEXTS["at"].format(number=self.at + 1, all=last, lesson=number)
        self.heading.value = f'{title}<p class="course-small">{line.html()}</p>{asked.text.block()}'
        self._label(self.choices, [choice.text for choice in asked.choices], self.given.get(name))
        self._label(self.moves, [_TEXTS["back"], _TEXTS["next"] if self.at < last - 1 else _TEXTS["result"]])
        self._say(reply(name, self.given[name]) if name in self.given else "")

    def _choose(self, at: int) -> None:
        name = self.names[self.at]
        if name not in self.given:  # the first answer counts
            self.given[name] = at
            keep(self.given)
        self._label(self.choices, [choice.text for choice in questions()[name][0].choices], at)
        self._say(reply(name, at))

    def _move(self, at: int) -> None:
        if at == 1 and self.at == len(self.names):
            self.given, self.at = {}, 0
            keep(self.given)
        else:
            self.at = min(max(self.at + (1 if at else -1), 0), len(self.names))
        self.show()
        if self.at < len(self.names):
            row = CHOICES.index(chosen_language()) if len(self.choices) > 1 else 0
            self.choices[row].children[0].focus()


def static() -> Block:
    """Return the questions with their choices and without answers, for a page without a kernel."""
    items = "".join(
        f"<li>{asked.text.block()}<ul>{''.join(f'<li>{c.text.html()}</li>' for c in asked.choices)}</ul></li>"
        for asked, _ in questions().values()
    )
    return Block(
        f'<div class="course-card course-question"><p class="course-title">{_TEXTS["title"].html()}</p>'
        f"<details><summary>{_TEXTS['all'].html()}</summary><ol>{items}</ol></details></div>",
        f"{_TEXTS['title']}: {len(questions())}",
    )


def self_test() -> None:
    """Show the self-test where the learner left it."""
    from IPython.display import display

    page = static()
    display(Shown(SelfTest().box, page.html, page.text))
