"""Two languages, one switch: every text is written twice and shown once.

A text carries both languages as ``<span lang>`` pairs, and one style sheet, chosen by the switch, hides the other
one. Prose, widgets, hints, claims and captions therefore change together, and nothing is run again.
"""

from importlib import resources
from typing import Any

from bilingual import CHOICES, use_only
from course_utils import settings
from course_utils.simplified import simplified

EDITIONS = ("en", "zh-TW", "zh-CN")  # the languages of notebooks in one language


def choice() -> str:
    """Return the remembered language: ``"en"``, ``"zh"`` or ``"both"`` (the default)."""
    saved = settings.read("settings").get("language")
    return saved if saved in CHOICES else "both"


def remember(language: str) -> None:
    """Remember `language` for all notebooks of this user."""
    settings.write("settings", settings.read("settings") | {"language": language})


def use(language: str | None) -> None:
    """Write everything in one language from now on; None: in both, between which the switch chooses.

    Args:
        language: ``"en"``, ``"zh-TW"`` or ``"zh-CN"`` (made from the Traditional texts).

    Raises:
        ValueError: `language` is none of these.
    """
    if language not in (None, *EDITIONS):
        raise ValueError(f"language {language!r} is not known; choose one of {', '.join(EDITIONS)}.")
    use_only(language and language[:2], simplified if language == "zh-CN" else str)


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
        options=list(zip(("English", "中文", "English + 中文"), CHOICES, strict=True)),
        value=choice(),
        tooltips=("English", "中文", "both · 中英對照"),
    ).add_class("course-switch")
    buttons.observe(lambda change: remember(change["new"]), "value")
    return widgets.HBox([buttons, widgets.HTML(style())]).add_class("course-switch-row")
