"""Tables of what a learner's own code did, shown below the verdict of an exercise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bilingual import Bilingual, Block, markup, plain
from course_utils.tables import html_table

Text = Bilingual | str

YOURS = Bilingual("yours", "你的")
RIGHT = {True: "✓", False: "✗"}


def _html(text: Text) -> str:
    return text.html() if isinstance(text, Bilingual) else markup(text)


def table(header: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Block:
    """Return a table; its texts may contain markup, and are in both languages where they are words."""
    lines = [" | ".join(plain(str(cell)) for cell in row) for row in (header, *rows)]
    return Block(html_table([map(_html, row) for row in rows], map(_html, header)), "\n".join(lines))


def value(found: Any) -> str:
    """Return what a learner's function returned, briefly: a table is no place for a thousand numbers."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return f"{found:,}" if isinstance(found, int) else f"{found:.6g}"
    text = str(found)
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"
