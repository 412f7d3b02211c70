"""Plans for a class, from two hours to three days: which lessons and sections, when, and where the breaks are.

The minutes come from :mod:`tools.minutes`, which writes TEACHING.md's timetables:
``python -m tools.minutes --write``. A plan is changed here, in `PLANS`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LONGEST = 75  # minutes without a break, where a section ends in time
BREAK, LUNCH = 10, 60

Minutes = Mapping[str, Mapping[str, float]]  # of each section of each lesson: {"01": {"1.1": 9.0, …}, …}


@dataclass(frozen=True)
class Plan:
    """What a class can do in a given time.

    Attributes:
        en: Its name.
        zh: Its name.
        hours: How long a day of it is, with breaks.
        days: The blocks of each day: whole lessons ("01") or sections ("1.2").
        pause: Minutes between two blocks.
    """

    en: str
    zh: str
    hours: float
    days: Sequence[Sequence[Sequence[str]]]
    pause: int = LUNCH


PLANS = (
    Plan("2 hours", "2 小時", 2, [[["00"], ["1.1", "1.2", "1.4", "1.9"], ["2.1", "2.2", "2.3", "2.4", "2.5", "2.11"]]], pause=BREAK),
    Plan("half a day", "半天", 3.5, [[["00", "01", "02"]]]),
    Plan("one day", "一天", 8, [[["00", "01", "02"], ["03", "04"]]]),
    Plan("two days", "兩天", 8, [[["00", "01", "02"], ["03"]], [["04", "05"], ["06", "07"]]]),
    Plan("three days", "三天", 8, [[["00", "01", "02"], ["03"]], [["04", "05"], ["06"]], [["07"], ["08"]]]),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A line of a timetable: sections of a lesson, or a pause.

    Attributes:
        begin: Minutes since the day began.
        minutes: How long it takes.
        lesson: "01"; "" for a pause.
        sections: The first and the last one; empty for a whole lesson, and for a pause.
    """

    begin: float
    minutes: float
    lesson: str = ""
    sections: tuple[str, ...] = ()


def sections_of(part: str, minutes: Minutes) -> list[tuple[str, str]]:
    """Return lesson and section for all sections of a part of a plan.

    Args:
        part: A lesson ("01") or a section ("1.2").
        minutes: Of all sections.

    Raises:
        ValueError: There is no such section.
    """
    lesson = part if part in minutes else f"{int(part.partition('.')[0]):02}"
    found = list(minutes.get(lesson, ())) if part == lesson else [part]
    if part != lesson and part not in minutes.get(lesson, ()):
        raise ValueError(
            f"Lesson {lesson} has no section {part}; correct PLANS in tools/classroom/syllabus.py."
        )
    return [(lesson, section) for section in found]


def block_minutes(block: Sequence[str], minutes: Minutes) -> float:
    """Return how long a block of a plan takes."""
    return sum(minutes[lesson][section] for part in block for lesson, section in sections_of(part, minutes))


def timetable(day: Sequence[Sequence[str]], pause: int, minutes: Minutes) -> list[Row]:
    """Return the lines of a day: a pause between two blocks, and a break where it would otherwise be too long.

    Args:
        day: Its blocks.
        pause: The minutes between two blocks; no more than a break if they are short.
        minutes: Of all sections.
    """
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
                if (
                    length > LONGEST
                    and since == done > 0
                    and abs(done - length / 2) < abs(done + part - length / 2)
                ):
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
    """Give the lines of all timetables as Markdown.

    Args:
        language: ``"en"`` or ``"zh"``.
        minutes: Of all sections.
        titles: Of the lessons.

    Yields:
        A line.
    """
    english = language == "en"
    comma, to = (", ", " to ") if english else ("、", " 到 ")
    for plan in PLANS:
        for number, day in enumerate(plan.days, 1):
            name = plan.en.capitalize() if english else plan.zh
            if len(plan.days) > 1:
                name += f", day {number}" if english else f"，第 {number} 天"
            taught = sum(block_minutes(block, minutes) for block in day)
            rows = timetable(day, plan.pause, minutes)
            spare = 5 * round((60 * plan.hours - _end(rows)) / 5)
            yield f"**{name}**" + (
                f" ({taught:.0f} minutes of lessons; {spare} are left for questions and your own machines)"
                if english
                else f"（課程 {taught:.0f} 分鐘，另有 {spare} 分鐘可以回答問題、處理大家電腦上的狀況）"
            )
            yield ""
            yield ("| From | To | |" if english else "| 開始 | 結束 | |") + "\n|--:|--:|---|"
            for row in rows:
                if row.lesson:
                    part = _listed(row.sections, list(minutes[row.lesson]), comma, to)
                    what = f"{row.lesson} {titles[row.lesson]}" + (
                        "" if not part else f": {part}" if english else f"：{part}"
                    )
                else:
                    long = row.minutes > BREAK
                    what = ("*lunch*" if long else "*break*") if english else ("午休" if long else "休息")
                yield f"| {_clock(row.begin)} | {_clock(row.begin + row.minutes)} | {what} |"
            yield ""
