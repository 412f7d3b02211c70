"""Rules for a Markdown cell (or a piece of HTML): language blocks, headings, tags, links, pictures."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from tools.markdown_text import HAS_CHINESE, HAS_CJK, TAG, Block, hide_code, language_blocks, plain

from . import text as texts
from .text import Findings

LANGUAGES = ("en", "zh-Hant")
FORBIDDEN_TAGS = ("style", "script", "svg", "ruby", "rt", "iframe")  # JupyterLab drops them or their effect

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*$", re.M)
_FOLDED = re.compile(r"<details\b[^>]*>\s*<summary\b.*?</summary>(?P<body>.*?)</details>", re.S)
_BLANK_AROUND = re.compile(r"[ \t]*\n[ \t]*\n.*\n[ \t]*\n[ \t]*$", re.S)


def check_blocks(source: str, findings: Findings, adjacent: bool = True) -> list[Block]:
    """Report blocks without counterpart, in wrong order or empty, and what their texts have wrong; return the blocks.

    Only white space may stand between the two blocks of a pair that must be `adjacent`.
    """
    blocks = language_blocks(source, findings.add)
    waiting: dict[int, Block] = {}  # parent -> English block without its Chinese yet
    for block in blocks:
        words = texts.short(plain(source[block.inner : block.end])) or "(nothing)"
        if block.language not in LANGUAGES:
            findings.add("language", f'lang="{block.language}"')
        elif block.nested:
            findings.add("language", f"a language block inside another: {words!r}")
        elif block.language == "en":
            if block.parent in waiting:
                findings.add("translation", f"English without Chinese before {words!r}")
            waiting[block.parent] = block
        elif block.parent not in waiting:
            findings.add("translation", f"Chinese without English before it: {words!r}")
        else:
            english = waiting.pop(block.parent)
            if block.tag != english.tag:
                findings.add("language", f"<{english.tag}> paired with <{block.tag}>")
            if adjacent and source[english.after : block.start].strip():
                findings.add("language", f"something between the two languages of {words!r}")
            texts.check_pair(source[english.inner : english.end], source[block.inner : block.end], findings)
    for block in waiting.values():
        words = texts.short(plain(source[block.inner : block.end]))
        findings.add("translation", f"English without Chinese: {words!r}")
    return blocks


def check_markdown(source: str, findings: Findings) -> None:
    """Report everything that is wrong with the form and the text of one Markdown cell."""
    hidden = hide_code(source)
    blocks = check_blocks(source, findings)
    _check_blank_lines(source, blocks, findings)
    for tag in TAG.finditer(hidden):
        name = tag["name"].lower()
        if name in FORBIDDEN_TAGS:
            findings.add("tag", f"<{name}> does not work in a Markdown cell")
        if re.search(r"\shidden(?![=\w-])", tag["rest"]):
            findings.add("tag", f"bare `hidden` on <{name}> is dropped")
        if name == "img":
            check_alternative_text(tag["rest"], findings)
    if re.search(r"^\s*>\s*\[!\w+\]", hidden, re.M):
        findings.add("tag", "a GitHub alert is not rendered here")
    if re.search(r"\[\^[^\]\s]+\]", hidden):
        findings.add("tag", "a footnote is not rendered here")
    for picture in re.finditer(r"!\[([^\]]*)\]\(", hidden):
        check_alternative_text(f' alt="{picture[1]}"', findings)
    _check_headings(hidden, source, blocks, findings)
    _check_outside(source, blocks, findings)
    texts.check_bold(_outside(source, blocks), findings)


def _check_blank_lines(source: str, blocks: list[Block], findings: Findings) -> None:
    for block in blocks:
        inside = source[block.inner : block.end]
        if block.tag == "div" and not _BLANK_AROUND.match(inside):
            findings.add("blank lines", f'<div lang="{block.language}"> without blank lines inside')
        if block.tag == "div" and re.match(r"[ \t]*\n?[^\s<]", source[block.after :]):
            findings.add("blank lines", "text right after </div>")
    for details in re.finditer(r"<details\b[^>]*>(.*?)</details>", hide_code(source), re.S):
        body = re.sub(r"^\s*<summary\b.*?</summary>", "", details[1], flags=re.S)
        if not _BLANK_AROUND.match(body):
            findings.add("blank lines", "<details> without blank lines around its content")
        if body == details[1]:
            findings.add("blank lines", "<details> without <summary>", "start it with a bilingual <summary>")


def _outside(source: str, blocks: list[Block]) -> str:
    """Return the text of the same length with the language blocks blanked."""
    for block in blocks:
        gap = re.sub(r"[^\n]", " ", source[block.start : block.after])
        source = source[: block.start] + gap + source[block.after :]
    return source


def _check_headings(hidden: str, source: str, blocks: list[Block], findings: Findings) -> None:
    headings = list(_HEADING.finditer(hidden))
    if len(headings) > 1:
        findings.add("heading", f"{len(headings)} headings in one cell")
    for heading in headings:
        words = source[heading.start(2) : heading.end(2)]
        if any(block.inner <= heading.start() < block.end for block in blocks):
            findings.add("heading", f"a heading inside a language block: {words!r}")
            continue
        english, dot, chinese = words.partition(" · ")
        if not dot or not re.search("[A-Za-z]", english) or not HAS_CJK.search(chinese):
            findings.add("heading", f"not bilingual: {words!r}")
        else:
            texts.check_pair(english, chinese, findings)
    if re.search(r"^[^\s|<>#-][^\n]*\n(?:=+|-{2,})[ \t]*$", hidden, re.M):
        findings.add("heading", "a heading underlined with = or -", "write it with #")


def _check_outside(source: str, blocks: list[Block], findings: Findings) -> None:
    rest = _HEADING.sub("", _outside(source, blocks))
    rest = re.sub(r"!\[[^\]]*\]", "", rest)
    words = plain(rest)
    chinese = HAS_CHINESE.search(words)
    english = re.search(r"(?:\b[A-Za-z][a-z']+\b[ ,]+){2,}\b[a-z]+\b", words)
    for found in (chinese, english):
        if found:
            excerpt = words[found.start() : found.start() + 30]
            findings.add("language", f"text outside the language blocks: {excerpt!r}")


def check_alternative_text(attributes: str, findings: Findings) -> None:
    """Report a picture whose alternative text is missing, empty or in one language only."""
    found = re.search(r"""\salt\s*=\s*(["'])(.*?)\1""", attributes, re.S)
    alt = found[2] if found else ""
    english, dot, chinese = alt.partition(" · ")
    if not alt.strip():
        findings.add("alternative text", "a picture without alternative text")
    elif not (dot and re.search("[A-Za-z]{2}", english) and HAS_CJK.search(chinese)):
        findings.add("alternative text", f"not in both languages: {texts.short(alt)!r}")
    else:
        texts.check_pair(english, chinese, findings)


# --- links --------------------------------------------------------------------------------------------


def check_links(source: str, folder: Path, root: Path, findings: Findings) -> None:
    """Report links to files of the repository that do not exist (addresses on the web are not visited)."""
    hidden = hide_code(source)
    targets = re.findall(r"\]\(\s*<?([^)\s>]+)", hidden)
    targets += re.findall(r"""<(?:a|img|source)\b[^>]*?\s(?:href|src)\s*=\s*["']([^"']*)""", hidden)
    targets += re.findall(r"^\[[^\]^]+\]:\s*(\S+)", hidden, re.M)
    for target in targets:
        if re.match(r"(?:https?|mailto|data):|#", target):
            continue
        path = unquote(re.sub(r"[?#].*$", "", target))
        if re.match(r"[\w+.-]+:|/|~|\\", path):
            findings.add("link", f"{target} does not work in another clone")
            continue
        target_path = Path(os.path.normpath(folder.absolute() / path))
        if not target_path.is_relative_to(root.absolute()) or not target_path.exists():
            findings.add("link", f"{target} does not exist")


# --- fixing -------------------------------------------------------------------------------------------


def fix_markdown(source: str) -> str:
    """Return the cell with blank lines in its blocks and correct spaces in its Chinese; code stays."""
    for block in reversed(language_blocks(source)):
        inside = source[block.inner : block.end]
        if block.language == "zh-Hant" and not block.nested:
            inside = texts.fix_chinese(inside)
        if block.tag == "div" and not block.nested:
            inside = "\n\n" + inside.strip("\n") + "\n\n" if inside.strip() else inside
        source = source[: block.inner] + inside + source[block.end :]
    for heading in reversed(list(_HEADING.finditer(hide_code(source)))):
        words = source[heading.start(2) : heading.end(2)]
        english, dot, chinese = words.partition(" · ")
        if dot:
            words = english + dot + texts.fix_chinese(chinese)
            source = source[: heading.start(2)] + words + source[heading.end(2) :]
    for details in reversed(list(_FOLDED.finditer(hide_code(source)))):
        body = source[slice(*details.span("body"))].strip("\n")
        source = f"{source[: details.start('body')]}\n\n{body}\n\n{source[details.end('body') :]}"
    return source
