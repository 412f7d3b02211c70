"""The words that a figure draws, and which of them are in the other language."""

import json
import os
import re
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from matplotlib.text import Text

_CHINESE = "[\u3400-\u9fff，。：；！？（）「」]"
# English beside its Chinese: "time · 時間", or one below the other.
_PAIR = re.compile(
    rf"\b[a-z]{{3,}}\b[^\n]* · [^\n]*{_CHINESE}|^(?=[^\n]*\b[a-z]{{3,}}\b)[A-Za-z][\w ,]*\n[^\n]*{_CHINESE}"
)
_SENTENCE = re.compile(r"(?:\b[a-z]{2,}\b[ ,]+){2,}\b[a-z]{2,}\b")


def noted(note: Callable[[str], object]) -> Any:
    """Return a patch of matplotlib that notes every text that is drawn; to be entered or started."""
    draw = Text.draw

    def noting(self: Text, *args: object, **more: object) -> None:
        if self.get_visible() and self.get_text().strip():
            note(self.get_text())
        draw(self, *args, **more)

    return patch.object(Text, "draw", noting)


def into_file(text: str) -> None:
    """Write a text to the file ``DRAWN_WORDS``, as JSON: for a process that a test starts."""
    with open(os.environ["DRAWN_WORDS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(text) + ",")


def other_language(words: list[str], language: str) -> list[str]:
    """Return the texts that hold words of another language than "en" or "zh"."""
    other = (
        re.compile(_CHINESE) if language == "en" else re.compile(f"{_PAIR.pattern}|{_SENTENCE.pattern}", re.M)
    )
    return sorted({text for text in words if other.search(text)})
