"""What an edition may not have: words of another language, wrong terms, dead links, code that does not compile."""

import ast
import html
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from course_utils.simplified import terms
from tools.markdown_text import HAS_CHINESE, HAS_CJK, hide_code
from tools.written import script_in

from .code import missing

_PICTURE = re.compile(r'src="data:[^"]*"')
# Code, addresses and what is quoted from a program stand in both languages.
_CODE = re.compile(
    r"```.*?```|`[^`]*`|<(code|pre|kbd)\b.*?</\1>|\]\([^)]*\)|https?://\S+|“[^”]*”|「[^」]*」|\[[^\]]*\]|⟨[^⟩]*⟩",
    re.S,
)
_LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)|href=\"([^\"#]+)")
_ENGLISH = re.compile(r"\b[a-z]{2,}(?:[ ,]+[a-z']{2,}){3,}\b")


def problems(made: NotebookNode, folder: Path) -> list[str]:
    """Return what is wrong with an edition, one line each; its links are looked for in `folder`."""
    language = made.metadata.course.edition.language
    found = []
    for cell in made.cells:
        found += [f"{cell.id}: {problem}" for text in _texts(cell) for problem in _of_text(text, language)]
        if cell.cell_type == "code":
            found += [f"{cell.id}: {problem}" for problem in _of_code(cell.source)]
        elif cell.cell_type == "markdown":
            for link in (file or address for file, address in _LINK.findall(hide_code(cell.source))):
                if "://" not in link and not (folder / link).exists():
                    found.append(f"{cell.id}: the link {link} leads nowhere")
    if sum(f'language="{language}"' in cell.source for cell in made.cells) != 1:
        found.append("not one cell that sets the language")
    if language != "en":
        found += [f"{cell.id}: {problem}" for cell in made.cells for problem in _english(cell)]
        found += [f"comment in English: {text!r}" for text in missing(made)]
    return found


def _texts(cell: NotebookNode) -> Iterator[str]:
    """Yield the texts of a cell and of its outputs, without pictures."""
    yield cell.source
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        yield output.get("text", "")
        if "text/markdown" not in data:  # shows a file of the course, as it is
            yield _PICTURE.sub("", data.get("text/html", ""))
            yield data.get("text/plain", "")


def _english(cell: NotebookNode) -> Iterator[str]:
    """Yield English sentences in what a Chinese cell shows as prose."""
    shown = [cell.source] if cell.cell_type == "markdown" else []
    shown += [output.get("data", {}).get("text/html", "") for output in cell.get("outputs", [])]
    for text in shown:
        words = html.unescape(re.sub(r"<[^<>]*>", "\n", _CODE.sub("x", _PICTURE.sub("", text))))
        for line in words.splitlines():
            if (found := _ENGLISH.search(line)) and not HAS_CJK.search(line):
                yield f"English: {found[0]}"


def _of_text(text: str, language: str) -> Iterator[str]:
    if " lang=" in _CODE.sub("", text):
        yield f"an element with a language: {_around(text, text.index(' lang='))}"
    if language == "en" and (found := HAS_CHINESE.search(text)):
        yield f"Chinese: {_around(text, found.start())}"
    if language == "zh-CN":
        yield from _not_simplified(text)


@cache
def _traditional() -> tuple[Callable[[str], str], re.Pattern[str], re.Pattern[str]]:
    """Return what simplifies characters, and finds the glossary's Simplified terms and its Taiwanese ones so written."""
    from opencc import OpenCC

    convert = OpenCC("t2s").convert
    right = sorted({one for one in terms().values() if HAS_CJK.search(one)}, key=len, reverse=True)
    wrong = {convert(term) for term, one in terms().items() if len(term) > 1 and convert(term) not in one}
    words = (right, sorted(wrong - set(right)))
    return convert, *(re.compile("|".join(map(re.escape, one))) for one in words)


def _not_simplified(text: str) -> Iterator[str]:
    convert, right, wrong = _traditional()
    plain = convert(text)
    if plain != text:
        at = next(at for at, (one, other) in enumerate(zip(text, plain, strict=False)) if one != other)
        yield f"a Traditional character: {_around(text, at)}"
    if found := wrong.search(right.sub("·", text)):
        yield f"a Taiwanese term: {found[0]} in {_around(text, max(0, text.find(found[0])))}"


def _of_code(source: str) -> Iterator[str]:
    script = script_in(source)
    try:
        code = script.text if script else TransformerManager().transform_cell(source)
        compile(code, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        yield f"does not compile: {error}"


def _around(text: str, at: int) -> str:
    return repr(text[max(0, at - 12) : at + 24])
