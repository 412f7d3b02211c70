"""The progress of a class as one page without other files, in both languages."""

import datetime
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from bilingual import Bilingual, texts

SAY: dict[str, dict[str, Bilingual]] = texts(str(Path(__file__).with_name("progress.py")))
_TEXT, _STYLE = SAY["page"], Path(__file__).with_suffix(".css")
_WHOLE = ' class="whole"'  # all exercises of a lesson are solved

Exercises = Mapping[str, Mapping[str, Bilingual]]  # titles, by lesson and name


@dataclass(frozen=True)
class Learner:
    """What one learner has solved."""

    name: str  # of the user, the file or the folder
    solved: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # dates, by lesson and name
    problem: Bilingual | None = None  # why nothing could be read, if so


def _table(head: Sequence[str], rows: Sequence[str], foot: str) -> str:
    heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody>'
        f"<tfoot>{foot}</tfoot></table></div>"
    )


def _row(name: str, cells: Sequence[str], whole: Sequence[bool] = ()) -> str:
    marks = zip_longest(cells, whole, fillvalue=False)
    inside = "".join(f"<td{_WHOLE if mark else ''}>{cell}</td>" for cell, mark in marks)
    return f'<tr><th scope="row">{name}</th>{inside}</tr>'


def _overview(learners: Sequence[Learner], known: Exercises) -> str:
    """Return the table of all lessons: a line for each learner."""
    rows = []
    for learner in learners:
        counts = [len(learner.solved.get(number, ())) for number in known]
        whole = [count == len(titles) for count, titles in zip(counts, known.values(), strict=True)]
        note = f" <small>({learner.problem.html()})</small>" if learner.problem else ""
        cells = [*(str(n or "") for n in counts), str(sum(counts))]
        rows.append(_row(html.escape(learner.name) + note, cells, whole))
    totals = [len(titles) for titles in known.values()]
    foot = _row(_TEXT["there_are"].html(), [*map(str, totals), str(sum(totals))])
    return _table([_TEXT["learner"].html(), *known, _TEXT["all"].html()], rows, foot)


def _lesson(number: str, titles: Mapping[str, Bilingual], learners: Sequence[Learner]) -> str:
    """Return the table of one lesson: a line for each learner, a column for each exercise."""
    rows = []
    for learner in learners:
        dates = [learner.solved.get(number, {}).get(exercise, "") for exercise in titles]
        rows.append(_row(html.escape(learner.name), [date[5:] for date in dates], list(map(bool, dates))))
    counts = [sum(exercise in one.solved.get(number, {}) for one in learners) for exercise in titles]
    heading = _TEXT["lesson"].format(number=number)
    return f"<h2>{heading.html()}</h2>\n" + _table(
        [_TEXT["learner"].html(), *(title.html() for title in titles.values())],
        rows,
        _row(_TEXT["class"].html(), [f"{count} / {len(learners)}" for count in counts]),
    )


def page(learners: Sequence[Learner], known: Exercises) -> str:
    """Return the page for some learners and all exercises of the course."""
    switch = "".join(
        f'<label><input type="radio" name="language" id="only-{key}"{" checked" if key == "both" else ""}>{text}</label>'
        for key, text in (("en", "English"), ("zh", "中文"), ("both", "English + 中文"))
    )
    today = datetime.date.today().isoformat()
    tables = "\n".join(_lesson(number, titles, learners) for number, titles in known.items())
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_TEXT["title"]}</title>\n'
        f'<style>{_STYLE.read_text(encoding="utf-8")}</style>\n</head>\n<body>\n<h1>{_TEXT["title"].html()}</h1>\n<p class="tools">{switch}</p>\n'
        f"<p>{today}</p>\n{_TEXT['how'].block()}\n{_overview(learners, known)}\n{tables}\n</body>\n</html>\n"
    )
