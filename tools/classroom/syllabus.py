"""Plans for a class, from two hours to three days: which lessons and sections, when, and where the breaks are.

The minutes come from :mod:`tools.minutes`, which writes TEACHING.md's timetables:
``python -m tools.minutes --write``. A plan is changed in ``syllabus.toml``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bilingual import toml_of

LONGEST = 75  # minutes without a break, where a section ends in time
BREAK, LUNCH = 10, 60

Minutes = Mapping[str, Mapping[str, float]]  # of each section of each lesson: {"01": {"1.1": 9.0, …}, …}


_CONTENT = toml_of(__file__)


@dataclass(frozen=True)
class Plan:
    """What a class can do in a given time."""

    en: str
    zh: str
    hours: float  # of a day, with breaks
    days: Sequence[
        Sequence[Sequence[str]]
    ]  # the blocks of each day: whole lessons ("01") or sections ("1.2")
    pause: int = LUNCH  # minutes between two blocks


PLANS = [Plan(**plan) for plan in _CONTENT["plan"]]


@dataclass(frozen=True)
class Row:
    """A line of a timetable: sections of a lesson, or a pause, which has no lesson."""

    begin: float  # minutes since the day began
    minutes: float
    lesson: str = ""
    sections: tuple[str, ...] = ()


def sections_of(part: str, minutes: Minutes) -> list[tuple[str, str]]:
    """Return lesson and section for all sections of a lesson ("01"), or for one section ("1.2"), which must exist."""
    if part in minutes:
        return [(part, section) for section in minutes[part]]
    lesson = f"{int(part.partition('.')[0]):02}"
    if part not in minutes.get(lesson, ()):
        raise ValueError(f"Lesson {lesson} has no section {part}; correct tools/classroom/syllabus.toml.")
    return [(lesson, part)]


def block_minutes(block: Sequence[str], minutes: Minutes) -> float:
    """Return how long a block of a plan takes."""
    return sum(minutes[lesson][section] for part in block for lesson, section in sections_of(part, minutes))


def timetable(day: Sequence[Sequence[str]], pause: int, minutes: Minutes) -> list[Row]:
    """Return the lines of a day: a pause between two blocks, and a break where it would otherwise be too long."""
    rows: list[Row] = []
    since = 0.0  # minutes since the last pause

    def rest(minutes_of_it: float) -> None:
        nonlocal since
        rows.append(Row(_end(rows), minutes_of_it))
        since = 0.0

    for number, block in enumerate(day):
        if number and (pause > BREAK or since + block_minutes(block, minutes) > LONGEST):
            rest(pause)
        found = [section for part in block for section in sections_of(part, minutes)]
        for lesson in dict.fromkeys(lesson for lesson, _ in found):
            parts = [(section, minutes[lesson][section]) for other, section in found if other == lesson]
            length = sum(part for _, part in parts)
            if since and since + length > LONGEST:
                rest(BREAK)
            for at, (section, part) in enumerate(parts):
                done = sum(before for _, before in parts[:at])
                nearer = abs(done - length / 2) < abs(done + part - length / 2)
                if length > LONGEST and since == done > 0 and nearer:
                    rest(BREAK)  # here, the lesson is cut into halves
                if rows and rows[-1].lesson == lesson:
                    row = rows.pop()
                    rows.append(Row(row.begin, row.minutes + part, lesson, (*row.sections, section)))
                else:
                    rows.append(Row(_end(rows), part, lesson, (section,)))
                since += part
    return rows


def _end(rows: Sequence[Row]) -> float:
    return rows[-1].begin + rows[-1].minutes if rows else 0.0


def _listed(sections: Sequence[str], all_sections: Sequence[str], comma: str, to: str) -> str:
    """Return sections in words: ``"1.1 to 1.4, 1.9"``; nothing for all of a lesson."""
    numbered = [section for section in all_sections if re.match(r"\d", section)]
    chosen = [section for section in sections if section in numbered]
    if len(chosen) == len(numbered):
        return ""
    runs: list[list[str]] = []
    for section in chosen:
        if runs and numbered.index(section) == numbered.index(runs[-1][-1]) + 1:
            runs[-1].append(section)
        else:
            runs.append([section])
    return comma.join(
        run[0] if len(run) == 1 else f"{run[0]}{to if len(run) > 2 else comma}{run[-1]}" for run in runs
    )


def _clock(minutes: float) -> str:
    """Return hours and minutes, in steps of five: nobody teaches to the minute."""
    whole = 5 * round(minutes / 5)
    return f"{whole // 60}:{whole % 60:02}"


def tables(language: str, minutes: Minutes, titles: Mapping[str, str]) -> Iterator[str]:
    """Give the lines of all timetables as Markdown, in ``"en"`` or ``"zh"``."""
    say = {name: text[language] for name, text in _CONTENT["text"].items()}
    for plan in PLANS:
        for number, day in enumerate(plan.days, 1):
            name = getattr(plan, language)
            if len(plan.days) > 1:
                name = say["day"].format(name=name, number=number)
            taught = sum(block_minutes(block, minutes) for block in day)
            rows = timetable(day, plan.pause, minutes)
            spare = 5 * round((60 * plan.hours - _end(rows)) / 5)
            yield say["time"].format(name=name, taught=taught, spare=spare)
            yield ""
            yield f"{say['head']}\n|--:|--:|---|"
            for row in rows:
                what = say["lunch" if row.minutes > BREAK else "break"]
                if row.lesson:
                    what = f"{row.lesson} {titles[row.lesson]}"
                    if part := _listed(row.sections, list(minutes[row.lesson]), say["comma"], say["to"]):
                        what = say["part"].format(title=what, sections=part)
                yield f"| {_clock(row.begin)} | {_clock(row.begin + row.minutes)} | {what} |"
            yield ""
