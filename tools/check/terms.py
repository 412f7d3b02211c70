"""Terms of the lessons: English in brackets at first use, and words that were decided against."""

import csv
import re
from functools import lru_cache
from pathlib import Path

from bilingual import toml_of
from tools.markdown_text import CJK, HAS_CJK
from tools.notebook_file import passages

from . import text as texts
from .text import Findings

LOOKED_UP = "09"  # the clinic of errors is looked things up in, not read from its beginning

_NOT_USED = toml_of(Path(__file__).with_name("words"))


def check_words(source: str, place: str, findings: Findings) -> None:
    """Report words that were decided against, in a file (also in code: labels, comments)."""
    for pattern, instead in _NOT_USED.items():
        for found in re.finditer(pattern, source, re.M):
            around = " ".join(source[max(0, found.start() - 8) : found.end() + 8].split())
            findings.at(f"{place}: line {source.count(chr(10), 0, found.start()) + 1}")
            findings.add("term", f"{found[0]} in {around!r}", f"write {instead}")


# How a term is told from others that hold it: 一行程式 is a line of code, and 監看執行緒 has an English of its own.
_USED = {"行程": "行程(?![式度])", "執行緒": "(?<!監看)執行緒"}


@lru_cache
def glossed() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    """Return the terms that need their other language at first use: that, how it is used, how it is glossed."""
    found = []
    with texts.GLOSSARY.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["gloss"]:
                # Without what was added for the reader of the glossary: 核心函式（kernel）, CUDA 串流.
                term = re.sub(r"（.*）$|^CUDA ", "", row["zh-Hant"])
                used, asked = _USED.get(term, term), row["en"]
                if not HAS_CJK.search(term):  # it stays English, and its Chinese stands in brackets
                    used, asked = rf"(?<![\w.-]){term}(?![\w(-])", row["zh-Hant"].partition("（")[2][:-1]
                english = rf"[^）]*(?:{row['gloss']})"
                # The term may begin a longer one that has the bracket: 梯度累積（gradient accumulation）.
                gloss = re.compile(rf"{term}[{CJK} ]{{0,6}}（{english}|{row['gloss']}\w*（{term}", re.I)
                found.append((asked, re.compile(used), gloss))
    return tuple(found)


def check_glosses(path: Path, findings: Findings) -> None:
    """Report each term of the glossary that must have its English in brackets at first use, and has not.

    Headings are always in both languages, and what is collapsed may never be opened: neither counts.
    """
    if path.name.startswith(LOOKED_UP):
        return
    kept = (p for p in passages(path) if p.kind not in ("heading", "details"))
    read = [(p.cell, re.sub(r"<[^<>]*>|\*\*|`", "", p.zh)) for p in kept]  # code stays: a gloss may be code
    for english, used, gloss in glossed():
        uses = ((cell, zh, found) for cell, zh in read if (found := used.search(zh)))
        cell, zh, first = next(uses, (None, "", None))
        if first is None:
            continue
        at = gloss.search(zh, max(0, first.start() - 40))
        if at is None or at.start() > first.end():
            around = zh[max(0, first.start() - 8) : first.end() + 12].strip()
            findings.at(f"{path.name}: {cell.section or 'beginning'} ({cell.id})")
            write = f"write {first[0]}（{english.partition(' (')[0]}） where it comes first"
            findings.add("first use", f"{first[0]} without its English in {around!r}", write)
