"""Small tables: facts of this machine, error messages, and what a learner's own code did."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bilingual import Bilingual, Block, markup, measured, measured_spans, plain, spans


def html_table(rows: Iterable[Iterable[str]], head: Iterable[str] = ()) -> str:
    """Return a table as HTML, in a frame that scrolls if it is too wide.

    Args:
        rows: The cells of each row, as HTML.
        head: The cells of a header, as HTML; without it there is none.
    """
    titles = "".join(f"<th>{cell}</th>" for cell in head)
    lines = [titles] * bool(titles) + ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="course-scroll"><table class="course-table">{body}</table></div>'


Text = Bilingual | str
YOURS = Bilingual("yours", "你的")
RIGHT = {True: "✓", False: "✗"}


def _html(text: Text) -> str:
    return text.html() if isinstance(text, Bilingual) else markup(text)


def table(head: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Block:
    """Return a table; its texts may contain markup, and are in both languages where they are words.

    Args:
        head: The titles of the columns.
        rows: The cells of each row.
    """
    lines = [" | ".join(plain(str(cell)) for cell in row) for row in (head, *rows)]
    return Block(html_table([map(_html, row) for row in rows], map(_html, head)), "\n".join(lines))


def value(found: Any) -> str:
    """Return what a learner's function returned, briefly: a table is no place for a thousand numbers."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return f"{found:,}" if isinstance(found, int) else f"{found:.6g}"
    text = str(found)
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"


def facts(
    rows: Mapping[str | Bilingual, object] | None = None,
    *,
    fixed: Mapping[str | Bilingual, object] | None = None,
) -> Block:
    """Show expressions and what they are on this machine, as a table.

    Args:
        rows: The expression as a learner would type it, or words in both languages → its value (which may be bilingual,
            too). Values may differ between machines; expressions and words may not.
        fixed: The same for values that no machine changes; the notebook checks compare these.

    Returns:
        What a notebook shows as a table, and a terminal as lines.
    """
    lines, plain_lines = [], []
    given = [(fixed or {}, False), (rows or {}, True)]
    for label, value, varies in [(*row, varies) for part, varies in given for row in part.items()]:
        if isinstance(value, Bilingual):
            cell = measured_spans(value) if varies else value.html()
        else:
            cell = _modelled(html.escape(str(value)))
            cell = f'<span class="measured">{cell}</span>' if varies else cell
        name = label.html() if isinstance(label, Bilingual) else f"<code>{html.escape(label)}</code>"
        lines.append((name, cell))
        plain_lines.append(f"{label} = {measured(value) if varies else value}")
    return Block(html_table(lines), "\n".join(plain_lines))


def _modelled(value: str) -> str:
    """Return a value as HTML, in both languages if it holds times of a practice GPU, which say so in English."""
    chinese = re.sub(r" modelled( [^\s,]+)?", r"\1（推算值）", value).replace("）, ", "）、")
    return value if chinese == value else spans(value, chinese)


_NO_ERROR = Bilingual("No error on this machine.", "在這台機器上沒有出錯。")
_SEARCH_FOR = Bilingual("Words to search for:", "搜尋用的關鍵字：")


def message(error: BaseException | None, *words: str) -> Block:
    """Return an error that was really raised, for display: its type, its text, and the words to search for.

    The text may differ between machines and releases of PyTorch; the words may not. They are left out where the
    error contains none of them, so that the notebook checks notice another error than the lesson's.

    Args:
        error: The error, or None on a machine on which the same line raises nothing.
        words: What every release prints in this error; several where it is one or the other.
    """
    text = f"{type(error).__name__}: {error}" if error else ""
    console = f'<pre class="course-console measured">{html.escape(text)}</pre>'
    console += f'<p class="course-reason">{measured_spans(None if error else _NO_ERROR)}</p>'
    search, plain_search = "", ""
    if words and (error is None or any(part in text for part in words)):
        codes = " · ".join(f"<code>{html.escape(part)}</code>" for part in words)
        search = f'<p class="course-small">{_SEARCH_FOR.html()} {codes}</p>'
        plain_search = f"\n{_SEARCH_FOR} {' · '.join(words)}"
    return Block(
        f'<div class="course-card course-error">{console}{search}</div>',
        f"{measured(text or _NO_ERROR)}{plain_search}",
    )
