"""Plain text in both languages for a terminal, where a Chinese character takes two columns."""

from __future__ import annotations

import re
import unicodedata


def columns(text: str) -> int:
    """Return how many columns of a terminal `text` takes; a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int, indent: str = "", first: str | None = None) -> str:
    """Break `text` into lines of at most `width` columns.

    Latin words stay whole, Chinese may break after any character, but no line begins with a closing mark.
    """
    lines, line = [], indent if first is None else first
    empty = line
    for word in re.findall(
        r"[ ]+|[\u2e80-\uffef][，。、；：！？）」]*|[^ \u2e80-\uffef]+[，。、；：！？）」]*", text
    ):
        if columns(line + word.rstrip()) > width and line.strip() and line != empty:
            lines.append(line.rstrip())
            line = empty = indent
            word = word.lstrip()
        line += word
    return "\n".join([*lines, line.rstrip()])
