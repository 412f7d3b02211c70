"""Markdown and HTML as prose: what is code, a formula or a tag in it, what is Chinese, and its blocks in one language.

Positions matter, because what reads a text also rewrites it. Therefore everything that is not prose is masked by as many
characters as it had, and what is visible of a text keeps the way back.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
FULL_WIDTH = "，。；：！？、（）「」『』《》〈〉【】"
CODE = "\ue000"  # stands for code, a formula or an address: behaves like a Latin word
NOTHING = "\ue001"  # stands for a tag or an emphasis mark: takes no place on the page
UNKNOWN = "\ue002"  # stands for a value that is only known when the program runs

HAS_CJK = re.compile(f"[{CJK}]")
HAS_CHINESE = re.compile(f"[{CJK}{FULL_WIDTH}]")

# --- masking ------------------------------------------------------------------------------------------

# The order is the order of precedence: what stands earlier hides what stands later.
MASKS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??(?P=fence)`*[ \t]*$", re.M | re.S), CODE),
    (
        re.compile(r'<(?P<element>span|pre) class="(?:[\w-]+ )*measured">[^<]*</(?P=element)>|⟨[^⟩]*⟩'),
        UNKNOWN,
    ),
    (re.compile(r"<!--.*?-->", re.S), NOTHING),
    (re.compile(r"<(?P<tag>pre|code|kbd|samp|style|script)\b[^>]*>.*?</(?P=tag)>", re.S | re.I), CODE),
    (re.compile(r"(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.S), CODE),
    (re.compile(r"\$\$.+?\$\$", re.S), CODE),
    (re.compile(r"(?<![\\$])\$(?! )[^$\n]+?(?<! )\$(?![\d$])"), CODE),
    (re.compile(r"<https?://[^>\s]+>"), CODE),
    # What stands in different paragraphs, rows or cells does not stand side by side.
    (re.compile(r"</?(?:p|div|table|tbody|tr|td|th|ul|ol|li|details|summary)(?:\s[^<>]*)?>"), "\n"),
    (re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"), NOTHING),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), NOTHING),
    (re.compile(r"\]\([^)\s]*(?: \"[^\"]*\")?\)"), NOTHING),
    (re.compile(r"https?://[^\s)）」，。]+"), CODE),
    (re.compile(r"\*\*|(?<!\\)\*(?=\S)|(?<=\S)\*"), NOTHING),
    (re.compile(r"&nbsp;"), " "),
    (re.compile(r"&#?\w+;"), CODE),
]


def mask(text: str, braces: bool = False) -> str:
    """Return text of the same length in which all that is not prose is masked; with `braces`, ``{…}`` as well."""
    for pattern, filler in MASKS:
        text = pattern.sub(lambda found, f=filler: re.sub(r"[^\n]", f, found[0]), text)
    if braces:
        text = re.sub(r"\{[^{}\n]*\}", lambda found: UNKNOWN * len(found[0]), text)
    # The opening bracket of a link, whose end is gone by now.
    return re.sub(rf"\[(?=[^\[\]]*{NOTHING})", NOTHING, text)


@dataclass(frozen=True)
class Visible:
    """The masked text without what takes no place, and where each character came from."""

    text: str
    origin: list[int]
    source: str

    @classmethod
    @lru_cache(maxsize=100)  # one rule after the other reads the same text
    def of(cls, source: str, braces: bool = False) -> "Visible":
        """Return what is visible of `source`; with `braces`, placeholders in braces are hidden as well."""
        kept = [(char, at) for at, char in enumerate(mask(source, braces)) if char != NOTHING]
        return cls("".join(char for char, _ in kept), [at for _, at in kept], source)

    def around(self, at: int) -> str:
        """Return the original words around a position, for a report."""
        low = self.origin[max(0, at - 10)]
        high = self.origin[min(len(self.origin) - 1, at + 10)] + 1
        words = self.source[low:high].replace(UNKNOWN, "{}")
        return "…" + re.sub(r"\s+", " ", words).strip() + "…"


def plain(text: str, braces: bool = False) -> str:
    """Return the prose of a text: no code, no tags, entities resolved, one space for each gap."""
    words = re.sub(f"[{CODE}{UNKNOWN}]+", " ", Visible.of(text, braces).text)
    return re.sub(r"\s+", " ", unescape(words)).strip()


# --- code and language blocks -------------------------------------------------------------------------

VOID_TAGS = ("br", "hr", "img", "input", "wbr", "col", "source")
TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w-]*)(?P<rest>(?:\s[^<>]*)?)/?>")
_LANG = re.compile(r"""\slang\s*=\s*["']?([\w-]*)""")
_CODE_ONLY = [pattern for pattern, filler in MASKS if filler == CODE][:4]


@dataclass
class Block:
    """An element with a ``lang`` attribute."""

    language: str
    tag: str
    start: int  # of the opening tag
    inner: int  # first position after the opening tag
    end: int = -1  # of the closing tag
    after: int = -1  # first position after the closing tag
    parent: int = 0  # start of the element around it, 0 at the top
    nested: bool = False


def hide_code(source: str) -> str:
    """Return text of the same length without code, so that tags in code are not taken for tags."""
    for pattern in _CODE_ONLY:
        source = pattern.sub(lambda found: re.sub(r"[^\n]", CODE, found[0]), source)
    return source


def language_blocks(source: str, report: Callable[[str, str], None] | None = None) -> list[Block]:
    """Return the elements that carry a language, in order; `report` gets rule and fault of the first unbalanced tag."""
    blocks: list[Block] = []
    stack: list[tuple[str, int, Block | None]] = []
    for tag in TAG.finditer(hide_code(source)):
        name = tag["name"].lower()
        if name in VOID_TAGS or tag[0].endswith("/>"):
            continue
        if not tag["close"]:
            language = _LANG.search(tag["rest"])
            block = None
            if language:
                block = Block(language[1], name, tag.start(), tag.end())
                block.parent = stack[-1][1] if stack else 0
                block.nested = any(around is not None for _, _, around in stack)
                blocks.append(block)
            stack.append((name, tag.start() + 1, block))
        elif stack and stack[-1][0] == name:
            block = stack.pop()[2]
            if block:
                block.end, block.after = tag.start(), tag.end()
        elif report:
            report("html", f"</{name}> closes nothing")
            return [block for block in blocks if block.end >= 0]
    if stack and report:
        report("html", f"<{stack[-1][0]}> is never closed")
    return [block for block in blocks if block.end >= 0]


def between(text: str, name: str, new: str) -> str:
    """Return a page with the lines between `<!-- name:start -->` and `<!-- name:end -->` replaced.

    Raises:
        ValueError: The page does not hold each of the two marks once.
    """
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    if (text.count(start), text.count(end)) != (1, 1):
        raise ValueError(f"The page must hold {start} and {end} once each; the table goes between them.")
    before, rest = text.split(start)
    return f"{before}{start}\n{new}\n{end}{rest.split(end)[1]}"
