"""Class mode: the look of a lesson on a projector, and what the set-up cell says about the mode."""

import json
from importlib import resources

from bilingual import texts
from course_utils import run_mode

_TEXTS = texts(__file__)
# From an open question to the next question or section; no lesson has more cells between them.
FARTHEST = 32
# Asking each kind of cell only for what it may contain halves what a new output costs the browser (35 ms in lesson 06).
_OPEN = ".jp-CodeCell:has(.course-question):not(:has(.course-chosen))"
_NEXT = " + .jp-Cell:not(.jp-CodeCell:has(.course-question), .jp-MarkdownCell:has(h1, h2))"


def sheet() -> str:
    """Return the style sheet of class mode."""
    hidden = ",\n".join(_OPEN + _NEXT * distance for distance in range(1, FARTHEST + 1))
    text = resources.files("course_utils").joinpath("present.css").read_text(encoding="utf-8")
    message = json.dumps(str(_TEXTS["answer_first"]), ensure_ascii=False)
    return text.replace("\nHIDDEN", f"\n:is({hidden})").replace("MESSAGE", message)


def extras(present: bool = False) -> str:
    """Return what the set-up cell shows below the badge: the style sheet of class mode, and whether results are recorded.

    Args:
        present: Whether the notebook asks for class mode; ``COURSE_MODE=class`` does so for all notebooks.
    """
    note = (
        f'<p class="course-card course-needs">{_TEXTS["recorded"].html()}</p>'
        if run_mode.on("recorded")
        else ""
    )
    return f"<style>\n{sheet()}</style>{note}" if present or run_mode.on("class") else note
