"""Interactive figures: a widget is a view of a pure function, ``render(compute(**choices))``.

Each explorer is a module in a lesson's room, with its `compute` (numbers from choices, tested over the whole grid) and its `render`
(a picture from numbers). The view with the default choices is also the stored, static picture.
"""

import html
import itertools
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual, Block, Shown, by_language
from course_utils.figures import Label, Picture, key
from course_utils.predictions import unanswered


@dataclass(frozen=True)
class Control:
    """One thing the learner can choose.

    Attributes:
        name: The parameter of `compute` that it sets.
        label: The text beside it.
        options: (text, value) pairs; a text is a number or code, or words in both languages.
        default: The text of the option to start with, the English one of words.
        slider: A slider for ordered values, or a drop-down list for named ones.
    """

    name: str
    label: Bilingual
    options: Sequence[tuple[Label, Any]]
    default: str
    slider: bool = True


@dataclass(frozen=True)
class Explorer:
    """An interactive figure.

    Attributes:
        title: The text above it.
        controls: What the learner can choose.
        compute: Pure function of the choices (tested over the whole grid).
        render: Turns what `compute` returned into a picture or ready HTML.
    """

    title: Bilingual
    controls: tuple[Control, ...]
    compute: Callable[..., Any]
    render: Callable[[Any], Picture | Block]

    def defaults(self) -> dict[str, Any]:
        """Return the choices that the static picture shows."""
        return {c.name: {key(text): value for text, value in c.options}[c.default] for c in self.controls}

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of choices (for tests)."""
        for options in itertools.product(*(control.options for control in self.controls)):
            yield {control.name: value for control, (_, value) in zip(self.controls, options, strict=True)}

    def html(self, *, small: bool = True, **choices: Any) -> str:
        """Return what the explorer shows for `choices`; see :func:`course_utils.figures.png` for `small`."""
        shown = self.render(self.compute(**choices))
        return shown.html(small=small) if isinstance(shown, Picture) else shown.html

    def show(self) -> None:
        """Display the explorer: live controls where a kernel runs, the default picture elsewhere."""
        from IPython.display import display

        start = self.html(**self.defaults())
        display(Shown(_widget(self, start), start, f"explorer: {self.title}"))


def _selects(control: Control) -> list[Any]:
    """Return the control's widget; where its texts are words, one for each language choice, which move together."""
    import ipywidgets as widgets

    texts = [text for text, _ in control.options]
    kind = widgets.SelectionSlider if control.slider else widgets.Dropdown
    settings = {"continuous_update": False} if control.slider else {}

    def build(pick: Callable[[Bilingual], str]) -> Any:
        # The widget knows the texts only: a value such as None means "nothing chosen" to ipywidgets.
        shown = [pick(text) if isinstance(text, Bilingual) else text for text in texts]
        start = [*map(key, texts)].index(control.default)
        return kind(options=shown, index=start, layout=widgets.Layout(width="24em"), **settings)

    if not any(isinstance(text, Bilingual) for text in texts):
        return [build(str)]
    made = by_language(build)
    for other in made[1:]:
        widgets.link((made[0], "index"), (other, "index"))
    return made


def _widget(explorer: Explorer, start: str) -> Any:
    """Return the controls above a view that shows `start` until the first change."""
    import ipywidgets as widgets

    view = widgets.HTML(start)
    lock = threading.Lock()  # front ends may deliver two changes in two threads
    selects = {control.name: _selects(control) for control in explorer.controls}

    def redraw(_: object) -> None:
        with lock:
            choices = {c.name: c.options[selects[c.name][0].index][1] for c in explorer.controls}
            try:
                view.value = explorer.html(small=False, **choices)
            except Exception:
                # A callback's exception would only reach a log; a learner who reports it needs to see it.
                error = html.escape(traceback.format_exc())
                view.value = f'<pre class="course-card course-fails">{error}</pre>'
                raise

    rows = []
    for control in explorer.controls:
        label = widgets.HTML(control.label.html(), layout=widgets.Layout(width="15em"))
        selects[control.name][0].observe(redraw, "index")
        rows.append(widgets.HBox([label, *selects[control.name]]).add_class("course-control"))
    title = widgets.HTML(f'<p class="course-title">{explorer.title.html()}</p>{unanswered()}')
    return widgets.VBox([title, *rows, view]).add_class("course-explorer")
