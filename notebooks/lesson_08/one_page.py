"""The whole course on one page: folded into the notebook, and as a page of A4 in each language, for printing."""

import html
import tomllib
from pathlib import Path
from typing import Any

from bilingual import Bilingual, Block, markup
from course_utils.tables import html_table
from lesson_08.words import WORDS

_TEXTS = WORDS["one_page"]
_STYLE = """
@page { size: A4; margin: 9mm; }
body { font: 7.6pt/1.25 "Noto Sans", "Segoe UI", "Noto Sans CJK TC", "Microsoft JhengHei", "PingFang TC", sans-serif;
  margin: 0 auto; max-width: 192mm; color: #111; }
h1 { font-size: 12.5pt; margin: 0 0 1.5mm; }
main { columns: 2; column-gap: 6mm; }
section { break-inside: avoid; margin: 0 0 2mm; }
h2 { font-size: 8.8pt; margin: 0; border-bottom: 0.3mm solid #2f6db3; }
h2 small { font-weight: normal; color: #555; float: right; }
p { margin: 0.5mm 0; }
dl { margin: 0; }
dt { color: #444; }
dd { margin: 0 0 0.4mm 2mm; }
code { font: 7pt/1.25 "DejaVu Sans Mono", Consolas, Menlo, monospace; overflow-wrap: anywhere; }
"""


def blocks() -> list[dict[str, Any]]:
    """Return the blocks of the page as they are written in ``one_page.toml``."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["block"]


def _number(block: dict[str, Any]) -> Bilingual:
    return _TEXTS["lesson"].format(number=Bilingual(block["lesson"], str(int(block["lesson"]))))


def printable(language: str) -> str:
    """Return the page as an HTML document that prints on one page of A4.

    Args:
        language: ``"en"`` or ``"zh"``.
    """

    def section(block: dict[str, Any]) -> str:
        lines = "".join(
            f"<dt>{markup(line[language])}</dt>" + f"<dd>{_code(line)}</dd>" * ("code" in line)
            for line in block["lines"]
        )
        rule, number = markup(block[f"rule_{language}"]), getattr(_number(block), language)
        title = markup(block[language])
        return f"<section><h2>{title}<small>{number}</small></h2><p>{rule}</p><dl>{lines}</dl></section>"

    title, tag = getattr(_TEXTS["title"], language), {"en": "en", "zh": "zh-Hant"}[language]
    body = f"<h1>{title}</h1><main>{''.join(map(section, blocks()))}</main>"
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html><html lang="{tag}"><head>{head}</head><body>{body}</body></html>'


def _code(line: dict[str, str]) -> str:
    return f"<code>{html.escape(line['code'])}</code>" if "code" in line else ""


def _table(block: dict[str, Any]) -> str:
    rows = [(Bilingual(line["en"], line["zh"]).html(), _code(line)) for line in block["lines"]]
    title, number = Bilingual(block["en"], block["zh"]), _number(block)
    return (
        f'<p class="course-title">{title.html()} <span class="course-small">{number.html()}</span></p>'
        f"{Bilingual(block['rule_en'], block['rule_zh']).block()}{html_table(rows)}"
    )


def course_page(folder: str = "mine") -> Block:
    """Show the course on one page, folded, and write it into `folder` for printing.

    Args:
        folder: Gets ``one_page_en.html`` and ``one_page_zh.html``.

    Returns:
        What a notebook shows.
    """
    Path(folder).mkdir(exist_ok=True)
    for language in ("en", "zh"):
        (Path(folder) / f"one_page_{language}.html").write_text(printable(language), encoding="utf-8")
    files = {language: f"{folder}/one_page_{language}.html" for language in ("en", "zh")}
    where = _TEXTS["print"].format(file=Bilingual(files["en"], files["zh"]))
    return Block(
        f'<div class="course-card"><details><summary>{_TEXTS["fold"].html()}</summary>{"".join(map(_table, blocks()))}'
        f"</details>{where.block()}</div>",
        f"{_TEXTS['fold']}: {files['en']}, {files['zh']}",
    )
