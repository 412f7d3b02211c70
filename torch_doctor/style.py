"""A small style sheet for the cards, for notebooks that have none of their own."""

from __future__ import annotations

from bilingual import chosen_language

_SHEET = """
.course-card { border: 1px solid var(--jp-border-color2, #ccc); border-left: 4px solid #2f6db3; border-radius: 4px;
  padding: 0.5em 0.9em; margin: 0.4em 0; max-width: 58em; line-height: 1.55; }
.course-card p { margin: 0.25em 0; }
.course-card.course-card pre { white-space: pre-wrap; overflow-wrap: break-word; font-size: 0.92em;
  padding: 0.3em 0.6em; background: var(--jp-layout-color2, #f3f3f3); }
.course-card.course-card td { text-align: left; vertical-align: top; padding: 0.25em 0.8em; }
.course-title { font-weight: 600; }
.course-small { opacity: 0.8; font-size: 0.92em; }
.torch-doctor-browser :is(.course-only-en, .course-only-zh) { display: none; }
"""
_BOTH = 'span[lang="en"] + span[lang|="zh"] { margin-left: 0.5em; }\n'
_HIDE = ".course-card [lang|={other}] {{ display: none; }}\n"

_page_has_styles = False


def use_page_styles() -> None:
    """Leave the style sheet out from now on, because the notebook has its own styles for the cards."""
    global _page_has_styles
    _page_has_styles = True


def style() -> str:
    """Return the ``<style>`` element that a card needs here; ``""`` after :func:`use_page_styles`."""
    if _page_has_styles:
        return ""
    hidden = {"en": "zh", "zh": "en"}.get(chosen_language())
    return f"<style>{_SHEET}{_HIDE.format(other=hidden) if hidden else _BOTH}</style>"
