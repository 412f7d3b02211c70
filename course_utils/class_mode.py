"""Class mode: the look of a lesson on a projector; and what the set-up cell says in recorded mode."""

import json
from importlib import resources

from bilingual import Bilingual, texts

_TEXTS = texts(__file__)
RECORDED: Bilingual = _TEXTS["recorded"]  # what the set-up cell says where nothing is timed
# From an open question to the next question or section; no lesson has more cells between them.
FARTHEST = 32
# Asking each kind of cell only for what it may contain halves what a new output costs the browser (35 ms in lesson 06).
_OPEN = ".jp-CodeCell:has(.course-question):not(:has(.course-chosen))"
_NEXT = " + .jp-Cell:not(.jp-CodeCell:has(.course-question), .jp-MarkdownCell:has(h1, h2))"


def sheet() -> str:
    """Return the style sheet of class mode as an HTML ``<style>`` element."""
    hidden = ",\n".join(_OPEN + _NEXT * distance for distance in range(1, FARTHEST + 1))
    text = resources.files("course_utils").joinpath("present.css").read_text(encoding="utf-8")
    message = json.dumps(str(_TEXTS["answer_first"]), ensure_ascii=False)
    text = text.replace("\nHIDDEN", f"\n:is({hidden})").replace("MESSAGE", message)
    return f"<style>\n{text}</style>"
