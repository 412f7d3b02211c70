"""The progress of a class as one page without other files, in both languages."""

from __future__ import annotations

import datetime
import html
from collections.abc import Mapping, Sequence

from bilingual import Bilingual

_TITLE = Bilingual("Progress of the class", "全班進度")
_HOW = Bilingual(
    "Each number counts solved exercises. Below, each lesson has a table of its own: the day on which each exercise was solved, "
    "and in the last line how many of the class have solved it. Learners can change the files that this was read from.",
    "數字是完成的練習題數。下方每一課各有一張表，列出每一題在哪一天完成，最後一列是全班有幾人完成。這些紀錄讀自學生的檔案，學生可以自行修改。",
)
_LEARNER = Bilingual("Learner", "學生")
_ALL = Bilingual("all", "合計")
_THERE_ARE = Bilingual("exercises in the lesson", "練習題數")
_CLASS = Bilingual("solved by", "完成人數")
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, "Noto Sans TC", "PingFang TC", "Microsoft JhengHei", sans-serif; margin: 2em auto; padding: 0 1em; max-width: 75em; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; } h2 { margin-top: 2em; }
th, td { padding: 0.2em 0.6em; border-bottom: 1px solid #8886; text-align: right; font-variant-numeric: tabular-nums; }
th[scope=row], thead th:first-child { text-align: left; white-space: nowrap; position: sticky; left: 0; background: Canvas; }
thead th { vertical-align: bottom; font-weight: 600; } tfoot td, tfoot th { font-weight: 600; }
td.whole { background: #2f6db333; } label { margin-right: 1em; }
body:has(#only-en:checked) :is(span, p)[lang|=zh], body:has(#only-zh:checked) :is(span, p)[lang=en] { display: none; }
span[lang=en] + span[lang|=zh] { margin-left: 0.5em; }
body:has(#only-zh:checked) span[lang|=zh] { margin-left: 0; }
@media print { .tools { display: none; } }
"""

Learners = Sequence[tuple[str, Mapping[str, Mapping[str, str]], Bilingual | None]]  # name, dates, problem
Exercises = Mapping[str, Mapping[str, Bilingual]]


def _table(head: Sequence[str], rows: Sequence[str], foot: str) -> str:
    heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody>'
        f"<tfoot>{foot}</tfoot></table></div>"
    )


def _row(name: str, cells: Sequence[str], whole: Sequence[bool] = ()) -> str:
    marks = [*whole, *[False] * (len(cells) - len(whole))]
    inside = "".join(
        f'<td class="whole">{cell}</td>' if mark else f"<td>{cell}</td>"
        for cell, mark in zip(cells, marks, strict=True)
    )
    return f'<tr><th scope="row">{name}</th>{inside}</tr>'


def _overview(learners: Learners, known: Exercises) -> str:
    """Return the table of all lessons: a line for each learner."""
    rows = []
    for name, solved, problem in learners:
        counts = [len(solved.get(number, ())) for number in known]
        whole = [count == len(titles) for count, titles in zip(counts, known.values(), strict=True)]
        note = f" <small>({problem.html()})</small>" if problem else ""
        rows.append(
            _row(html.escape(name) + note, [*(str(n or "") for n in counts), str(sum(counts))], whole)
        )
    totals = [len(titles) for titles in known.values()]
    foot = _row(_THERE_ARE.html(), [*map(str, totals), str(sum(totals))])
    return _table([_LEARNER.html(), *known, _ALL.html()], rows, foot)


def _lesson(number: str, titles: Mapping[str, Bilingual], learners: Learners) -> str:
    """Return the table of one lesson: a line for each learner, a column for each exercise."""
    rows = []
    for name, solved, _ in learners:
        dates = [solved.get(number, {}).get(exercise, "") for exercise in titles]
        rows.append(_row(html.escape(name), [date[5:] for date in dates], list(map(bool, dates))))
    counts = [sum(exercise in solved.get(number, {}) for _, solved, _ in learners) for exercise in titles]
    heading = Bilingual(f"Lesson {number}", f"第 {number} 課")
    return f"<h2>{heading.html()}</h2>\n" + _table(
        [_LEARNER.html(), *(title.html() for title in titles.values())],
        rows,
        _row(_CLASS.html(), [f"{count} / {len(learners)}" for count in counts]),
    )


def page(learners: Learners, known: Exercises) -> str:
    """Return the page.

    Args:
        learners: Name, dates by lesson and exercise, and what is wrong with the file, of each.
        known: The titles of all exercises, by lesson and name.
    """
    switch = "".join(
        f'<label><input type="radio" name="language" id="only-{key}"{" checked" if key == "both" else ""}>{text}</label>'
        for key, text in (("en", "English"), ("zh", "中文"), ("both", "English + 中文"))
    )
    today = datetime.date.today().isoformat()
    tables = "\n".join(_lesson(number, titles, learners) for number, titles in known.items())
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_TITLE}</title>\n'
        f'<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{_TITLE.html()}</h1>\n<p class="tools">{switch}</p>\n'
        f"<p>{today}</p>\n{_HOW.block()}\n{_overview(learners, known)}\n{tables}\n</body>\n</html>\n"
    )
