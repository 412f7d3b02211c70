"""The clinic's catalogue in a notebook: search it, read a card, and provoke the error in a process of its own."""

from __future__ import annotations

import html
import re
from typing import Any

from course_utils.clinic.cards import Explanation, entry_html, lesson_file
from course_utils.clinic.catalogue import Entry, entries
from course_utils.clinic.matching import diagnose
from course_utils.clinic.provoking import provoke
from course_utils.clinic.searching import search
from course_utils.language import Bilingual, Shown, by_language

DEFAULT = "grad-numpy"
_LONGEST = 60  # characters of an option
_LINES = 30  # of a provoked output

_SEARCH = Bilingual("search in messages and explanations", "在訊息與說明裡搜尋")
_NOTHING = Bilingual(
    "No entry holds all of these words. Fewer words find more.", "沒有哪一則同時包含這些字，少打幾個字試試。"
)
_PROVOKE = Bilingual("Provoke it", "引發看看")
_RUNNING = Bilingual("Running in a process of its own …", "正在另一個行程裡執行……")
_CANNOT = Bilingual(
    "This machine cannot provoke it: it takes other hardware or another installation.",
    "這台機器引發不了這個錯誤：要換硬體，或換安裝的版本。",
)
_PRINTED = Bilingual("What a process of its own just printed:", "另一個行程剛才印出的內容：")


def option(entry: Entry) -> str:
    """Return the line that stands for `entry` in the list."""
    return entry.says if len(entry.says) <= _LONGEST else entry.says[: _LONGEST - 1] + "…"


def options(words: str) -> list[tuple[str, str]]:
    """Return what the list offers for `words`: (text, name of the entry)."""
    return [(option(entry), entry.name) for entry in search(words)]


def view(name: str | None) -> str:
    """Return the card of the entry `name`, or what to do where none was found."""
    if name is None:
        return f'<div class="course-card course-needs">{_NOTHING.block()}</div>'
    entry = entries()[name]
    body = entry_html(entry, lesson_link=lesson_file(entry.lesson))
    return (
        f'<div class="course-card course-clinic course-needs"><p><span class="course-title">{entry.topic.html()}</span> '
        f"<code>{html.escape(entry.says, quote=False)}</code></p>{body}</div>"
    )


def provoked(name: str) -> str:
    """Provoke the entry `name` and return what was printed, with what the clinic says of it."""
    printed = provoke(name)
    if printed is None:
        return f'<div class="course-card course-needs">{_CANNOT.block()}</div>'
    text = re.sub(r"[\x00-\x08\x0b-\x1f]", "", printed)
    shown = "\n".join(text.strip().splitlines()[-_LINES:])
    return (
        f'<p>{_PRINTED.html()}</p><div class="course-card course-error"><pre class="course-console measured">'
        f"{html.escape(shown)}</pre></div>{Explanation(diagnose(text)).html()}"
    )


def browser() -> Shown:
    """Return the widget, with the card of one entry where no kernel runs."""
    import ipywidgets as widgets

    words = widgets.Text(placeholder=str(_SEARCH), continuous_update=False)
    listed = widgets.Dropdown(options=options(""), value=DEFAULT)
    buttons = by_language(
        lambda pick: widgets.Button(description=pick(_PROVOKE), layout=widgets.Layout(width="auto"))
    )
    card = widgets.HTML(view(DEFAULT))
    output = widgets.HTML("")
    for widget in (words, listed):
        widget.layout.width = "calc(100% - 8px)"
        widget.layout.max_width = "48em"

    def enable(possible: bool) -> None:
        for button in buttons:
            button.disabled = not possible

    def searched(change: dict[str, Any]) -> None:
        found = options(change["new"])
        listed.options = found
        listed.value = found[0][1] if found else None
        chosen({"new": listed.value})

    def chosen(change: dict[str, Any]) -> None:
        card.value = view(change["new"])
        output.value = ""
        enable(change["new"] is not None)

    def clicked(_: object) -> None:
        enable(False)
        output.value = f"<p>{_RUNNING.html()}</p>"
        try:
            output.value = provoked(listed.value)
        except Exception as error:  # a callback's exception would only reach a log
            output.value = f'<pre class="course-card course-fails">{html.escape(repr(error))}</pre>'
            raise
        finally:
            enable(True)

    words.observe(searched, "value")
    listed.observe(chosen, "value")
    for button in buttons:
        button.on_click(clicked)
    box = widgets.VBox([words, listed, card, *buttons, output])
    box.add_class("course-clinic-browser")
    return Shown(
        box, view(DEFAULT), f"error clinic: {len(entries())} messages · 錯誤門診：{len(entries())} 則訊息"
    )
