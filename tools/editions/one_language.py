"""Markdown and HTML that hold both languages, in one of them: ``<span lang>`` pairs, headings, text alternatives."""

import re
from pathlib import Path

from bilingual import Bilingual, texts
from course_utils.simplified import simplified
from tools.markdown_text import VOID_TAGS, hide_code

TEXTS: dict[str, dict[str, Bilingual]] = texts(Path(__file__).with_name("texts"))  # what is said besides

_TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w-]*)(?P<rest>(?:\s[^<>]*)?)>")
_LANG = re.compile(r"""\slang\s*=\s*["']?([\w-]*)["']?""")
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
    return written(_pick(picked, picked, language), language)


def markdown_in(source: str, language: str) -> str:
    """Return the source of a Markdown cell in one language; its code stays as it is."""
    for found in reversed(list(_HEADING.finditer(hide_code(source)))):
        one = "".join(source[slice(*found.span(part))] for part in ("marks", _side(language)))
        source = source[: found.start()] + one + source[found.end() :]
    picked = _pick(source, hide_code(source), language)
    return written(re.sub(r"\n{3,}", "\n\n", picked).strip("\n"), language)


def _side(language: str) -> str:
    return "en" if language == "en" else "zh"


def _pick(source: str, seen: str, language: str) -> str:
    """Return `source` without the other language's elements; tags are looked for in `seen`, which is as long."""
    kept: list[str] = []
    at, depth, skipping = 0, 0, -1  # skipping: the depth of the element that is left out, or -1
    unwrapped: dict[int, bool] = {}  # depths of elements whose tags are left out: whether it is a block
    for tag in _TAG.finditer(seen):
        if tag["name"].lower() in VOID_TAGS or tag[0].endswith("/>"):
            continue
        if tag["close"]:
            depth -= 1
            if skipping == depth:
                skipping, at = -1, tag.end()
            elif skipping < 0 and depth in unwrapped:
                kept.append(source[at : tag.start()])
                unwrapped.pop(depth)
                at = tag.end()
            continue
        spoken = _LANG.search(tag["rest"])
        if spoken and skipping < 0:
            kept.append(source[at : tag.start()])
            at = tag.end()
            rest = tag["rest"].replace(spoken[0], "", 1)
            if (spoken[1] == "en") != (language == "en"):
                skipping = depth
            elif tag["name"] == "p" or rest:
                kept.append(f"<{tag['name']}{rest}>")
            else:
                unwrapped[depth] = True
        depth += 1
    return "".join(kept) + source[at:]
