"""Wrap text for a terminal, in which a Chinese character is two columns wide."""

from __future__ import annotations

import os
import re
import sys
import unicodedata

from bilingual import CHOICES, LANGUAGE_VARIABLE, Bilingual, only_language

_CHINESE, _OPEN, _CLOSE = "\u2e80-\uffef", "（「『《", "，。、；：！？）」』》"


def language() -> str:
    """Return the language of the answers in this terminal: ``"zh"`` where its locale is Chinese, else ``"en"``.

    TORCH_DOCTOR_LANGUAGE comes before the locale.
    """
    if only := only_language():
        return only
    if os.environ.get(LANGUAGE_VARIABLE, "") in CHOICES:
        return os.environ[LANGUAGE_VARIABLE]
    named = next(filter(None, map(os.environ.get, ("LC_ALL", "LANGUAGE", "LC_MESSAGES", "LANG"))), "")
    if not named and sys.platform == "win32":
        import ctypes

        # The lower ten bits are the language without its country; 4 is Chinese.
        return "zh" if ctypes.windll.kernel32.GetUserDefaultUILanguage() & 0x3FF == 4 else "en"  # type: ignore[attr-defined]
    return "zh" if named.startswith("zh") else "en"


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
    empty, used = line, columns(line)
    for word in re.findall(rf"[ ]+|[{_OPEN}]*(?:[^{_OPEN} {_CHINESE}]+|[{_CHINESE}])[{_CLOSE}]*", text):
        if used + columns(word.rstrip()) > width and line.strip() and line != empty:
            lines.append(line.rstrip())
            line = empty = indent
            word, used = word.lstrip(), columns(line)
        line += word
        used += columns(word)
    return "\n".join([*lines, line.rstrip()])


def in_language(text: Bilingual, language: str) -> list[str]:
    """Return `text` in ``"en"``, ``"zh"`` or both languages (once, if both are the same)."""
    both = [text.en, text.zh] if text.en != text.zh else [text.en]
    return {"en": [text.en], "zh": [text.zh]}.get(language, both)


def label(text: Bilingual, language: str) -> str:
    """Return a short text in one line: ``"Evidence · 證據"``."""
    return " · ".join(in_language(text, language))
