"""Two languages, one switch: every text is written twice and shown once.

A text carries both languages as ``<span lang>`` pairs, and one style sheet, chosen by the switch, hides the other
one. Prose, widgets, hints, claims and captions therefore change together, and nothing is run again.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from course_utils import store

CHOICES = ("en", "zh", "both")
_LABELS = ("English", "中文", "English + 中文")

_MEASURED = re.compile(r"⟨([^⟨⟩]*)⟩")
_TOKEN = re.compile(rf"{_MEASURED.pattern}|`([^`]+)`|\*\*((?:[^*`⟨]|`[^`]+`|⟨[^⟨⟩]*⟩)+)\*\*")


def measured(value: object) -> str:
    """Mark `value` as something that differs between machines or runs.

    Such marks become ``<span class="measured">`` in HTML and stay as ``⟨…⟩`` in plain text; the notebook
    checks compare everything else.
    """
    return f"⟨{re.sub('[⟨⟩]', '', str(value))}⟩"


def _mark(text: str) -> str:
    # The notebook checks know a mark by its tag alone, so no other tag may stand inside.
    return f'<span class="measured">{plain(text)}</span>'


def _tag(token: re.Match[str]) -> str:
    mark, code, strong = token.groups()
    if mark is not None:
        return _mark(mark)
    if code is not None:  # stars are code here: `f(**a)`
        return f"<code>{_MEASURED.sub(lambda inside: _mark(inside[1]), code)}</code>"
    return f"<strong>{_TOKEN.sub(_tag, strong)}</strong>"


def number(value: float) -> str:
    """Return `value` with three digits, as people write it: ``1010`` → ``1,010``, ``0.4567`` → ``0.457``."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def markup(text: str) -> str:
    """Turn the small markup of our texts (`code`, **strong**, ⟨measured⟩) into HTML; all else is escaped."""
    return _TOKEN.sub(_tag, html.escape(text, quote=False))


def _bare(token: re.Match[str]) -> str:
    mark, code, strong = token.groups()
    if mark is not None:
        return f"⟨{plain(mark)}⟩"
    return code if code is not None else plain(strong)


def plain(text: str) -> str:
    """Return `text` without the small markup (⟨measured⟩ marks stay)."""
    return _TOKEN.sub(_bare, text)


@dataclass(frozen=True)
class Bilingual:
    """One text in both languages, ready for HTML and for plain text."""

    en: str
    zh: str

    def __post_init__(self) -> None:
        for name, text in (("en", self.en), ("zh", self.zh)):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(
                    f"bi() needs a text in both languages, but {name}={text!r}. Write the missing one."
                )

    def html(self) -> str:
        """Return a pair of inline ``<span lang>`` elements, or one plain text where both are the same (a name)."""
        if self.en == self.zh:
            return markup(self.en)
        return f'<span lang="en">{markup(self.en)}</span><span lang="zh-Hant">{markup(self.zh)}</span>'

    def block(self) -> str:
        """Return a pair of paragraphs, one per language."""
        return f'<p lang="en">{markup(self.en)}</p><p lang="zh-Hant">{markup(self.zh)}</p>'

    def format(self, **values: object) -> Bilingual:
        """Fill the ``{placeholders}`` of both texts with the same `values`."""
        return Bilingual(self.en.format(**values), self.zh.format(**values))

    def __str__(self) -> str:
        return plain(self.en) if self.en == self.zh else f"{plain(self.en)} · {plain(self.zh)}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": f'<div class="course-note">{self.block()}</div>', "text/plain": str(self)}


def bi(*, en: str, zh: str) -> Bilingual:
    """Pair an English and a Chinese text so that the language switch rules it.

    Args:
        en: The English text. Small markup is understood: `code`, **strong**, ⟨measured⟩.
        zh: The same in Traditional Chinese (Taiwan).

    Returns:
        An object that a notebook shows in the chosen language, and that ``print`` shows in both.

    Raises:
        ValueError: One of the texts is missing or empty.
    """
    return Bilingual(en, zh)


def choice() -> str:
    """Return the remembered language: ``"en"``, ``"zh"`` or ``"both"`` (the default)."""
    saved = store.read("settings").get("language")
    return saved if saved in CHOICES else "both"


def remember(language: str) -> None:
    """Remember `language` for all notebooks of this user.

    Raises:
        ValueError: `language` is none of ``en``, ``zh``, ``both``.
    """
    if language not in CHOICES:
        raise ValueError(f"language {language!r} is not known; choose one of {', '.join(CHOICES)}.")
    store.update("settings", lambda saved: saved | {"language": language})


def style() -> str:
    """Return the course's style sheet as an HTML ``<style>`` element."""
    sheet = resources.files("course_utils").joinpath("style.css").read_text(encoding="utf-8")
    return f"<style>\n{sheet}</style>"


def switch() -> Any:
    """Return the language switch as a widget.

    The style sheet asks which button of the switch in *this* notebook is pressed. Switching therefore happens in the
    browser alone, also while a cell is running, and two open notebooks do not hide each other's text; the kernel
    only remembers the choice.
    """
    import ipywidgets as widgets

    buttons = widgets.ToggleButtons(
        options=list(zip(_LABELS, CHOICES, strict=True)),
        value=choice(),
        tooltips=("English", "中文", "both · 兩種都要"),
    )
    buttons.add_class("course-switch")
    buttons.observe(lambda change: remember(change["new"]), "value")
    box = widgets.HBox([buttons, widgets.HTML(style())])
    box.add_class("course-switch-row")
    return box


@dataclass(frozen=True)
class Block:
    """Ready HTML with its plain-text form."""

    html: str
    text: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


@dataclass(frozen=True)
class Shown:
    """A widget together with what to show where no kernel runs: static HTML and plain text."""

    widget: Any
    html: str
    text: str

    def _repr_mimebundle_(self, **_: object) -> Mapping[str, Any]:
        bundle = dict(self.widget._repr_mimebundle_() or {})
        return bundle | {"text/html": self.html, "text/plain": self.text}


def by_language(make: Any) -> list[Any]:
    """Build a widget once per language choice; the style sheet shows the one that fits.

    ipywidgets take plain text only for the labels of buttons and options, so a label cannot hold both languages
    and hide one. `make` gets a function that picks the right text of a :class:`Bilingual` and returns a widget.
    """
    picks = {"en": lambda text: plain(text.en), "zh": lambda text: plain(text.zh), "both": str}
    built = []
    for name in CHOICES:
        widget = make(picks[name])
        widget.add_class(f"course-only-{name}")
        built.append(widget)
    return built
