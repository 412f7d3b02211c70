"""Code cells in one language: what `setup` is told, and comments and docstrings."""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

from nbformat import NotebookNode

from bilingual import toml_of
from tools.markdown_text import HAS_CJK
from tools.notebook_file import NOTEBOOKS

from .one_language import written

_SETUP = re.compile(r'^setup\((?P<given>"\d\d"|None)?(?P<more>[^)\n]*)\)', re.M)
_PAIR = re.compile(r'\bBilingual\((en="[^"\n]*"),\s*zh="[^"\n]*"\)')  # the words of a label
_NO_WORDS = re.compile(
    r"`[^`]*`|\S*[\d_()=/]\S*|[A-Z]{2,}s?|\b(?:[kMG]i?B( of)?|del|True|False)\b"
)  # code, numbers
_WORDS = re.compile(r"[A-Za-z]{2,}")
_MAGIC = re.compile(r"^[%!].*$", re.M)
_FENCE = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.M | re.S)
_BEFORE_DOCSTRING = (tokenize.INDENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENCODING)


@cache
def translations(number: str) -> dict[str, str]:
    """Return the Chinese of the comments and docstrings in the code of lesson `number` by their English."""
    file = NOTEBOOKS / f"lesson_{number}" / "comments.toml"
    entries = toml_of(file)["comment"] if file.exists() else []
    return {entry["en"]: entry["zh"] for entry in entries}


def remarks(source: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each comment (after ``# ``) and docstring (inside the quotation marks) of a cell."""
    # A magic is no Python; as a comment without words it keeps every position where it is.
    python = _MAGIC.sub(lambda found: "#" * len(found[0]), source)
    starts = [0]
    for line in python.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    before = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(python).readline):
        at = starts[token.start[0] - 1] + token.start[1]
        end = at + len(token.string)
        if token.type == tokenize.COMMENT:
            if text := token.string.lstrip("# "):
                yield end - len(text), end, text
            continue
        if token.type == tokenize.STRING and before in _BEFORE_DOCSTRING and token.string.startswith('"""'):
            yield at + 3, end - 3, token.string[3:-3]
        before = token.type


def code_in(source: str, number: str, language: str) -> str:
    """Return the source of a code cell in one language; `comments.toml` of lesson `number` translates its comments."""
    source = _SETUP.sub(lambda found: _told(found, language), source)
    if language == "en":
        return _PAIR.sub(r"Bilingual(\1)", source)
    return written(_translated(source, number), language)


def fences_in(source: str, number: str, language: str) -> str:
    """Return the source of a Markdown cell with Chinese comments in its Python code, unless it is to be English."""
    if language == "en":
        return source
    return _FENCE.sub(lambda found: _translated(found[0], number), source)


def _translated(source: str, number: str) -> str:
    for start, end, text in reversed(list(remarks(source))):
        source = source[:start] + translations(number).get(text, text) + source[end:]
    return source


def _told(found: re.Match[str], language: str) -> str:
    given = f"{found['given']}, " if found["given"] else ""
    return f'setup({given}language="{language}"{found["more"]})'


def missing(notebook: NotebookNode) -> list[str]:
    """Return the comments and docstrings in a lesson's code that have words, but no Chinese."""
    number = notebook.metadata.course.lesson
    found: dict[str, None] = {}
    for cell in notebook.cells:
        pieces = [cell.source] if cell.cell_type == "code" else _FENCE.findall(cell.source)
        for _, _, text in (remark for piece in pieces for remark in remarks(piece)):
            has_words = _WORDS.search(_NO_WORDS.sub("", text)) and not HAS_CJK.search(text)
            if has_words and text not in translations(number):
                found[text] = None
    return list(found)
