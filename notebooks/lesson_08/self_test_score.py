"""The questions of the self-test, the learner's answers to them, and the score by lesson.

The questions are in ``self_test.toml``, the answers are kept with the learner's progress.
"""

import datetime
import html
import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bilingual import Bilingual
from course_utils import lesson, settings
from course_utils.questions import Question, mixed, parsed
from course_utils.tables import html_table
from lesson_08.words import WORDS

FILE = "self_test"  # beside the progress, see course_utils.settings

_TEXTS, _HEAD = WORDS["self_test_score"], WORDS["self_test_head"]


@dataclass(frozen=True)
class Place:
    """Where to read again: a section of a lesson."""

    lesson: str
    section: str

    def link(self) -> str:
        """Return a link to the section's cell (GitHub: to the notebook); only the section's number if that is gone."""
        found = sorted(lesson.notebooks().glob(f"{self.lesson}_*.ipynb"), key=lambda path: len(path.name))
        title, cell = headings(found[0]).get(self.section, ("", "")) if found else ("", "")
        if not title:
            return self.section
        en, _, zh = title.replace("`", "").partition(" · ")
        name = Bilingual(f"{self.section} {en}", f"{self.section} {zh or en}")
        return f'<a href="{html.escape(found[0].name)}#cell-id={html.escape(cell)}">{name.html()}</a>'


@cache
def headings(path: Path) -> dict[str, tuple[str, str]]:
    """Return the title and the cell of each section of a notebook by its number, ``"3.2"``."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = {}
    for cell in cells:
        if match := re.match(r"## (\d+\.\d+) (.+)", "".join(cell["source"])):
            found[match[1]] = match[2], cell.get("id", "")
    return found


@cache
def questions() -> dict[str, tuple[Question, Place]]:
    """Return the questions by name, their choices as they are shown, and the place to read again."""
    file = Path(__file__).with_name("self_test.toml")
    texts = tomllib.loads(file.read_text(encoding="utf-8"))["question"]
    found = {}
    for name, data in texts.items():
        asked = parsed(name, data)
        choices = mixed(asked, texts, "self-test")
        found[name] = Question(name, asked.text, choices), Place(data["lesson"], data["section"])
    return found


def answers() -> dict[str, int]:
    """Return the learner's first answers, by question; whatever is damaged is left out."""
    kept = settings.read(FILE).get("answers")
    return {
        name: at
        for name, at in (kept.items() if isinstance(kept, dict) else ())
        if name in questions() and type(at) is int and 0 <= at < len(questions()[name][0].choices)
    }


def keep(given: Mapping[str, int]) -> None:
    """Keep the answers, and the score if it is complete and the best so far."""
    kept = settings.read(FILE) | {"answers": dict(given)}
    right = sum(right_by_lesson(given).values())
    if len(given) == len(questions()) and right > best(kept)[0]:
        kept["best"] = {"right": right, "date": datetime.date.today().isoformat()}
    settings.write(FILE, kept)


def best(kept: Mapping[str, Any]) -> tuple[int, str]:
    """Return the best complete score and its date; −1 if there is none."""
    found = kept.get("best")
    right, date = (found.get("right"), found.get("date")) if isinstance(found, dict) else (None, None)
    return (right, date) if type(right) is int and isinstance(date, str) else (-1, "")


def right_by_lesson(given: Mapping[str, int]) -> Counter[str]:
    """Return how many of the answers are right, by lesson."""
    return Counter(
        questions()[name][1].lesson for name, at in given.items() if questions()[name][0].choices[at].right
    )


def reply(name: str, at: int) -> str:
    """Return what a learner sees who took choice `at`: the verdict, the reason, and the place to read again."""
    asked, place = questions()[name]
    picked = asked.choices[at]
    state, verdict = (
        ("course-solved", _TEXTS["right"]) if picked.right else ("course-notyet", _TEXTS["not_quite"])
    )
    return (
        f'<div class="course-card {state}"><p class="course-verdict">{verdict.html()}</p>{picked.reason.block()}'
        f'<p class="course-small">{_TEXTS["again"].html()} {place.link()}</p></div>'
    )


def score(given: Mapping[str, int]) -> str:
    """Return the score by lesson; a lesson with a wrong answer says what to read again."""
    right, rows = right_by_lesson(given), []
    asked = Counter(place.lesson for _, place in questions().values())
    for number, count in asked.items():
        missed = {
            place.link()
            for name, (question, place) in questions().items()
            if place.lesson == number and name in given and not question.choices[given[name]].right
        }
        rows.append((number, f"{right[number]} / {count}", "<br>".join(sorted(missed))))
    lines = [_TEXTS["score"].format(right=sum(right.values()), all=len(questions()))]
    if open_ones := len(questions()) - len(given):
        lines.append(_TEXTS["open"].format(count=open_ones))
    reached, date = best(settings.read(FILE))
    if reached >= 0:
        lines.append(_TEXTS["best"].format(right=reached, all=len(questions()), date=date))
    first, *more = lines
    table = html_table(rows, [text.html() for text in _HEAD.values()])
    return (
        f'<div class="course-card course-solved"><p class="course-verdict">{first.html()}</p>'
        f"{''.join(line.block() for line in more)}{table}</div>"
    )
