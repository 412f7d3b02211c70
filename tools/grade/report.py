"""A class's grades on the terminal, as JSON and as a table for a spreadsheet."""

import csv
import io
import json
from typing import Any

from bilingual import Bilingual
from tools.grade import course
from tools.grade.grading import STATES, Grade
from tools.grade.texts import TEXTS


def _remarks(remarks: dict[str, list[str]]) -> dict[str, Bilingual]:
    return {
        kind: TEXTS["remark"][kind].format(items=", ".join(items)) for kind, items in sorted(remarks.items())
    }


def _both(text: Bilingual) -> dict[str, str]:
    return {"en": text.en, "zh": text.zh}


def _noted(remarks: dict[str, list[str]]) -> list[dict[str, str]]:
    return [{"kind": kind, **_both(text)} for kind, text in _remarks(remarks).items()]


def _status(grade: Grade) -> Bilingual:
    return TEXTS["status"][grade.status].format(lesson=grade.lesson)


def terminal(grade: Grade, rates: dict[str, int], *, details: bool) -> str:
    """Return what the terminal shows of a grade; without `details` only what a person should look at."""
    if grade.status != "graded":
        return f"{grade.name}: {_status(grade)}"
    reached, most = grade.points(rates)
    counts = ", ".join(f"{grade.count(state)} {TEXTS['state'][state]}" for state in STATES)
    lines = [f"{grade.name}: {reached}/{most} ({counts})"]
    for name, mark in grade.marks.items():
        if details or mark.state == "error":
            lines.append(f"  {name}: {TEXTS['state'][mark.state]}")
        if mark.hint and (mark.state == "error" or (details and mark.state == "wrong")):
            lines.append(f"      {mark.hint}".replace("\n", "\n      "))
    noted = {"": grade.remarks} | {name: mark.remarks for name, mark in grade.marks.items()}
    said: dict[str, list[str]] = {}
    for name, remarks in noted.items():
        for text in _remarks(remarks).values():
            said.setdefault(str(text), []).append(name)
    for text, names in said.items():
        lines.append(f"  ! {', '.join(filter(None, names))}{': ' * any(names)}{text}")
    return "\n".join(lines)


def as_json(
    grades: list[Grade], alike: list[tuple[str, list[str]]], rates: dict[str, int], protected: bool
) -> str:
    """Return everything that is known about the submissions, as JSON; `alike` is what `grading.compare` found."""
    data = {
        "format": 1,
        "protected": protected,
        "points_by_level": rates,
        "submissions": [_submission(grade, rates) for grade in grades],
        "alike": [{"exercise": key, "files": names} for key, names in alike],
    }
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "replace").decode() + "\n"


def _submission(grade: Grade, rates: dict[str, int]) -> dict[str, Any]:
    reached, most = grade.points(rates)
    return {
        "file": grade.name,
        "lesson": grade.lesson,
        "status": grade.status,
        "says": _both(_status(grade)),
        "points": reached,
        "possible": most,
        "remarks": _noted(grade.remarks),
        "exercises": [
            {
                "name": name,
                "title": _both(mark.task.exercise.title),
                "level": mark.level,
                "state": mark.state,
                "points": rates[mark.level] if mark.state == "solved" else 0,
                "hint": _both(mark.hint) if mark.hint else None,
                "remarks": _noted(mark.remarks),
                "fingerprint": mark.answer.fingerprint if mark.answer else None,
                "seconds": mark.seconds,
            }
            for name, mark in grade.marks.items()
        ],
    }


def as_csv(grades: list[Grade], rates: dict[str, int]) -> str:
    """Return one line for each submission, with a column for each exercise of its lessons."""
    lessons = sorted({grade.lesson for grade in grades if grade.marks})
    keys = [task.key for lesson in lessons for task in course.tasks(lesson).values()]
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(["file", "lesson", "status", "points", "possible", *STATES, "remarks", *keys])
    for grade in grades:
        remarks = [*grade.remarks]
        remarks += [f"{name}: {kind}" for name, mark in grade.marks.items() for kind in sorted(mark.remarks)]
        states = {mark.task.key: mark.state for mark in grade.marks.values()}
        counts = [grade.count(state) for state in STATES]
        # A spreadsheet takes a text that begins with one of these for a formula.
        name = f"'{grade.name}" if grade.name.startswith(("=", "+", "-", "@")) else grade.name
        table.writerow(
            [name, grade.lesson, grade.status, *grade.points(rates), *counts, "; ".join(remarks)]
            + [states.get(key, "") for key in keys]
        )
    return file.getvalue()
