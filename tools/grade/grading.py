"""From handed-in notebooks to verdicts and points."""

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from bilingual import Bilingual
from tools.grade import code, course, sandbox
from tools.grade.judge import CELL_SECONDS, judge
from tools.grade.sandbox import Limits
from tools.grade.submission import Answer, Submission, Unreadable, open_submission
from tools.grade.texts import TEXTS, visible

STATES = ("solved", "wrong", "not_tried", "error")
POINTS = {"easy": 1, "medium": 2, "hard": 3}
SPARE_SECONDS = 20.0  # beyond the limits that the sandboxed process keeps by itself
SAME = 3  # statements from which on an answer is remarkable if two have it


@dataclass
class Mark:
    """The verdict on one exercise."""

    task: course.Task
    state: str = "not_tried"  # one of `STATES`
    hint: Bilingual | None = None  # what the course tells the learner, or what went wrong
    remarks: dict[str, list[str]] = field(default_factory=dict)  # what a person should look at, by kind
    seconds: float = 0.0  # of the examination
    answer: Answer | None = None  # what was examined, if anything

    @property
    def level(self) -> str:
        """The exercise's level."""
        return self.task.exercise.level


@dataclass
class Grade:
    """What became of a submission."""

    name: str  # of the file, as the reports call it
    status: str = "graded"  # or why it was not: a key of the texts
    lesson: str = ""  # two digits, or "" where that is unknown
    marks: dict[str, Mark] = field(default_factory=dict)  # by exercise
    remarks: dict[str, list[str]] = field(default_factory=dict)  # about the whole notebook

    def points(self, rates: dict[str, int] = POINTS) -> tuple[int, int]:
        """Return the points that were reached, and those that can be, with so many points for each level."""
        marks = self.marks.values()
        reached = sum(rates[mark.level] for mark in marks if mark.state == "solved")
        return reached, sum(rates[mark.level] for mark in marks)

    def count(self, state: str) -> int:
        """Return how many exercises have this state."""
        return sum(mark.state == state for mark in self.marks.values())


def grade(path: Path, name: str, limits: Limits, *, protected: bool, lesson: str | None = None) -> Grade:
    """Return the verdict on each exercise of a notebook (of one `lesson`, if given); no file makes this raise."""
    try:
        submission = open_submission(path)
    except Unreadable as reason:
        return Grade(name, str(reason))
    if lesson not in (None, submission.lesson):
        return Grade(name, "other_lesson", submission.lesson)
    tasks = course.tasks(submission.lesson).items()
    marks = {key: _mark(task, submission, limits, protected) for key, task in tasks}
    remarks = {"overwritten": []} if submission.overwrites else {}
    return Grade(name, "graded", submission.lesson, marks, remarks)


def _mark(task: course.Task, submission: Submission, limits: Limits, protected: bool) -> Mark:
    """Return the verdict on an exercise: the first try that solves it, or the last one that is a try."""
    mark = Mark(task)
    for answer in submission.answers.get(task.exercise.name, []):
        tried = _examined(answer, limits, protected)
        if tried.state != "not_tried":
            mark = tried
        if mark.state == "solved":
            break
    if mark.state != "solved" and task.exercise.name in submission.stored:
        mark.remarks["stored"] = []
    return mark


def _examined(answer: Answer, limits: Limits, protected: bool) -> Mark:
    seconds = CELL_SECONDS + answer.task.exercise.seconds + SPARE_SECONDS
    outcome = sandbox.run(lambda: judge(answer), seconds, limits, protected=protected)
    mark = Mark(answer.task, seconds=round(outcome.seconds, 2), answer=answer)
    if outcome.ended == "returned":
        found = outcome.value
        mark.state = {"notyet": "not_tried"}.get(found["state"], found["state"])
        mark.hint = Bilingual(visible(found["en"], "\n"), visible(found["zh"], "\n"))
        mark.remarks = {kind: [*map(visible, items)] for kind, items in found["remarks"].items()}
    else:
        tail = visible((outcome.tail.strip().splitlines() or ["–"])[-1][:200].replace("`", "'"))
        mark.state, mark.hint = "error", TEXTS["ended"][outcome.ended].format(
            seconds=seconds, printed=limits.printed // 2**20, memory=limits.memory / 2**30, tail=tail
        )  # fmt: skip
    if answer.published:
        mark.remarks["published"] = []
    if names := code.unusual(answer.text):
        mark.remarks["unusual"] = names
    return mark


def _statements(text: str) -> int:
    """Return how many statements an answer has, definitions and imports not counted."""
    tree = code.parsed(text)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree else []
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    return sum(not isinstance(node, kinds) and not code.is_check(node) for node in nodes)


def compare(grades: list[Grade]) -> list[tuple[str, list[str]]]:
    """Return exercise and files of each answer that several have, solutions aside; remark on the longer ones."""
    groups: dict[tuple[str, str], list[tuple[Grade, Mark]]] = defaultdict(list)
    for one in grades:
        for mark in one.marks.values():
            if mark.answer and mark.state != "not_tried" and not mark.answer.published:
                groups[mark.task.key, mark.answer.fingerprint].append((one, mark))
    found = []
    for (key, _), members in groups.items():
        if len(members) < 2:
            continue
        names = [one.name for one, _ in members]
        found.append((key, names))
        for one, mark in members:
            if mark.answer and _statements(mark.answer.text) >= SAME:
                mark.remarks["alike"] = [name for name in names if name != one.name]
    return found
