"""Small tables and console texts: facts of this machine, error messages, recorded terminal output."""

from __future__ import annotations

import html

from torch_doctor.bilingual import Bilingual, Block, measured


def facts(rows: dict[str, object]) -> Block:
    """Show expressions and what they are on this machine, as a table.

    Args:
        rows: The expression as a learner would type it → its value. Values may differ between machines; the
            expressions may not.

    Returns:
        What a notebook shows as a table, and a terminal as lines.
    """
    lines = "".join(
        f'<tr><td><code>{html.escape(code)}</code></td><td><span class="measured">{html.escape(str(value))}</span></td></tr>'
        for code, value in rows.items()
    )
    return Block(
        f'<div class="course-scroll"><table class="course-table">{lines}</table></div>',
        "\n".join(f"{code} = {measured(value)}" for code, value in rows.items()),
    )


def console(text: str, caption: Bilingual, *, varies: bool = True) -> Block:
    """Return terminal output as it is, with a line that says where it comes from.

    Args:
        text: The output.
        caption: Whose output it is.
        varies: Whether it may differ between machines or runs.
    """
    kind = ' class="course-console measured"' if varies else ' class="course-console"'
    source = Bilingual(measured(caption.en), measured(caption.zh)) if varies else caption
    return Block(
        f"<pre{kind}>{html.escape(text)}</pre><p>{source.html()}</p>",
        measured(text) if varies else text,
    )


_NO_ERROR = Bilingual("no error on this machine", "這台機器沒有出錯")


def message(error: BaseException | None) -> Block:
    """Return an error that was really raised, for display: its type and its text, without the traceback.

    The text may differ between machines and releases of PyTorch. None means a machine on which the same line
    raises nothing.
    """
    text = f"{type(error).__name__}: {error}" if error else str(_NO_ERROR)
    return Block(
        f'<div class="course-card course-error"><pre class="course-console measured">{html.escape(text)}</pre></div>',
        measured(text),
    )
