"""Wrap text for a terminal, in which a Chinese character is two columns wide."""

from __future__ import annotations

import re
import unicodedata

_CHINESE, _OPEN, _CLOSE = "\u2e80-\uffef", "（「『《", "，。、；：！？）」』》"


def columns(text: str) -> int:
    """Return the width of `text` in columns of a terminal: ``columns("GPU 記憶體")`` is 10."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int, indent: str = "", first: str | None = None) -> str:
    """Break `text` into lines of at most `width` columns.

    Latin words are not broken; Chinese text may break after any character, but no line begins with a closing mark
    or ends with an opening one.

    Args:
        text: One paragraph.
        width: Columns.
        indent: The beginning of each line.
        first: The beginning of the first line, if it differs from `indent`.
    """
    lines, line = [], indent if first is None else first
    empty = line
    for word in re.findall(rf"[ ]+|[{_OPEN}]*(?:[^{_OPEN} {_CHINESE}]+|[{_CHINESE}])[{_CLOSE}]*", text):
        if columns(line + word.rstrip()) > width and line.strip() and line != empty:
            lines.append(line.rstrip())
            line = empty = indent
            word = word.lstrip()
        line += word
    return "\n".join([*lines, line.rstrip()])
