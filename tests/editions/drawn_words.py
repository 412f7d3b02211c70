"""The words that a figure draws, and which of them are in the other language."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from matplotlib.text import Text

_CHINESE = "[\u3400-\u9fff，。：；！？（）「」]"
# English beside its Chinese: "time · 時間", or one below the other.
_PAIR = re.compile(
    rf"\b[a-z]{{3,}}\b[^\n]* · [^\n]*{_CHINESE}|^(?=[^\n]*\b[a-z]{{3,}}\b)[A-Za-z][\w ,]*\n[^\n]*{_CHINESE}"
)
_SENTENCE = re.compile(r"(?:\b[a-z]{2,}\b[ ,]+){2,}\b[a-z]{2,}\b")


@contextmanager
def drawn() -> Iterator[list[str]]:
    """Note every text that matplotlib draws meanwhile."""
    words: list[str] = []
    draw = Text.draw

    def noted(self: Text, *args: object, **more: object) -> None:
        if self.get_visible() and self.get_text().strip():
            words.append(self.get_text())
        draw(self, *args, **more)

    with patch.object(Text, "draw", noted):
        yield words


def note_for_ever() -> None:
    """In a process that a test starts: write every text that is drawn to the file ``DRAWN_WORDS``, as JSON."""
    draw = Text.draw

    def noted(self: Text, *args: object, **more: object) -> None:
        if self.get_visible() and self.get_text().strip():
            with open(os.environ["DRAWN_WORDS"], "a", encoding="utf-8") as file:
                file.write(json.dumps(self.get_text()) + ",")
        draw(self, *args, **more)

    Text.draw = noted


def other_language(words: list[str], language: str) -> list[str]:
    """Return the texts that hold words of another language than "en" or "zh"."""
    other = (
        re.compile(_CHINESE) if language == "en" else re.compile(f"{_PAIR.pattern}|{_SENTENCE.pattern}", re.M)
    )
    return sorted({text for text in words if other.search(text)})
