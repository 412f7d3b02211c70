"""Markdown and HTML that hold both languages, in one of them: ``<span lang>`` pairs, headings, text alternatives."""

import re
from pathlib import Path

from bilingual import Bilingual, texts
from course_utils.simplified import simplified
from tools.markdown_text import hide_code, language_blocks

TEXTS: dict[str, dict[str, Bilingual]] = texts(Path(__file__).with_name("texts"))  # what is said besides

_LANG = re.compile(r"""\slang\s*=\s*["']?[\w-]*["']?""")
_HEADING = re.compile(
    r"^(?P<marks> {0,3}#{1,6}[ \t]+(?:\d+(?:\.\d+)*[ \t]+)?)(?P<en>.+?) · (?P<zh>.+)$", re.M
)
_TEXT_ALTERNATIVE = re.compile(r'(?<=\s)(alt|aria-label|title)="(?P<en>[^"]*?) · (?P<zh>[^"]*)"')


def written(text: str, language: str) -> str:
    """Return a text of the language, or its Traditional original, as the edition `language` writes it."""
    return simplified(text) if language == "zh-CN" else text


def words(en: str, zh: str, language: str) -> str:
    """Return the one of two texts that the edition `language` (``"en"``, ``"zh-TW"`` or ``"zh-CN"``) needs."""
    return en if language == "en" else written(zh, language)


def html_in(markup: str, language: str) -> str:
    """Return HTML in one language; it has pairs of elements with ``lang``, and text alternatives ``English · 中文``."""
    picked = _TEXT_ALTERNATIVE.sub(lambda found: f'{found[1]}="{found[_side(language)]}"', markup)
    return written(_pick(picked, language), language)


def markdown_in(source: str, language: str) -> str:
    """Return the source of a Markdown cell in one language; its code stays as it is."""
    for found in reversed(list(_HEADING.finditer(hide_code(source)))):
        one = "".join(source[slice(*found.span(part))] for part in ("marks", _side(language)))
        source = source[: found.start()] + one + source[found.end() :]
    picked = _pick(source, language)
    return written(re.sub(r"\n{3,}", "\n\n", picked).strip("\n"), language)


def _side(language: str) -> str:
    return "en" if language == "en" else "zh"


def _pick(source: str, language: str) -> str:
    """Return `source` without the other language's elements, and without tags that only name the language."""
    edits, left_out = [], 0  # left_out: the end of the last element that is left out
    for block in language_blocks(source):
        if block.start < left_out:
            continue
        if (block.language == "en") != (language == "en"):
            left_out = block.after
            edits.append((block.start, left_out, ""))
            continue
        tag = _LANG.sub("", source[block.start : block.inner], count=1)
        bare = tag == f"<{block.tag}>" != "<p>"
        edits.append((block.start, block.inner, "" if bare else tag))
        edits += [(block.end, block.after, "")] * bare
    for start, end, new in sorted(edits, reverse=True):
        source = source[:start] + new + source[end:]
    return source
