"""What a check reports, and the rules for text in two languages: punctuation, spacing, terms, pairs, bold."""

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markdown_it import MarkdownIt

from bilingual import toml_of
from tools.markdown_text import CJK, CODE, HAS_CHINESE, HAS_CJK, Visible, plain

GLOSSARY = Path(__file__).parents[2] / "course_utils" / "glossary.csv"
TODO = toml_of(Path(__file__).with_name("rules"))


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong: where, against which rule, what it is, and what to do."""

    place: str  # "01_cuda_check.ipynb: cell 7 (a1b2c3)" or "course_utils/claims.py: line 12"
    rule: str
    what: str
    todo: str

    def __str__(self) -> str:
        return f"{self.place} : {self.rule} : {self.what} : {self.todo}"


class Findings(list):
    """A list of findings about one place at a time; ``at`` sets the place."""

    def __init__(self) -> None:
        super().__init__()
        self.place = ""

    def at(self, place: str) -> "Findings":
        """Set the place of the findings that follow, and return the list itself."""
        self.place = place
        return self

    def add(self, rule: str, what: str, todo: str = "") -> None:
        """Add a finding at the current place; what to do stands in rules.toml, if nothing else is given."""
        self.append(Finding(self.place, rule, what, todo or TODO[rule]))


# Characters of Taiwanese texts that Big5 lacks although they are not Simplified.
BEYOND_BIG5 = set("着裏啓滙粧")

# Words whose characters all exist in Traditional Chinese, but not in this word.
_SIMPLIFIED_WORDS = re.compile(
    "[以之然最]后|后[面來]|里面|[這那哪心]里|准備|云端|几[個乎]|[什怎這那多]么|干淨|復制"
)


# --- Chinese ------------------------------------------------------------------------------------------

_LATIN = rf"[A-Za-z0-9{CODE}]"
_TIGHT = re.compile(rf"[{CJK}](?={_LATIN})|{_LATIN}(?=[{CJK}])")
_TWICE_SPACED = re.compile(rf"(?<=[{CJK}A-Za-z0-9{CODE}]) +(?=[，。；：！？、）」』])")

_PUNCTUATION = [
    (rf"[{CJK}）」] ?[,;:!?]|[,;:!?] ?(?=[{CJK}（「])", "use ，；：！？ in a Chinese sentence"),
    (rf"[{CJK}）」]\.(?!\w)|(?<![.\d])\. ?(?=[{CJK}])", "use 。 at the end of a Chinese sentence"),
    (rf"[{CJK}] ?\.\.\.?|\.\.\.? ?(?=[{CJK}])", "use …… in a Chinese sentence"),
    (rf"\([^()\n]*[{CJK}][^()\n]*\)", "use （ ） around Chinese words"),
    (rf"[{CJK}] ?\((?=[A-Za-z][A-Za-z-]+[^()\n]*\))", "use （ ） in a Chinese sentence"),
    (rf"[{CJK}]\(|\)(?=[{CJK}])", "use （ ） in a Chinese sentence"),
    (rf"[{CJK}，。：（]\"|\"(?=[{CJK}])|[“”‘’]", "use 「 」 for quotation marks"),
    ("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]", "use half-width digits and Latin letters"),
]


def check_chinese(text: str, findings: Findings, braces: bool = False) -> None:
    """Report punctuation, spacing, Simplified characters and Mainland terms in a Chinese text."""
    view = Visible.of(text, braces)
    for pattern, todo in _PUNCTUATION:
        for found in re.finditer(pattern, view.text, re.M):
            findings.add("punctuation", f"half-width or foreign mark in {view.around(found.start())!r}", todo)
    for found in _TIGHT.finditer(view.text):
        findings.add("spacing", f"no space between Chinese and Latin in {view.around(found.start())!r}")
    for found in _TWICE_SPACED.finditer(view.text):
        findings.add("spacing", f"a space before a full-width mark in {view.around(found.start())!r}")
    for char in sorted(set(HAS_CJK.findall(view.text))):
        if char not in BEYOND_BIG5 and not char.encode("big5", "ignore"):
            findings.add("simplified", f"{char} is not a Traditional character")
    for found in _SIMPLIFIED_WORDS.finditer(view.text):
        findings.add("simplified", f"{found[0]} in {view.around(found.start())!r}")
    for term in glossary():
        for pattern in term.avoid:
            for found in pattern.finditer(view.text):
                instead = f"in Taiwan: {term.chinese} ({term.english})"
                findings.add("glossary", f"{found[0]} in {view.around(found.start())!r}", instead)


def fix_chinese(text: str) -> str:
    """Return the text with one space between Chinese and Latin, and none before full-width marks."""
    view = Visible.of(text)
    edits: list[tuple[int, int, str]] = []
    for found in _TWICE_SPACED.finditer(view.text):
        low, high = view.origin[found.start()], view.origin[found.end() - 1] + 1
        if text[low:high].isspace():
            edits.append((low, high, ""))
    for found in _TIGHT.finditer(view.text):
        left, right = view.origin[found.start()], view.origin[found.start() + 1]
        between = text[left + 1 : right]
        # Marks between the two belong to the word that they close or open.
        closing = between.startswith("</") or (
            between.startswith("*") and text[: left + 1].count("**") % 2 == 1
        )
        at = right if closing else left + 1
        edits.append((at, at, " "))
    for low, high, new in sorted(edits, reverse=True):
        text = text[:low] + new + text[high:]
    return text


# --- terms --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """An entry of the glossary."""

    english: str
    chinese: str
    required: re.Pattern[str] | None  # the English word that obliges the Chinese text to hold the term
    avoid: tuple[re.Pattern[str], ...]


@lru_cache
def glossary() -> tuple[Term, ...]:
    """Return the terms of the glossary.

    Columns: ``en``, ``zh-Hant``, ``zh-Hans``, ``note``; ``required`` (``yes``: where the English text has
    the term, the Chinese text must have it too); ``avoid`` (what is not written in Taiwan, as regular
    expressions with ``|`` between them); ``gloss`` (the English, as a regular expression, that stands in
    brackets where the term comes first in a lesson; see :mod:`tools.check.terms`).
    """
    terms = []
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            word = re.sub(r" \(.*\)$", "", row["en"])
            required = None
            if row["required"] == "yes":
                required = re.compile(rf"(?<![\w-]){re.escape(word)}(?:s|es)?(?![\w-])", re.I)
            avoid = tuple(re.compile(term) for term in row["avoid"].split("|") if term)
            terms.append(Term(word, re.sub(r"（.*）$", "", row["zh-Hant"]), required, avoid))
    return tuple(terms)


# --- pairs --------------------------------------------------------------------------------------------

_WORD = re.compile(r"\b[A-Z]?[a-z]{2,}\b")  # an ordinary word, no abbreviation or name of a product
# A language may be called by its own name in an English text.
_OWN_NAMES = re.compile("中文|正體中文|繁體中文")


def check_english(text: str, findings: Findings, braces: bool = False) -> None:
    """Report Chinese characters and full-width marks in an English text."""
    found = HAS_CHINESE.search(_OWN_NAMES.sub("", plain(text, braces)))
    if found:
        findings.add("language", f"Chinese in the English text: {found[0]}")


def check_pair(english: str, chinese: str, findings: Findings, braces: bool = False) -> None:
    """Report what is wrong with an English text and its Chinese counterpart, each alone and both together."""
    for problem in _problems_of_pair(english, chinese, braces):
        findings.add(problem.rule, problem.what, problem.todo)


@lru_cache(maxsize=10_000)  # source, stored output and widget of a cell hold the same texts
def _problems_of_pair(english: str, chinese: str, braces: bool) -> Findings:
    findings = Findings()
    check_english(english, findings, braces)
    check_chinese(chinese, findings, braces)
    en, zh = plain(english, braces), plain(chinese, braces)
    for language, raw in (("English", english), ("Chinese", chinese)):
        if not Visible.of(raw, braces).text.strip():
            findings.add("translation", f"the {language} text is empty")
            return findings
    characters, letters = len(HAS_CJK.findall(zh)), len(re.findall(r"[A-Za-z]", en))
    if not characters and len(_WORD.findall(en)) >= 2:
        findings.add("translation", f"no Chinese in the Chinese text of {short(en)!r}")
    elif letters >= 80 and characters < 0.12 * letters:
        findings.add("translation", f"{characters} Chinese characters for {letters} letters: {short(en)!r}")
    elif characters >= 40 and letters < 0.8 * characters:
        findings.add("translation", f"{letters} letters for {characters} Chinese characters: {short(zh)!r}")
    if characters:
        for term in glossary():
            if term.required and term.required.search(en) and term.chinese not in zh:
                what = f"{term.english!r} in {short(en)!r}, but no {term.chinese} in the Chinese"
                findings.add("glossary", what)
    for text in (english, chinese):
        check_bold(text, findings, italics=not braces)
    return findings


def short(text: str) -> str:
    """Return `text` cut to 40 characters."""
    return text if len(text) <= 40 else text[:39] + "…"


# --- bold ---------------------------------------------------------------------------------------------

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_MATH = re.compile(r"\$\$.+?\$\$|(?<![\\$])\$(?! )[^$\n]+?(?<! )\$(?![\d$])", re.S)


def check_bold(text: str, findings: Findings, italics: bool = True) -> None:
    """Report ``**`` that CommonMark leaves visible next to Chinese marks, and ``*`` where it is shown, as on cards."""
    if "*" not in text:  # parsing costs much
        return
    for token in _MARKDOWN.parse(_MATH.sub("x", text)):
        for child in token.children or ():
            if child.type == "em_open" and child.markup == "*" and not italics:
                findings.add("italics", f"asterisks would be shown: {short(text)!r}")
            if child.type == "text" and "**" in child.content:
                findings.add("bold", f"asterisks would be shown: {short(child.content)!r}")
