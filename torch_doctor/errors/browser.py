"""The widget of ``browse()``: search the catalogue, read a card, and provoke the error in a subprocess."""

from __future__ import annotations

import html
import re
from typing import Any

from bilingual import Bilingual, Shown, by_language
from torch_doctor.data import screen
from torch_doctor.errors.card import Explanation, card_html, entry_html, lesson_file
from torch_doctor.errors.catalogue import entries
from torch_doctor.errors.matching import find_cause
from torch_doctor.errors.provoke import provoke
from torch_doctor.errors.search import search
from torch_doctor.style import style

DEFAULT = "grad-numpy"
_OPTION_CHARACTERS = 60
_OUTPUT_LINES = 30

_TEXTS = screen("clinic", "browser")


def options(words: str) -> list[tuple[str, str]]:
    """Return the options of the list for the search `words`: (message, shortened to 60 characters; name of the entry)."""
    found, most = search(words), _OPTION_CHARACTERS
    shown = [one.message if len(one.message) <= most else one.message[: most - 1] + "…" for one in found]
    return [(text, entry.name) for text, entry in zip(shown, found)]


def view(name: str | None) -> str:
    """Return the card of the entry `name` as HTML, or a hint if the search found none (`name` is None)."""
    if name is None:
        return f'<div class="course-card course-needs">{_TEXTS["nothing"].block()}</div>'
    entry = entries()[name]
    return card_html(entry.topic, entry.message, entry_html(entry, lesson_link=lesson_file(entry.lesson)))


def provoked(name: str) -> str:
    """Provoke the entry `name` and return as HTML what was printed, followed by its explanation."""
    printed = provoke(name)
    if printed is None:
        return f'<div class="course-card course-needs">{_TEXTS["not-here"].block()}</div>'
    text = re.sub(r"[\x00-\x08\x0b-\x1f]", "", printed)
    shown = "\n".join(text.strip().splitlines()[-_OUTPUT_LINES:])
    return (
        f'<p>{_TEXTS["printed"].html()}</p><div class="course-card course-error"><pre class="course-console measured">'
        f"{html.escape(shown)}</pre></div>{Explanation(find_cause(text)).html()}"
    )


def browser() -> Shown:
    """Return the widget; where no kernel runs, the card of one entry is shown."""
    import ipywidgets as widgets

    words = widgets.Text(placeholder=str(_TEXTS["search"]), continuous_update=False)
    entry_list = widgets.Dropdown(options=options(""), value=DEFAULT)
    buttons = by_language(
        lambda pick: widgets.Button(description=pick(_TEXTS["provoke"]), layout=widgets.Layout(width="auto"))
    )
    card = widgets.HTML(view(DEFAULT))
    output = widgets.HTML("")
    for widget in (words, entry_list):
        widget.layout.width = "calc(100% - 8px)"
        widget.layout.max_width = "48em"

    def enable(possible: bool) -> None:
        for button in buttons:
            button.disabled = not possible

    def on_search(change: dict[str, Any]) -> None:
        entry_list.options = found = options(change["new"])
        entry_list.value = found[0][1] if found else None
        on_choice({"new": entry_list.value})

    def on_choice(change: dict[str, Any]) -> None:
        card.value = view(change["new"])
        output.value = ""
        enable(change["new"] is not None)

    def on_click(_: object) -> None:
        enable(False)
        output.value = f"<p>{_TEXTS['running'].html()}</p>"
        try:
            output.value = provoked(entry_list.value)
        except Exception as error:  # ipywidgets only logs the exception of a callback
            output.value = f'<pre class="course-card course-fails">{html.escape(repr(error))}</pre>'
            raise
        finally:
            enable(True)

    words.observe(on_search, "value")
    entry_list.observe(on_choice, "value")
    for button in buttons:
        button.on_click(on_click)
    box = widgets.VBox([words, entry_list, card, *buttons, output])
    box.add_class("course-clinic-browser")
    if style():
        box.children = (widgets.HTML(style()), *box.children)
        box.add_class("torch-doctor-browser")
    known = len(search(""))
    plain = str(Bilingual(f"error clinic: {known} messages", f"錯誤門診：{known} 則訊息"))
    return Shown(box, style() + view(DEFAULT), plain)
